/* SPDX-License-Identifier: MIT
 *
 * command_form.h - how far words on a command line match the form of a command of the admin protocol.
 *
 * A form is written as for people: "set server BACKEND/SERVER addr IP [port PORT]". Words in capitals stand
 * for any text, "a|b" for one of several words, and what is in brackets may be left out. Main thread.
 */
#ifndef WEIR_CLI_COMMAND_FORM_H
#define WEIR_CLI_COMMAND_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/admin/admin_form.h"

#define COMMAND_FORM_WORDS_MAX 31

/* One word of a form. */
struct form_word {
	const char *text; /* borrows; without the brackets around it */
	size_t len;
	size_t skip_to; /* the word to go on with if this one is left out; 0 = it must be there */
	bool repeats;
};

struct command_form {
	struct form_word words[COMMAND_FORM_WORDS_MAX];
	size_t count;
};

/* One of the words that a form allows in one place. */
struct form_choice {
	const char *text; /* borrows */
	size_t literal;	  /* how many bytes of it are meant literally */
	size_t len;	  /* the rest stands for any text */
};

/* Reads a form, whose texts it borrows. */
void command_form_read(struct command_form *form, const struct admin_form *text);
/* The words of the form that may come first, a bit each. */
uint32_t command_form_begin(const struct command_form *form);
/* The words that may come after `word`, if it is one of `places`; 0 = none, or it is not. */
uint32_t command_form_step(const struct command_form *form, uint32_t places, const char *word);
/* Gets the next choice of a word: begin with *at == 0. False after the last. */
bool command_form_choice(const struct form_word *word, size_t *at, struct form_choice *choice);

#endif
