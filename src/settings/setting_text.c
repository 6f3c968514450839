/* SPDX-License-Identifier: MIT
 *
 * setting_text.c - texts of arbitrary bytes: replaces escapes, and writes them back.
 *
 * Quotes were removed before (words.h), and with them the backslash of \" between double quotes. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "setting.h"

/* Maximum bytes of one text; several must fit on a line of -T. */
#define TEXT_BYTES_MAX 255

/* The value of a hex digit, -1 for any other character. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that the escape after a backslash represents; its length goes to `*len`. -1 if it is not an
 * escape. */
static int escape_value(const char *text, size_t *len)
{
	static const char letters[] = "rnt0\\\"", bytes[] = "\r\n\t\0\\\"";
	const char *letter = *text != '\0' ? strchr(letters, *text) : NULL;
	int high, low;

	*len = 1;
	if (letter != NULL)
		return (unsigned char)bytes[letter - letters];
	if (*text != 'x')
		return -1;
	high = hex_digit(text[1]);
	low = high < 0 ? -1 : hex_digit(text[2]);
	*len = 3;
	return low < 0 ? -1 : high * 16 + low;
}

int setting_unescape(const struct setting *s, const struct word *w, uint8_t **bytes, size_t *len)
{
	uint8_t *out = arena_alloc(s->diag->arena, w->len + 1);
	size_t used = 0;

	for (size_t i = 0; i < w->len; i++) {
		size_t escape = 0;
		int value = (unsigned char)w->text[i];

		if (w->text[i] == '\\')
			value = escape_value(w->text + i + 1, &escape);
		if (value < 0) {
			diag_error(s->diag, DIAG_BAD_VALUE, word_at(w, i), "this is not a valid escape");
			diag_hint(s->diag, "there are \\r \\n \\t \\0 \\\\ \\\" and \\xHH");
			return -EINVAL;
		}
		out[used++] = (uint8_t)value;
		i += escape;
	}
	if (used > TEXT_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, w->at, "'%s' has at most %d bytes", s->option->key,
			   TEXT_BYTES_MAX);
		return -EINVAL;
	}
	*bytes = out;
	*len = used;
	return 0;
}

void setting_print_bytes_quoted(const uint8_t *bytes, size_t len, bool literal, FILE *out)
{
	static const char letters[] = "rnt\\", plain[] = "\r\n\t\\";

	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		const char *letter = bytes[i] != '\0' ? strchr(plain, bytes[i]) : NULL;

		if (letter != NULL)
			fprintf(out, "\\%c", letters[letter - plain]);
		else if (bytes[i] < 0x20 || bytes[i] >= 0x7f || bytes[i] == '"' || bytes[i] == '$' ||
			 (literal && i == 0))
			fprintf(out, "\\x%02x", bytes[i]);
		else
			fputc(bytes[i], out);
	}
	fputc('"', out);
}
