/* SPDX-License-Identifier: MIT
 *
 * auth_header.c - reads the user and the password of an Authorization header.
 *
 * Rejects any other scheme, invalid base64 (RFC 4648, section 4, with or without padding), and NUL bytes.
 */
#include "auth_header.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define SCHEME	  "Basic "
#define BYTES_MAX (AUTH_USER_MAX + PASSWORD_GIVEN_MAX)

/* -1: not a digit. */
static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Decodes into `out`, with a NUL behind it. False: invalid, or too long, or with a NUL inside. */
static bool decode(const char *text, char out[static BYTES_MAX])
{
	uint32_t bits = 0;
	unsigned count = 0;
	size_t len = 0;

	for (; digit_of(*text) >= 0; text++) {
		bits = (bits << 6 | (uint32_t)digit_of(*text)) & 0xffffff;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		out[len] = (char)(bits >> count & 0xff);
		if (out[len++] == '\0' || len == BYTES_MAX)
			return false;
	}
	out[len] = '\0';
	return count < 6 && text[strspn(text, "= \t")] == '\0';
}

bool auth_header_read(const char *value, struct auth_given *given)
{
	char pair[BYTES_MAX];
	bool valid = false;
	const char *colon;
	size_t user_len;

	memset(given, 0, sizeof(*given));
	if (strncasecmp(value, SCHEME, strlen(SCHEME)) != 0)
		return false;
	value += strlen(SCHEME);
	if (decode(value + strspn(value, " "), pair)) {
		colon = strchr(pair, ':');
		user_len = colon != NULL ? (size_t)(colon - pair) : 0;
		valid = colon != NULL && user_len < sizeof(given->user) &&
			strlen(colon + 1) < sizeof(given->password);
		if (valid) {
			memcpy(given->user, pair, user_len);
			memcpy(given->password, colon + 1, strlen(colon + 1));
		}
	}
	explicit_bzero(pair, sizeof(pair));
	return valid;
}
