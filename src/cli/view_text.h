/* SPDX-License-Identifier: MIT
 *
 * view_text.h - numbers, names and lines as the pages of `status` and `top` show them.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_VIEW_TEXT_H
#define WEIR_CLI_VIEW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"

#define VIEW_NUMBER_MAX 24
#define VIEW_FIT_MAX	(ADDR_TEXT_MAX + 32)
#define VIEW_BOLD	"\x1b[1m"
#define VIEW_RED	"\x1b[31m"
#define VIEW_AMBER	"\x1b[33m"
#define VIEW_NONE	"\x1b[0m"

/* "1234", "12.3k", "4.5M": at most five characters; thousands, or 1024 bytes. */
const char *view_count(uint64_t n, char buf[static VIEW_NUMBER_MAX]);
const char *view_bytes(uint64_t n, char buf[static VIEW_NUMBER_MAX]);
/* "1m05s", "3h20m", "5d07h". */
const char *view_time(uint64_t s, char buf[static VIEW_NUMBER_MAX]);
/* The increase per second between two views; 0 if the daemon was restarted between them. */
uint64_t view_per_s(uint64_t now, uint64_t before, int64_t ns);
/* Truncates text for a narrow column, keeping its end, which is where names and addresses differ. */
const char *view_fit(const char *text, unsigned wide, char buf[static VIEW_FIT_MAX]);
/* Appends a line, truncated to the page; colour codes do not count. */
void view_line(const struct view_style *style, const char *colour, const char *line, struct text *out);

/* Reads a number of an answer; 0 if it is not one, such as an empty column. */
uint64_t view_number(const char *text);
size_t view_count_lines(const char *text);
/* The bytes of both directions. */
uint64_t view_moved(const struct view_row *row);
/* Can the terminal show blocks? True in a UTF-8 locale. */
bool view_blocks(void);
bool view_is_up(const struct view_row *row);
/* True if an operator took it out. */
bool view_is_taken_out(const struct view_row *row);
/* Appends the lines above the lists. */
void view_head(const struct view *v, const struct view *before, const struct view_style *style,
	       struct text *out);

#endif
