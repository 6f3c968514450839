/* SPDX-License-Identifier: MIT
 *
 * route.h - the lines that say where a client goes: use_backend, and use-server of a backend.
 * Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_ROUTE_H
#define WEIR_SRC_HAPROXY_ROUTE_H

#include "sections.h"

#define USE_RULES_MAX 64 /* use-server lines of a section */

/* With the name of the section. */
#define USE_SERVER_LOST                                                                                   \
	"here its clients get any server of '%s', whatever that host serves: write a backend for each " \
	"server, and use-backend lines"

/* A server that a use-server rule names, in a backend of its own. */
struct own_server {
	const char *name;	 /* HAProxy's */
	struct old_line *server; /* NULL = the section has no such server */
	struct ini_section *out; /* NULL like that */
	struct own_server *next; /* when it is down, that of a later rule: NULL = the section itself */
	bool is_settled;	 /* `next` is */
};

/* A line that sends clients somewhere, in the order in which HAProxy takes them. */
struct use_line {
	struct old_line *line;
	struct own_server *to; /* of a use-server line; NULL = it is a use_backend line */
	struct proxy *owner;   /* then: its section */
	struct old_line *via;  /* then: the use_backend line that leads to that; NULL = default_backend */
};

/* The routes of a frontend: where a backend has use-server lines, these come before the line that leads to
 * it. */
struct use_line *haproxy_route_list(struct haproxy *h, struct proxy *p, size_t *count);
/* Reads the condition of a use_backend or use-server line, with the acls of its section. */
void haproxy_line_terms(struct haproxy *h, struct proxy *p, const struct old_line *line, struct condition *c);
/* Reads when a client takes a route of the frontend. */
void haproxy_route_terms(struct haproxy *h, struct proxy *p, const struct use_line *route,
			 struct condition *c);
/* Once a route is written, or cannot be: reports what that means for a use-server line. */
void haproxy_use_server_taken(struct haproxy *h, struct proxy *p, const struct use_line *route);

/* HAProxy waits for data only where a rule for content asks for it. Says so of a section without one whose
 * routes depend on data, and of lines that accept clients before such a rule. */
void haproxy_say_who_waits(struct haproxy *h, struct proxy *p, const struct use_line *routes,
			   size_t count);

#endif
