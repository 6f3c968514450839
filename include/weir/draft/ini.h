/* SPDX-License-Identifier: MIT
 *
 * ini.h - the INI that is written: sections with their lines, where each comes from, and comments.
 *
 * Keys whose value is the same in every section go to [defaults]; values that are our default are left out.
 * Allocated in an arena. Main thread.
 */
#ifndef WEIR_DRAFT_INI_H
#define WEIR_DRAFT_INI_H

#include "weir/base/text.h"
#include "weir/draft/old_line.h"

struct ini_line {
	const char *key; /* with its name: "server a"; "" = a comment line with `value` */
	const char *value;
	const char
	    *stand_in;	    /* the value to judge it by on this machine; NULL = `value`, "" = do not judge */
	const char **above; /* comments */
	size_t above_count;
	const char *behind;
	struct old_line *from; /* NULL = a default of the other program */
	bool left_out;
};

struct ini_section {
	unsigned kind;	  /* enum option_section */
	const char *name; /* NULL = none */
	const char **above;
	size_t above_count;
	struct ini_line *lines;
	size_t count;
	struct old_line *from;
	bool left_out;
};

struct ini {
	struct arena *arena;
	struct ini_section **sections;
	size_t count;
	struct ini_section *only[4]; /* those that ini_only() found */
};

struct ini_section *ini_section(struct ini *ini, unsigned kind, const char *name, struct old_line *from);
/* Finds the section, or adds it. */
struct ini_section *ini_only(struct ini *ini, unsigned kind);
/* Adds a line, with the comments of `from` unless another line has them. */
struct ini_line *ini_add(struct ini *ini, struct ini_section *s, struct old_line *from, const char *key,
			 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The line with this key, NULL if there is none. */
struct ini_line *ini_find(const struct ini_section *s, const char *key);
/* Makes one bind line of two that are for both families of one port. */
void ini_join_families(struct ini *ini, struct ini_section *s);
/* Moves to [defaults] what all sections share, and leaves out what is our default. */
void ini_shorten(struct ini *ini);
/* Writes it. */
void ini_write(struct ini *ini, struct text *out);

/* What a line of the judged text is: a line, or the header of a section. */
struct ini_origin {
	struct ini_line *line; /* NULL = the header */
	struct ini_section *section;
};

/* Writes it as it is judged on this machine, without comments, and what each line of that text is (in the
 * arena). */
void ini_write_judged(struct ini *ini, struct text *out, struct ini_origin **map, size_t *map_count);
/* Words with a space in between. What is too long for a line of ours gets no longer, and is refused. */
const char *ini_join(struct arena *a, const char *first, const char *second);
/* `bytes` between double quotes, with the escapes of weir.ini(5). */
const char *ini_quote(struct arena *a, const char *bytes, size_t len);

#endif
