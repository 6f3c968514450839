/* SPDX-License-Identifier: MIT
 *
 * json.c - the only JSON writer: strings and their escapes, keys, numbers, arrays, objects, commas.
 *
 * Tracks no nesting: whatever has just ended is an item of its container. Any thread.
 */
#include "weir/base/json.h"

#include <string.h>

#include "weir/base/check.h"

/* ---- strings ---- */

size_t json_escape(unsigned char c, enum json_bytes bytes, char out[static JSON_BYTE_MAX])
{
	static const char digits[] = "0123456789abcdef";
	const char *begin = bytes == JSON_HEX ? "\\\\x" : "\\u00";
	size_t n;

	if (json_is_plain(c)) {
		out[0] = (char)c;
		return 1;
	}
	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	if (bytes == JSON_UTF8 && c >= 0x80) {
		memcpy(out, "\\ufffd", 6);
		return 6;
	}
	n = strlen(begin);
	memcpy(out, begin, n);
	out[n++] = digits[c >> 4];
	out[n++] = digits[c & 15];
	return n;
}

/* The length in bytes of the UTF-8 sequence at `text`; 0 = not valid (overlong forms and surrogates
 * included). */
static size_t sequence_len(const unsigned char *text, size_t len)
{
	static const struct {
		unsigned char first, last, low, high; /* of the lead byte; of the second one */
		size_t len;
	} forms[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (len < forms[i].len || text[1] < forms[i].low || text[1] > forms[i].high)
			return 0;
		for (size_t n = 2; n < forms[i].len; n++) {
			if ((text[n] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].len;
	}
	return 0;
}

/* How many leading bytes of `text` are written unchanged. */
static size_t plain_len(const struct json *j, const char *text, size_t len)
{
	size_t n = 0, sequence;

	while (n < len) {
		if (json_is_plain((unsigned char)text[n])) {
			n++;
			continue;
		}
		if (j->bytes != JSON_UTF8)
			break;
		sequence = sequence_len((const unsigned char *)text + n, len - n);
		if (sequence == 0)
			break;
		n += sequence;
	}
	return n;
}

static void add_quoted(struct json *j, const char *text, size_t len)
{
	char escape[JSON_BYTE_MAX];

	text_add(j->out, "\"", 1);
	while (len > 0) {
		const size_t plain = plain_len(j, text, len);

		text_add(j->out, text, plain);
		text += plain;
		len -= plain;
		if (len == 0)
			break;
		text_add(j->out, escape, json_escape((unsigned char)*text, j->bytes, escape));
		text++;
		len--;
	}
	text_add(j->out, "\"", 1);
}

/* ---- around an item ---- */

void json_init(struct json *j, struct text *out, enum json_bytes bytes)
{
	*j = (struct json){.out = out, .bytes = bytes, .indent = -1};
}

void json_line(struct json *j, int indent)
{
	check(indent >= 0);
	j->indent = indent;
}

static void begin_line(struct json *j)
{
	if (j->indent >= 0)
		text_printf(j->out, "\n%*s", j->indent, "");
	j->indent = -1;
}

void json_key(struct json *j, const char *key, size_t len)
{
	check(!j->keyed);
	if (j->more)
		text_add(j->out, ", ", j->spaced && j->indent < 0 ? 2 : 1);
	begin_line(j);
	if (key != NULL) {
		add_quoted(j, key, len);
		text_add(j->out, ": ", j->spaced ? 2 : 1);
	}
	j->keyed = true;
}

static void begin_item(struct json *j, const char *key)
{
	if (!j->keyed)
		json_key(j, key, key != NULL ? strlen(key) : 0);
	j->keyed = false;
	j->more = true;
}

static void open_bracket(struct json *j, const char *key, const char *bracket)
{
	begin_item(j, key);
	text_add(j->out, bracket, 1);
	j->more = false;
}

static void close_bracket(struct json *j, const char *bracket)
{
	if (j->more)
		begin_line(j);
	j->indent = -1;
	text_add(j->out, bracket, 1);
	j->more = true;
}

/* ---- items ---- */

void json_array(struct json *j, const char *key)
{
	open_bracket(j, key, "[");
}

void json_array_end(struct json *j)
{
	close_bracket(j, "]");
}

void json_object(struct json *j, const char *key)
{
	open_bracket(j, key, "{");
}

void json_object_end(struct json *j)
{
	close_bracket(j, "}");
}

void json_string_of(struct json *j, const char *key, const char *value, size_t len)
{
	begin_item(j, key);
	add_quoted(j, value, len);
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (value == NULL)
		json_printf(j, key, "null");
	else
		json_string_of(j, key, value, strlen(value));
}

/* An integer as JSON writes it: no sign but '-', no leading zero. */
static bool is_number(const char *text, size_t len)
{
	size_t i = len > 0 && text[0] == '-' ? 1 : 0;
	const size_t first = i;

	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	return i == len && i > first && i - first < 20 && (text[first] != '0' || i - first == 1);
}

void json_word(struct json *j, const char *key, const char *value, size_t len)
{
	begin_item(j, key);
	if (is_number(value, len))
		text_add(j->out, value, len);
	else
		add_quoted(j, value, len);
}

void json_unsigned(struct json *j, const char *key, uint64_t value)
{
	json_printf(j, key, "%llu", (unsigned long long)value);
}

void json_signed(struct json *j, const char *key, int64_t value)
{
	json_printf(j, key, "%lld", (long long)value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_printf(j, key, "%s", value ? "true" : "false");
}

void json_vprintf(struct json *j, const char *key, const char *fmt, va_list ap)
{
	begin_item(j, key);
	text_vprintf(j->out, fmt, ap);
}

void json_printf(struct json *j, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	json_vprintf(j, key, fmt, ap);
	va_end(ap);
}
