/* SPDX-License-Identifier: MIT
 *
 * reader_state.h - what the files of the reader share: lines of ours in reader.c, lines as HAProxy and
 * nginx write them in reader_foreign.c, sections in reader_section.c.
 *
 * Main thread.
 */
#ifndef WEIR_CONFIG_READER_STATE_H
#define WEIR_CONFIG_READER_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/document.h"

struct reader {
	struct document *doc;
	const struct source *source;
	size_t next_line; /* index */
	struct section *section;
	struct section *orphans; /* lines before any section; NULL = none has been reported */
	struct entry *pending; /* given to libinih, not yet come back */
	bool by_number;	       /* its value went as its line number */
	unsigned depth;	       /* of nginx's braces */
	unsigned skip_depth;   /* inside this one nothing is judged; 0 = in none */
};

/* A line, without the blanks and the comment around it. */
struct reader_line {
	const char *text; /* NUL-terminated */
	size_t len;
	size_t offset; /* of `text` in the physical line */
};

/* The place of `len` bytes at `offset` in the line being read. */
struct at reader_at(const struct reader *r, size_t offset, size_t len);
/* Opens what stands between brackets, "listen web"; reports what it cannot be. */
void reader_open_section(struct reader *r, const char *inside, struct at at);

/* Is this a brace of nginx, or a section header without brackets? Then it was reported and used. */
bool reader_take_foreign(struct reader *r, const struct reader_line *line);
/* Is the first '=' of the line the one after its key? HAProxy writes "server a :80 weight=2". */
bool reader_has_equals(const struct reader_line *line);
/* A line without that '=': an entry when it begins with a key, NULL after reporting otherwise. */
struct entry *reader_take_plain(struct reader *r, const struct reader_line *line);
/* Where a line or a value ends when a ';' of nginx at its end is left out. */
size_t reader_without_semicolon(const char *text, size_t len);

#endif
