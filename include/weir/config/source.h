/* SPDX-License-Identifier: MIT
 *
 * source.h - one text of the configuration, kept line by line for messages.
 *
 * A file, the text of `weir forward`, or the -o arguments. Line ends and a byte order mark in the first line
 * are removed; everything else is kept as written. Main thread.
 */
#ifndef WEIR_CONFIG_SOURCE_H
#define WEIR_CONFIG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/arena.h"

/* A file larger than this is not a configuration. */
#define SOURCE_BYTES_MAX (16u * 1024u * 1024u)

struct source_line {
	const char *text; /* NUL-terminated; may contain further NUL bytes, which the reader rejects */
	size_t len;
};

struct source {
	const char *name;
	bool found; /* by an include or in a folder: nobody named it on the command line */
	unsigned index; /* position in the order of reading; messages are sorted by it */
	struct source_line *lines;
	size_t line_count;
};

/* A place in a source. Columns are bytes, from 1; line 0 = the source as a whole. */
struct at {
	const struct source *source; /* borrows from the arena */
	unsigned line;
	unsigned col;
	unsigned len; /* bytes to underline */
};

struct source *source_new(struct arena *a, const char *name);
void source_add_line(struct arena *a, struct source *s, const char *text, size_t len);
void source_add_text(struct arena *a, struct source *s, const char *text, size_t len);
/* The same with what source_read_file() read: `len` bytes of the arena, which it changes, and one more. */
void source_take_text(struct arena *a, struct source *s, char *text, size_t len);
/* Reads a whole file into the arena, with room for one byte more. 0 or -errno; -EFBIG above SOURCE_BYTES_MAX,
 * -EINVAL if `regular` is required and the file is not regular (a FIFO or device is not even waited for). */
int source_read_file(struct arena *a, const char *path, bool regular, char **bytes, size_t *len);
/* The same for a list, which must be a regular file of at most LIST_FILE_BYTES_MAX. */
int source_read_list(struct arena *a, const char *path, char **bytes, size_t *len);
/* Describes an error of source_read_file(); -ENODATA: it is not among what is kept of an earlier reading. */
const char *source_why_unread(int err);
/* The location of `path` as written in `s`: relative to the directory of `s` unless absolute. */
const char *source_beside(struct arena *a, const struct source *s, const char *path);

#endif
