/* SPDX-License-Identifier: MIT
 *
 * blocks.h - nginx's stream { } while it is converted. Main thread.
 */
#ifndef WEIR_SRC_NGINX_BLOCKS_H
#define WEIR_SRC_NGINX_BLOCKS_H

#include "weir/nginx/nginx.h"

/* Why a line is lost that has a variable where nginx takes none. */
#define NGINX_NO_VARIABLE                                                                                    \
	"'%s': nginx takes no variable here; if this is a template, convert what it renders to"

/* A backend that was made, and what it was made from. */
struct nginx_backend {
	const char *target;    /* of proxy_pass: the name of an upstream, or an address */
	const char *signature; /* what its server blocks say about servers */
	const char *name;
};

/* For a name of a section: the number that the next one like it gets. */
struct nginx_used_name {
	unsigned next;
};

struct nginx_users {
	unsigned count;
};

struct nginx {
	struct work *work;
	struct arena *arena;
	struct ini *ini;
	const struct old_lines *stream; /* the directives that are being converted */
	struct old_lines indexed;	/* what that is */
	struct index words;		/* of them: the last with each first word */
	struct index blocks;		/* the first with each "KIND NAME" */
	struct old_lines loose;		/* those of them that are no blocks */
	struct index listens;		/* the server blocks with each address: struct old_lines; all of
					   IPv4 is the port alone */
	struct index users;		/* how many directives of blocks have this as their second word */
	struct index names;		/* of sections: struct nginx_used_name */
	struct nginx_backend *backends;
	size_t backend_count;
	size_t served;	    /* server blocks that became sections */
	bool whole;	    /* all that stream { } includes has been read */
	const char *closed; /* the backend for clients that nginx has no address for; NULL = not made yet */
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
	bool proxy;	    /* clients send a PROXY header */
	bool resolver;	    /* nginx looks up names that variables make */
	bool one_try;	    /* proxy_next_upstream off */
	unsigned tries;	    /* 0 = no limit */
	struct old_line *tries_from;
};

/* Makes the directives of stream { } the ones that are converted. */
void nginx_index(struct nginx *n, const struct old_lines *lines);
/* Do two `listen` directives have the same address? */
bool nginx_is_same_listen(const char *address, const char *other);
/* The server blocks that listen at an address; NULL: there are none. */
const struct old_lines *nginx_listening(const struct nginx *n, const char *address);
/* The last directive of this name in a block; `up` if it has none there. NULL: nowhere. */
struct old_line *nginx_find(const struct old_lines *block, const struct old_lines *up, const char *name);
/* What follows `name`, such as "weight=", in a word of a `server` line; `otherwise` if it is in none. */
const char *nginx_parameter(const struct old_line *line, const char *name, const char *otherwise);
/* The block `kind NAME { }` in stream; NULL: there is none. */
struct old_line *nginx_block(const struct nginx *n, const char *kind, const char *name);
/* A duration of nginx's: a bare number is seconds. NULL: it is none. */
const char *nginx_duration(struct arena *a, const char *text);
/* The same in milliseconds. -1: it is none. */
long long nginx_milliseconds(const char *text);
/* The text with what a name of ours may not have replaced, at most 40 bytes. */
const char *nginx_clean_name(struct arena *a, const char *text);
/* A network without the bits behind its length, which nginx ignores; other texts stay. */
const char *nginx_network(struct arena *a, const char *text);
/* Adds those networks of `text` that none of `others` has; all as nginx_network() writes them. False: there
 * are too many, or it cannot read them. */
bool nginx_network_without(struct arena *a, const char *text, const struct work_list *others,
			   struct work_list *out);
/* The networks of a range of IPv4 addresses, with commas in between. NULL: it is none. */
const char *nginx_range(struct arena *a, const char *text);
/* The network for a regular expression over IPv4 addresses, such as "^10\.1\.". NULL: it is for others. */
const char *nginx_address_pattern(struct arena *a, const char *text);
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
/* Adds the target of an error_log or access_log of the main context or of stream. */
void nginx_log(struct nginx *n, struct old_line *line);
/* Says what the error_log of stream does to those of main. */
void nginx_judge_logs(struct nginx *n, const struct old_lines *main, const struct old_lines *stream);
/* Those of a server block are for all sections in weir: it is added if no other log has sessions. */
void nginx_block_log(struct nginx *n, struct old_line *line);
/* Adds the name servers of a `resolver` line. */
void nginx_resolver(struct nginx *n, struct old_line *line);
/* The value of source= for a proxy_bind of a server block; NULL after saying why. `proxy`: clients send a
 * PROXY header. */
const char *nginx_source(struct nginx *n, struct old_line *line, const struct old_line *block, bool proxy);
/* Says what nginx does with a name that a line leads to, where it has no name servers. */
void nginx_judge_name(struct nginx *n, struct old_line *line, const char *target, bool resolver);
/* resolve-family and resolve-interval of a `resolver` line, which may be NULL. NULL: weir's default. */
const char *nginx_resolve_family(const struct old_line *line);
const char *nginx_resolve_interval(struct arena *a, const struct old_line *line);
/* A server block with a proxy_pass whose target has variables. */
struct nginx_passing {
	struct ini_section *s;
	const struct old_line *block; /* server */
	struct old_line *pass;
	const char *target;
	const char *names;   /* that the clients of the block ask for; "" = any */
	const char *timeout; /* of the hello */
	const struct nginx_sides *sides;
};

/* Marks the methods of an upstream that another one behind them replaces. */
void nginx_drop_methods(struct nginx *n, const struct old_line *block);
/* Adds the `balance` for a line of an upstream that is no server. `proxy`: clients send a PROXY header. */
void nginx_method(struct nginx *n, struct ini_section *s, struct old_line *line, bool proxy);
/* Says how nginx chooses between servers with the same load, where weir does otherwise. */
void nginx_judge_ties(struct nginx *n, const struct old_line *block);
/* Does the key of a hash differ between the connections of a client? */
bool nginx_is_of_connection(const char *key);
/* Adds the servers of a split to a section; `text` has its variable. False after saying why. */
bool nginx_split(struct nginx *n, struct ini_section *section, struct old_line *block, const char *text);
/* The backend that closes: nginx has no address for its clients. */
const char *nginx_closed(struct nginx *n);
/* Adds use-backend lines and default-backend. False after saying why. */
bool nginx_routes(struct nginx *n, const struct nginx_passing *pass);
/* Adds a line that refuses the clients of a block. */
void nginx_refuse(struct nginx *n, const struct nginx_passing *pass);
void nginx_server(struct nginx *n, struct old_line *block);
/* Adds the lines of a health_check to the sides; its time limit is at `timeout`, NULL = nginx's default. */
void nginx_health_check(struct nginx *n, struct old_line *line, struct old_line *timeout,
			struct nginx_sides *sides);
/* Adds the lines of 'check' in an upstream, of nginx_upstream_check_module. */
void nginx_upstream_check(struct nginx *n, struct ini_section *s, struct old_line *line);
/* Marks a block and all that is inside. */
void nginx_mark(struct nginx *n, struct old_line *block, enum old_fate fate, const char *why);

#endif
