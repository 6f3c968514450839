/* SPDX-License-Identifier: MIT
 *
 * habit.h - what HAProxy and nginx users write by habit, put into our words.
 *
 * Translations come from foreign.tbl.h. Main thread.
 */
#ifndef WEIR_CONFIG_HABIT_H
#define WEIR_CONFIG_HABIT_H

#include "weir/config/options.h"
#include "weir/config/words.h"

/* The hint for a line that begins with foreign words; how many bytes these have in `*len`. NULL: none. */
const char *habit_translate(struct arena *a, const char *line, size_t *len);
/* The hint for a foreign word inside a line, or NULL; what it has to be filled with is still open. */
const char *habit_translate_word(struct arena *a, const char *word);
/* The same for word `n` of a line, filled with its value and with what else the line says. */
const char *habit_translate_nth(struct arena *a, const struct words *words, size_t n);
/* Puts "weight 10" together to "weight=10", and gives a bare number of milliseconds its unit: the
 * words of a line of `o` that was written without '=', as HAProxy means them. */
void habit_join_words(struct diag *d, const struct option *o, struct words *words);
/* The line as we write it: "server a = 10.0.0.1:80 weight=10". `name` is "" for none. */
const char *habit_line(struct arena *a, const struct option *o, const char *name, const struct words *words);

#endif
