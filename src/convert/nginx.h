/* SPDX-License-Identifier: MIT
 *
 * nginx.h - nginx's stream { } while it is converted. Main thread.
 */
#ifndef WEIR_SRC_CONVERT_NGINX_H
#define WEIR_SRC_CONVERT_NGINX_H

#include "work.h"

/* A backend that was made, and what it was made from. */
struct nginx_backend {
	const char *target;    /* of proxy_pass: the name of an upstream, or an address */
	const char *signature; /* what its server blocks say about servers */
	const char *name;
};

/* A name of a section, and the number that the next one like it gets. */
struct nginx_used_name {
	const char *name;
	unsigned next;
};

struct nginx {
	struct work *work;
	struct arena *arena;
	struct ini *ini;
	const struct old_lines *stream; /* the directives that are being converted */
	struct nginx_backend *backends;
	size_t backend_count;
	struct nginx_used_name *names;
	size_t name_count;
};

/* A key and a value for the server's side, from a server block. */
struct nginx_side {
	const char *key;
	const char *value;
	struct old_line *from;
};

struct nginx_sides {
	struct nginx_side list[16];
	size_t count;
	const char *source; /* proxy_bind; NULL = none */
	bool one_try;	    /* proxy_next_upstream off */
	unsigned tries;	    /* 0 = no limit */
	struct old_line *tries_from;
};

/* The last directive of this name in a block; `up` if it has none there. NULL: nowhere. */
struct old_line *nginx_find(const struct old_lines *block, const struct old_lines *up, const char *name);
/* The block `kind NAME { }` in stream; NULL: there is none. */
struct old_line *nginx_block(const struct nginx *n, const char *kind, const char *name);
/* A duration of nginx's: a bare number is seconds. NULL: it is none. */
const char *nginx_duration(struct arena *a, const char *text);
/* A name that no section has yet, made from `text`. */
const char *nginx_name(struct nginx *n, const char *text);
/* The name of the backend for a target of proxy_pass; made if there is none. NULL after saying why at `line`.
 */
const char *nginx_backend(struct nginx *n, struct old_line *line, const char *target,
			  const struct nginx_sides *sides);
/* Adds the servers of a target, and what the server block says about them, to a section. False after saying
 * why at `line`. */
bool nginx_servers(struct nginx *n, struct ini_section *s, struct old_line *line, const char *target,
		   const struct nginx_sides *sides);
/* Adds use-backend lines for proxy_pass with a variable, and default-backend. False after saying why. */
bool nginx_routes(struct nginx *n, struct ini_section *s, struct old_line *pass, const char *timeout,
		  const struct nginx_sides *sides);
void nginx_server(struct nginx *n, struct old_line *block);
/* Marks a block and all that is inside. */
void nginx_mark(struct nginx *n, struct old_line *block, enum old_fate fate, const char *why);

#endif
