/* SPDX-License-Identifier: MIT
 *
 * acl.h - the terms of HAProxy's conditions, one by one. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_ACL_H
#define WEIR_SRC_HAPROXY_ACL_H

#include "sections.h"

/* A criterion with its flags and values. */
struct criterion {
	const char *name;     /* "req.ssl_sni" without arguments */
	const char *argument; /* between parentheses; "" = none */
	const char *match;    /* -m */
	const char *op;	      /* gt, ge, lt, le, eq */
	const char **values;
	size_t count;
	const char **files;
	size_t file_count;
	bool any_case;	/* -i */
	bool lowered;	/* ",lower" follows */
	bool converted; /* another converter does */
};

/* The values and files as a list. */
const char *criterion_values(struct arena *a, const struct criterion *c, struct term *t);
void criterion_take_sni(struct arena *a, struct criterion *c, struct term *t);
/* Says why a term cannot be converted. */
void term_other(struct arena *a, struct term *t, const char *why);

/* The term for a criterion with its flags and values; `acl` is the line that has it, or NULL. */
struct term *haproxy_term(struct haproxy *h, const struct proxy *p, const char *const *words, size_t count,
			  struct old_line *acl);
/* Takes HAProxy's own name of a condition, such as LOCALHOST. False: it is none. */
bool haproxy_predefined(const char *name, struct term *t);
/* Why weir refuses a file of networks; NULL: it takes all entries, or the file is not here. */
const char *haproxy_network_file_refused(struct haproxy *h, const char *path);

/* Adds the names of a file that weir does not take as it is: none with `whole` names, unless it has patterns
 * of weir's. False: it is taken as it is, or cannot be read. */
bool haproxy_take_names(struct haproxy *h, const char *path, bool whole, struct work_list *names);
/* An address or a network in our words; the text itself if it is neither. */
const char *haproxy_network(struct arena *a, const char *text);

#endif
