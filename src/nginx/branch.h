/* SPDX-License-Identifier: MIT
 *
 * branch.h - the clients for whom the variables of a target have the same values. Main thread.
 */
#ifndef WEIR_SRC_NGINX_BRANCH_H
#define WEIR_SRC_NGINX_BRANCH_H

#include "map.h"

/* The value of a map for the clients of a branch: nginx computes it once for each. */
struct known {
	const struct old_line *block;
	const char *value;
	const struct known *next;
};

/* What is true of the clients of a branch. */
struct branch {
	const char *target;
	const char *keys[BY_OTHER];    /* by subject, with commas in between; NULL = any */
	const char *written[BY_OTHER]; /* the same on a use-backend line: the keys, or @FILE */
	enum nginx_subject order[BY_OTHER];
	size_t count; /* of subjects that have keys */
	const struct known *known;
	struct old_line *line;
	unsigned depth;
};

struct routing {
	struct nginx *n;
	const struct nginx_passing *pass;
	bool preread; /* does nginx read what clients send? */
	bool sniff;
	bool protocol;
	bool has_default;
	bool refused; /* the clients of a branch that is lost */
	size_t lines;
	size_t ends; /* branches whose clients get what nginx gives them */
	size_t branches;
	size_t compared;
};

/* Notes what a map has for the clients of the branch. */
void branch_know(struct routing *r, struct branch *b, const struct old_line *block, const char *value);
/* The clients of the branch are those with these keys. */
void branch_set_keys(struct branch *b, enum nginx_subject subject, const char *keys, const char *written);
/* The end of a branch: its target has no variables of maps. */
void branch_end(struct routing *r, const struct branch *b);
/* The clients of a branch that is lost get no other server: they are refused. */
void branch_refuse(struct routing *r, const struct branch *b);
/* The same, and the line of the branch is lost. */
void branch_lose(struct routing *r, const struct branch *b, const char *why);

#endif
