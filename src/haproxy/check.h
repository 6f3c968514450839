/* SPDX-License-Identifier: MIT
 *
 * check.h - a health check while it is put together. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_CHECK_H
#define WEIR_SRC_HAPROXY_CHECK_H

#include "sections.h"

/* A check line while it is put together. */
struct checker {
	struct haproxy *h;
	struct proxy *p;
	const struct checking *c;
	const char *text;
	const char *port, *sni, *alpn; /* of its connect line; NULL = it says none */
	struct old_line *connect;      /* that line, or NULL */
	bool is_exec;
	bool over_tls;	   /* a connect line says so */
	bool own_words;	   /* a connect line without 'default': what server lines say of TLS does not hold */
	bool sends_proxy;  /* a connect line says so */
	bool has_password; /* the text has a variable for one */
	bool said;	   /* the last step of the text says something */
};

/* Why the lines behind a second connect line are lost. */
extern const char *const check_second_connection;
/* Is word number `at` of the line this one? */
bool check_says(const struct old_line *line, size_t at, const char *word);
/* The bytes between quotes. */
const char *check_quoted(struct checker *k, const char *bytes);
/* Adds words. */
void check_append(struct checker *k, const char *more);
/* The text that a regular expression stands for, NULL = for more than one. Says so if it may be elsewhere. */
const char *check_text_of(struct checker *k, struct old_line *line, const char *pattern, bool negated);
/* Takes the connect line of a check's first connection. */
void check_take_connect(struct checker *k, struct old_line *line);
/* Is the check over TLS? */
bool check_is_tls(const struct checker *k);
/* option httpchk and http-check. */
void check_take_http(struct checker *k, const struct old_lines *rules);

#endif
