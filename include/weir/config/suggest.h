/* SPDX-License-Identifier: MIT
 *
 * suggest.h - finds the closest word, and our equivalents of HAProxy and nginx words.
 *
 * Constant. Any thread.
 */
#ifndef WEIR_CONFIG_SUGGEST_H
#define WEIR_CONFIG_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps the closest of the words offered. */
struct suggest {
	const char *wanted;
	const char *best;  /* borrows from the caller; NULL = none is close */
	const void *thing; /* the caller's value for it */
	size_t distance;
};

void suggest_init(struct suggest *s, const char *wanted);
void suggest_offer(struct suggest *s, const char *word, const void *thing);
/* Insertions, deletions, substitutions and swaps between two words; '-', '_' and ' ' are equivalent. */
size_t suggest_distance(const char *a, const char *b);

/* Where a foreign word occurs: the areas of foreign.h. */
enum foreign_place {
	FOREIGN_LINE,    /* a line begins with it */
	FOREIGN_IN_LINE, /* within a line */
	FOREIGN_SECTION_OR_BLOCK,
};

/* What to write instead of the HAProxy or nginx words that `text` begins with; their length goes to `*len`.
 * NULL and 0 if it begins with none. */
const char *suggest_foreign(enum foreign_place place, const char *text, size_t *len);
/* The same for a line, without the length. */
const char *suggest_translate(const char *text);
/* Does `text` begin with the words of `key`, with any blanks between them, followed by a blank or the end?
 * Returns the length in `text`, otherwise 0. */
size_t suggest_starts_with(const char *text, const char *key);

#endif
