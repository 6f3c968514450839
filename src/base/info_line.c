/* SPDX-License-Identifier: MIT
 *
 * info_line.c - reads the "name: value" lines of `show info` and `show pools` one by one.
 *
 * Any thread.
 */
#include "weir/base/info_line.h"

#include <string.h>

#include "weir/base/check.h"

static bool is_word(const char *bytes, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(bytes, word, len) == 0;
}

/* The first ": " in a line of `len` bytes; NULL when there is none. */
static const char *find_colon(const char *line, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++)
		if (line[i] == ':' && line[i + 1] == ' ')
			return line + i;
	return NULL;
}

bool info_line_next(const char **at, struct info_line *line)
{
	while (**at != '\0') {
		const char *begin = *at;
		const size_t len = strcspn(begin, "\n");
		const char *colon = find_colon(begin, len);

		*at = begin + len + (begin[len] == '\n' ? 1 : 0);
		if (colon == NULL)
			continue;
		line->name = begin;
		line->name_len = (size_t)(colon - begin);
		line->value = colon + 2;
		line->value_len = len - line->name_len - 2;
		return true;
	}
	return false;
}

bool info_line_find(const char *text, const char *name, struct info_line *line)
{
	while (info_line_next(&text, line))
		if (info_line_is(line, name))
			return true;
	return false;
}

bool info_line_is(const struct info_line *line, const char *name)
{
	return is_word(line->name, line->name_len, name);
}

bool info_line_says(const struct info_line *line, const char *word)
{
	return is_word(line->value, line->value_len, word);
}

void info_line_copy(const struct info_line *line, char *out, size_t room)
{
	const size_t len = line->value_len < room ? line->value_len : room - 1;

	check(room > 0);
	memcpy(out, line->value, len);
	out[len] = '\0';
}
