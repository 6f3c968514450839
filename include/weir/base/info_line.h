/* SPDX-License-Identifier: MIT
 *
 * info_line.h - reads the "name: value" lines of `show info` and `show pools` one by one.
 *
 * A name ends at the first colon followed by a blank; it may contain other colons and dots. A line without
 * such a colon is skipped. Copies nothing. Any thread.
 */
#ifndef WEIR_BASE_INFO_LINE_H
#define WEIR_BASE_INFO_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Points into the answer; neither string is NUL-terminated. */
struct info_line {
	const char *name;
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* The first such line of the text `*at`; advances `*at` past it. False when there is none. */
bool info_line_next(const char **at, struct info_line *line);
/* The first line of `text` with this name; false when there is none. */
bool info_line_find(const char *text, const char *name, struct info_line *line);
bool info_line_is(const struct info_line *line, const char *name);
/* Is the value exactly this word? */
bool info_line_says(const struct info_line *line, const char *word);
/* Copies the value, NUL-terminated and cut to `room`. */
void info_line_copy(const struct info_line *line, char *out, size_t room);

#endif
