/* SPDX-License-Identifier: MIT
 *
 * server_word.h - the words of HAProxy's `add server`; for server_words.c, which has the line that they make.
 *
 * Control thread.
 */
#ifndef WEIR_SETTINGS_SERVER_WORD_H
#define WEIR_SETTINGS_SERVER_WORD_H

#include "weir/settings/server_words.h"
#include "setting.h"

/* Each word of our line is a place of its own, because only the texts of messages are used. */
struct word_reader {
	struct server_words *result;
	const struct config_backend *backend;
	const char *name;
	const char *const *in; /* the words */
	size_t count;
	size_t at; /* the word being taken */
	bool ours;
	struct words out; /* the words of our line; the first is the address */
	struct diag diag;
};

/* Refuses the server, with one text for both voices. Always returns -EINVAL. */
int word_refuse(struct word_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Replaces our text of the refusal, where it says more. */
void word_advise(struct word_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a word to our line; `text` is borrowed until that is parsed. */
void word_push(struct word_reader *r, const char *text);
/* Takes the words from `r->at` on. 0, or -EINVAL after a refusal. */
int word_take_all(struct word_reader *r);

#endif
