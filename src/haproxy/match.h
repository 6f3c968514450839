/* SPDX-License-Identifier: MIT
 *
 * match.h - what a use-backend line asks for, by kind, from the terms of a condition. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_MATCH_H
#define WEIR_SRC_HAPROXY_MATCH_H

#include "sections.h"

#define WITHOUT_MAX 16 /* lists of one alternative that a client must not be in */

/* The words of a line by kind; NULL = none. */
struct words {
	const char *value[TERM_OTHER + 1];
	bool file;
	const char *error;
	const char *never; /* why no client gets here; NULL = some do */
	const struct term *without[WITHOUT_MAX];
	size_t without_count;
};

/* The words of an alternative for clients that have those of `base`; `line` is the rule, to report what is
 * not quite the same. */
struct words match_words(struct arena *a, struct old_line *line, const struct condition *c,
			 size_t alternative, const struct words *base);
/* Adds a list: a client must also be in this one. */
void match_put(struct arena *a, struct words *w, enum term_kind kind, const char *value);
/* Is it what everyone fits who has sent anything? */
bool match_is_data(const struct term *t);
/* The items of a list of protocols for which a section has no line yet that takes all who speak them. */
const char *match_open_protos(struct arena *a, const char *list, const struct ini_section *s);
/* Puts words that can be written in place of what a client must not be. Returns how that is not quite the
 * same; NULL: it cannot be done. */
const char *match_approach(struct arena *a, struct words *w);

#endif
