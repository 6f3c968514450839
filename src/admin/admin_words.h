/* SPDX-License-Identifier: MIT
 *
 * admin_words.h - the words of one command, in HAProxy's grammar.
 *
 * White space separates words; a backslash takes the meaning from the byte behind it. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_WORDS_H
#define WEIR_ADMIN_ADMIN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/admin/admin.h"
#include "weir/admin/admin_answers.h"

#define ADMIN_WORDS_MAX (ADMIN_ARGS_MAX + 4) /* of the command, and "json" */

struct admin_words {
	size_t count;
	bool more; /* there are more words than there is room for */
	const char *words[ADMIN_WORDS_MAX]; /* in `text` */
	char text[ADMIN_REQUEST_MAX + 1];
};

/* Cuts the first command off `*rest`, which is then NULL or behind the semicolon. Changes the text. */
char *admin_words_cut(char **rest);
/* Splits a command into words. False if it is longer than ADMIN_REQUEST_MAX. */
bool admin_words_split(struct admin_words *w, const char *command);
/* How many words of `w` are those of `words`, which are separated by blanks; 0 if they differ. */
size_t admin_words_match(const struct admin_words *w, const char *words);
/* The first `count` words with a blank between them: as much as there is room for in `buf`. */
const char *admin_words_join(const struct admin_words *w, size_t count, char *buf, size_t room);

#endif
