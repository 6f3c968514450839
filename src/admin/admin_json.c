/* SPDX-License-Identifier: MIT
 *
 * admin_json.c - answers of the admin protocol as JSON, made of the lines that they are as text.
 *
 * So a new line of `show info` is in the JSON without a second word. Not a general writer. Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"

/* The fields of a line of `show sess`, in their order: a path in one of them may hold a blank. */
static const char *const session_keys[] = {
	"id", "state", "client", "frontend", "backend", "server", "server_address",
	"age_ms", "tries", "bytes_in", "bytes_out", "held", "flows", "pipes",
	"unique_id", /* of some */
};

void admin_json_string(const char *text, size_t len, struct text *out)
{
	text_add(out, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			text_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			text_printf(out, "\\u%04x", c); /* names and addresses are ASCII */
		else
			text_add(out, text + i, 1);
	}
	text_add(out, "\"", 1);
}

/* As JSON writes whole numbers: no sign but '-', no leading zero. */
static bool is_number(const char *text, size_t len)
{
	size_t i = len > 0 && text[0] == '-' ? 1 : 0;
	const size_t first = i;

	while (i < len && text[i] >= '0' && text[i] <= '9')
		i++;
	return i == len && i > first && i - first < 20 && (text[first] != '0' || i - first == 1);
}

void admin_json_value(const char *text, size_t len, struct text *out)
{
	if (is_number(text, len))
		text_add(out, text, len);
	else
		admin_json_string(text, len, out);
}

static void add_member(const char *name, size_t name_len, const char *value, size_t len, struct text *out)
{
	admin_json_string(name, name_len, out);
	text_add(out, ":", 1);
	admin_json_value(value, len, out);
}

void admin_json_of_lines(const char *lines, struct text *out)
{
	const char *line = lines;
	bool first = true;

	text_add(out, "{", 1);
	for (size_t len; *line != '\0'; line += len + (line[len] == '\n' ? 1 : 0)) {
		const char *colon;

		len = strcspn(line, "\n");
		colon = memchr(line, ':', len);
		if (colon == NULL || colon[1] != ' ')
			continue;
		text_printf(out, first ? "\n  " : ",\n  ");
		add_member(line, (size_t)(colon - line), colon + 2, len - (size_t)(colon + 2 - line), out);
		first = false;
	}
	text_printf(out, "\n}\n");
}

/* Where " KEY=" begins in what is left of a line; NULL when it is not there. */
static const char *find_key(const char *from, const char *end, const char *key)
{
	const size_t len = strlen(key);

	for (; from + len + 2 <= end; from++)
		if (from[0] == ' ' && memcmp(from + 1, key, len) == 0 && from[len + 1] == '=')
			return from;
	return NULL;
}

void admin_json_of_session(const char *line, struct text *out)
{
	const char *end = line + strcspn(line, "\n");
	const char *at = find_key(line, end, session_keys[0]);
	const char *sign = "{";

	for (size_t i = 0; i < ARRAY_LEN(session_keys) && at != NULL; i++) {
		const size_t name_len = strlen(session_keys[i]);
		const char *value = at + name_len + 2;
		const char *next =
			i + 1 < ARRAY_LEN(session_keys) ? find_key(value, end, session_keys[i + 1]) : NULL;

		text_printf(out, "%s", sign);
		sign = ",";
		admin_json_string(session_keys[i], name_len, out);
		text_add(out, ":", 1);
		/* "0.10" is a name, not a number. */
		admin_json_value(value, (size_t)((next != NULL ? next : end) - value), out);
		at = next;
	}
	text_printf(out, "%s}", sign[0] == '{' ? "{" : "");
}
