/* SPDX-License-Identifier: MIT
 *
 * reader_state.h - shared by the files of the reader: reader.c for our own lines, reader_foreign.c for lines
 * as HAProxy and nginx write them, reader_section.c for sections.
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
	struct entry *pending; /* given to libinih, not yet returned */
	bool by_number;	       /* its line number was passed in place of its value */
	unsigned depth;	       /* depth of nginx's braces */
	unsigned skip_depth;   /* within this brace nothing is validated; 0 = none */
};

/* A line, without the blanks and the comment around it. */
struct reader_line {
	const char *text; /* NUL-terminated */
	size_t len;
	size_t offset; /* of `text` in the physical line */
};

/* The place of `len` bytes at `offset` in the line being read. */
struct at reader_at(const struct reader *r, size_t offset, size_t len);
/* Opens the section named between brackets, "listen web"; reports an invalid one. */
void reader_open_section(struct reader *r, const char *inside, struct at at);

/* Is this a brace of nginx, or a section header without brackets? If so, it has been reported and used. */
bool reader_take_foreign(struct reader *r, const struct reader_line *line);
/* Does the first '=' of the line follow its key? HAProxy writes "server a :80 weight=2". */
bool reader_has_equals(const struct reader_line *line);
/* A line without that '=': an entry when it begins with a key, NULL after reporting otherwise. */
struct entry *reader_take_plain(struct reader *r, const struct reader_line *line);
/* The length of a line or value without a trailing ';' of nginx. */
size_t reader_without_semicolon(const char *text, size_t len);

#endif
