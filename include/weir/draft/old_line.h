/* SPDX-License-Identifier: MIT
 *
 * old_line.h - the lines of a HAProxy or nginx configuration, and what became of each.
 *
 * Everything is allocated in the arena of the reading. Main thread.
 */
#ifndef WEIR_DRAFT_OLD_LINE_H
#define WEIR_DRAFT_OLD_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/arena.h"
#include "weir/config/source.h"

#define OLD_BYTES_MAX (10u << 20) /* of one file */
#define OLD_FILES_MAX 1000
#define OLD_DEPTH_MAX 16 /* files that include each other, blocks, conditions */
#define OLD_WORDS_MAX 4096
#define OLD_LINES_MAX 1000000

/* What became of a line, from the best to the worst. */
enum old_fate {
	OLD_OPEN, /* nobody has looked at it */
	OLD_CARRIED,
	OLD_NO_EFFECT, /* weir does without it */
	OLD_NOT_OURS,  /* HTTP, TLS termination, UDP */
	OLD_DIFFERENT, /* converted to what is not quite the same */
	OLD_LOST,
	OLD_FATES
};

struct old_line;
struct index;

struct old_lines {
	struct old_line **list;
	size_t count;
	const struct index *last; /* borrows; the last of each first word; NULL = none was made */
};

struct old_line {
	const char *file;
	unsigned line;
	const char **words; /* without quotes and escapes */
	size_t count;	    /* at least 1 */
	const char *shown;  /* as written, on one line, passwords masked */
	const char *behind; /* the comment at its end; NULL = none */
	const char **above; /* the comment lines right above it */
	size_t above_count;
	bool block; /* nginx: has { } with `inside` */
	struct old_lines inside;
	enum old_fate fate;
	const char *why; /* for every fate but OLD_CARRIED; may be NULL for that */
};

/* The first thing that made a reading impossible. */
struct old_error {
	const char *file;
	unsigned line;	  /* 0 = the file as a whole */
	const char *text; /* NULL = no error */
};

/* One reading. */
struct old_reading {
	struct arena *arena;	/* borrows */
	struct old_lines lines; /* nginx: those outside any block */
	struct old_lines every; /* all of them, in the order of reading */
	struct old_error error;
	const char *prefix; /* nginx: relative names are below it; NULL = the folder of the first file */
	bool guessed_prefix; /* nobody has said `prefix`: it is that folder */
	unsigned files;
	char *const *environment; /* "NAME=VALUE", then NULL */
};

/* Records the first error; later ones are dropped. Returns false. */
bool old_fail(struct old_reading *r, const char *file, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Raises what became of a line; it never gets better. A second reason for the same fate is added. */
void old_set(struct arena *a, struct old_line *line, enum old_fate fate, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The word number `i`, "" if there are fewer. */
const char *old_word(const struct old_line *line, size_t i);
/* Has the line this word, from number `from` on? */
bool old_has_word(const struct old_line *line, size_t from, const char *word);
/* Reads a whole file: a text with its final NUL, or NULL and an error that names `from` at `line` if it is
 * not NULL. Refuses large and binary files, and more than OLD_FILES_MAX. */
char *old_read_file(struct old_reading *r, const char *path, const char *from, unsigned line);
/* Adds a line, which the list borrows. */
void old_lines_add(struct arena *a, struct old_lines *to, struct old_line *line);
/* Adds a line to the reading and to `to`. False after an error. */
bool old_add(struct old_reading *r, struct old_lines *to, struct old_line *line);
/* Does the text have a mark of a template that was not rendered? Returns the mark, or NULL. */
const char *old_template_mark(const char *text, size_t len);
/* The text with passwords replaced by asterisks, in `a`. `words` are those of the line. */
const char *old_mask(struct arena *a, const char *text, const char *const *words, size_t count);
/* Is a variable of this name likely to hold a password, as REDIS_PASSWORD or API_KEY? */
bool old_is_secret_name(const char *name);
/* Where a password inside a word begins, as in "AUTH x" or "password=x", or NULL. */
const char *old_secret(const char *word);
/* May the comment be copied: does it look like one without a password? */
bool old_comment_ok(const char *text, size_t len);

#endif
