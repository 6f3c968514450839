/* SPDX-License-Identifier: MIT
 *
 * unique_id.c - a session's unique id as one word of text.
 *
 * Any thread.
 */
#include "unique_id.h"

#include <stdbool.h>
#include <stdio.h>

const char *unique_id_word(const uint8_t *id, size_t len, char buf[static UNIQUE_ID_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const bool plain = id[i] > ' ' && id[i] < 127 && id[i] != '"' && id[i] != '\\';

		n += (size_t)snprintf(buf + n, UNIQUE_ID_TEXT_MAX - n, plain ? "%c" : "\\x%02x", id[i]);
	}
	buf[n] = '\0';
	return buf;
}
