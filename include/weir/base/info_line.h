/* SPDX-License-Identifier: MIT
 *
 * info_line.h - the lines of "name: value" that `show info` and `show pools` answer with, read one by one.
 *
 * A name ends at the first colon that a blank follows; it may have other colons and dots. A line that has
 * none is passed over. Copies nothing. Any thread.
 */
#ifndef WEIR_BASE_INFO_LINE_H
#define WEIR_BASE_INFO_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Borrows from the answer; neither ends with a NUL. */
struct info_line {
	const char *name;
	size_t name_len;
	const char *value;
	size_t value_len;
};

/* The first such line of the text `*at`, which then is what follows it; false when there is none. */
bool info_line_next(const char **at, struct info_line *line);
/* The first line of `text` that is called so; false when there is none. */
bool info_line_find(const char *text, const char *name, struct info_line *line);
bool info_line_is(const struct info_line *line, const char *name);
/* Is the value just this word? */
bool info_line_says(const struct info_line *line, const char *word);
/* The value with a NUL, cut to `room`. */
void info_line_copy(const struct info_line *line, char *out, size_t room);

#endif
