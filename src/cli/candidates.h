/* SPDX-License-Identifier: MIT
 *
 * candidates.h - the words that may come next on a command line, as a shell's completion reads them.
 *
 * One line each, sorted, without duplicates: the word, and after a tab what it means, if that is known. A
 * word that ends with '=' goes on. The line ":files" asks the shell to offer names of files, too. Main
 * thread.
 */
#ifndef WEIR_CLI_CANDIDATES_H
#define WEIR_CLI_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "weir/base/text.h"

struct candidates {
	const char *begin; /* borrows: what the words have to begin with */
	bool files;
	size_t count;
	struct text lines; /* owns; "WORD\tHELP" and a NUL each */
};

void candidates_init(struct candidates *c, const char *begin);
void candidates_free(struct candidates *c);
/* Adds `before` and `len` bytes of `word`, in one, if that begins as required. `help` may be NULL. */
void candidates_add(struct candidates *c, const char *before, const char *word, size_t len, const char *help);
/* Adds each of the words of "a|b|c" after `before`. */
void candidates_add_each(struct candidates *c, const char *before, const char *words, const char *help);
/* Prints them; false, with nothing printed, if memory ran out here or before. */
bool candidates_print(const struct candidates *c, FILE *out);

#endif
