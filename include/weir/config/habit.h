/* SPDX-License-Identifier: MIT
 *
 * habit.h - translates what HAProxy and nginx users write by habit.
 *
 * Translations come from foreign.tbl.h. Main thread.
 */
#ifndef WEIR_CONFIG_HABIT_H
#define WEIR_CONFIG_HABIT_H

#include "weir/config/options.h"
#include "weir/config/words.h"

/* The hint for a line that begins with foreign words, whose length in bytes goes to `*len`. NULL: none. */
const char *habit_translate(struct arena *a, const char *line, size_t *len);
/* The hint for a foreign word inside a line, or NULL; its placeholders are not filled in. */
const char *habit_translate_word(struct arena *a, const char *word);
/* The same for word `n` of a line, filled in with its value and the rest of the line. */
const char *habit_translate_nth(struct arena *a, const struct words *words, size_t n);
/* The hint for word `n` of a line of `o` if one of our words replaces it: "write 'check-interval=3s'". NULL:
 * none. */
const char *habit_own_word(struct arena *a, const struct option *o, const struct words *words, size_t n);
/* Joins "weight 10" to "weight=10", and adds the unit to a bare number of milliseconds: interprets as HAProxy
 * does the words of a line of `o` that was written without '='. */
void habit_join_words(struct diag *d, const struct option *o, struct words *words);
/* The line in our syntax: "server a = 10.0.0.1:80 weight=10". `name` is "" for none. */
const char *habit_line(struct arena *a, const struct option *o, const char *name, const struct words *words);

#endif
