/* SPDX-License-Identifier: MIT
 *
 * server.h - a server line of HAProxy's as pairs of our words. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_SERVER_H
#define WEIR_SRC_HAPROXY_SERVER_H

#include "sections.h"

#define PAIRS_MAX 48

/* The certificate that a server is shown, by its checks as well. */
#define SERVER_CRT ".crt"
/* The section of name servers that it asks. */
#define SERVER_RESOLVERS ".resolvers"

/* A key that begins with a dot is one that only sections have. */
struct pair {
	const char *key;
	const char *value; /* NULL = a flag */
};

struct server {
	struct old_line *line;
	const char *name;
	const char *address;
	struct pair pairs[PAIRS_MAX];
	size_t count;
	bool is_set;
	const char *max;
	size_t places; /* of a template with an address: so many servers, numbered from `first_place` on */
	size_t first_place;
	bool left_out;
	struct old_line *tls; /* borrows; makes it speak TLS; NULL = it does not */
	size_t defaults;      /* of a base: how many default-server lines are in it */
};

/* Gives servers that track others the checks of those. */
void haproxy_track(struct haproxy *h, struct proxy *p, struct server *list, size_t count);
/* Brings `base`, which begins empty, to what the default-server lines before `line` say. */
void server_read_defaults(struct haproxy *h, const struct proxy *p, const struct old_line *line,
			  struct server *base);
/* Reads a line on top of that. */
void server_read(struct haproxy *h, struct old_line *line, const struct server *base, struct server *s);
/* Puts a variable in the place of a name that is checked. */
void server_settle_check_addr(struct haproxy *h, struct server *s);
/* Leaves out what PROXY headers have no value for. */
void server_settle_header(struct haproxy *h, struct proxy *p, struct server *s);
const struct pair *server_pair(const struct server *s, const char *key);
/* NULL = there is none; "" = a flag. */
const char *server_value(const struct server *s, const char *key);
void server_set(struct server *s, const char *key, const char *value);
void server_drop(struct server *s, const char *key);

#endif
