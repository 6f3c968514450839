/* SPDX-License-Identifier: MIT
 *
 * hello_words.h - the words of `explain` about what a client sends first: sni=, alpn=, proto=.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_HELLO_WORDS_H
#define WEIR_ADMIN_HELLO_WORDS_H

#include <stdbool.h>

#include "weir/admin/admin_answers.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/rules.h"

/* All zero: the client sends no hello. */
struct hello_words {
	bool given;
	char name[CLIENT_HELLO_NAME_MAX + 1]; /* "" = none */
	const char *protocol;                 /* borrows; NULL = none */
	unsigned proto; /* what it speaks, one of enum config_proto; 0 = not given */
};

/* Reads the value of sni=, where "none" is a hello without a name. False if it was refused. */
bool hello_words_read_name(struct hello_words *h, const struct admin_call *c, const char *value);
void hello_words_read_protocol(struct hello_words *h, const char *value);
/* Reads the value of proto=. False if it was refused. */
bool hello_words_read_proto(struct hello_words *h, const struct admin_call *c, const char *value);
/* What the rules of a frontend know of it, for a client of `ep`; borrows. */
struct rules_hello hello_words_known(const struct hello_words *h, const struct config_frontend *rules,
				     const struct endpoint *ep);
/* Adds the step about it. False: the frontend requires a hello, and there is none. */
bool hello_words_explain(const struct hello_words *h, const struct admin_call *c,
			 const struct config_frontend *rules, const struct endpoint *ep);

#endif
