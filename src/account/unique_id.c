/* SPDX-License-Identifier: MIT
 *
 * unique_id.c - a session's unique id, and the server name that its client asked for, as one word of text.
 *
 * Any thread.
 */
#include "unique_id.h"

#include <stdbool.h>
#include <stdio.h>

#include "weir/base/check.h"

/* `buf` has room for four bytes each, and a NUL. */
static const char *word_of(const uint8_t *bytes, size_t len, char *buf)
{
	char *end = buf;

	for (size_t i = 0; i < len; i++) {
		const bool plain = bytes[i] > ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';

		end += snprintf(end, 5, plain ? "%c" : "\\x%02x", bytes[i]);
	}
	*end = '\0';
	return buf;
}

const char *unique_id_word(const uint8_t *id, size_t len, char buf[static UNIQUE_ID_TEXT_MAX])
{
	check(len <= PROXY_UNIQUE_ID_MAX);
	return word_of(id, len, buf);
}

const char *server_name_word(const uint8_t *name, size_t len, char buf[static SERVER_NAME_TEXT_MAX])
{
	check(len <= CLIENT_HELLO_NAME_MAX);
	return word_of(name, len, buf);
}
