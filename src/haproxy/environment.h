/* SPDX-License-Identifier: MIT
 *
 * environment.h - the variables that a HAProxy file sets by itself. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_ENVIRONMENT_H
#define WEIR_SRC_HAPROXY_ENVIRONMENT_H

#include "weir/haproxy/haproxy.h"

#define ENVIRONMENT_WORD_MAX 65536 /* bytes of a word with the values of its variables */

struct variable {
	struct old_line *line; /* borrows, as long as the arena */
	const char *name;
	const char *value;
	bool preset;	 /* the environment comes before it */
	bool in_address; /* a line below uses it, and keeps its name */
	bool in_text;	 /* a line below uses its value */
};

struct environment {
	struct arena *arena; /* borrows */
	struct variable *list;
	size_t count;
};

/* Puts the values of the variables into the words of a line. False: one becomes too long. */
bool environment_replace(struct environment *e, const char **words, size_t count);
/* Takes a line of a global section, if it sets a variable. */
void environment_set(struct environment *e, struct old_line *line);
/* The environment with these variables in it; the first of a name counts. */
char *const *environment_all(struct environment *e, char *const *outside);
/* Says of each such line what became of it, when all lines are read. */
void environment_account(struct environment *e);

#endif
