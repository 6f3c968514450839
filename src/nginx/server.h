/* SPDX-License-Identifier: MIT
 *
 * server.h - a server { } of stream while it becomes a section. Main thread.
 */
#ifndef WEIR_SRC_NGINX_SERVER_H
#define WEIR_SRC_NGINX_SERVER_H

#include "blocks.h"

/* One server block. */
struct serving {
	struct nginx *n;
	struct old_line *block;
	struct ini_section *s;
	struct old_line *pass; /* NULL = none: its clients are refused */
	const char *target; /* of proxy_pass, without the variables that have one value */
	bool shared;	    /* other blocks have the same addresses */
	bool proxy;	    /* clients send a PROXY header */
	bool refuses_unix;  /* nobody may connect to its Unix sockets */
};

/* The directive of this name: of the block, else of stream; NULL: neither has it. */
struct old_line *serving_find(const struct serving *v, const char *name);
bool serving_is_on(const struct old_line *line);
/* The duration of a directive, or `otherwise`, which is nginx's default. */
const char *serving_time(const struct serving *v, const char *name, const char *otherwise);
/* Adds the bind lines. */
void serving_add_binds(struct serving *v);
/* Adds who may connect: allow and deny. */
void serving_add_access(struct serving *v);
/* Adds limits per client, and whose PROXY headers are trusted. */
void serving_add_limits(struct serving *v);
/* Do clients of IPv4 come in at a socket of IPv6? nginx writes their address as ::ffff:ADDRESS. */
bool nginx_takes_both_families(const struct old_line *block);
/* The server block that nginx takes for clients of the addresses of `block` that ask for no name of a block.
 */
struct old_line *nginx_default_of(const struct nginx *n, struct old_line *block);
/* Has another server block the addresses of `block`? */
bool nginx_is_shared(const struct nginx *n, const struct old_line *block);
/* Has a block with a proxy_pass the addresses of `block`, too? */
bool nginx_shares_with_proxy(const struct nginx *n, const struct old_line *block);
/* Adds use-backend lines for the other blocks with the addresses of a default one. */
void nginx_add_members(struct serving *v);
/* Adds the lines of another block, for the clients that ask for one of `names`, to the section of `v`. */
void nginx_member(const struct serving *v, struct old_line *block, const char *names);

#endif
