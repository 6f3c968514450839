/* SPDX-License-Identifier: MIT
 *
 * haproxy.h - HAProxy's sections while they are converted. Main thread.
 */
#ifndef WEIR_SRC_CONVERT_HAPROXY_H
#define WEIR_SRC_CONVERT_HAPROXY_H

#include "work.h"

/* What a section says once, and hands down from [defaults]: the line that says it. */
enum slot {
	SLOT_MODE,
	SLOT_BALANCE,
	SLOT_HASH_TYPE,
	SLOT_HASH_FACTOR,
	SLOT_RETRIES,
	SLOT_REDISPATCH,
	SLOT_MAXCONN,
	SLOT_RATE,
	SLOT_BACKLOG,
	SLOT_CONNECT,
	SLOT_CLIENT,
	SLOT_SERVER,
	SLOT_QUEUE,
	SLOT_CLIENT_FIN,
	SLOT_SERVER_FIN,
	SLOT_TUNNEL,
	SLOT_CHECK_TIME,
	SLOT_CLIENT_HS,
	SLOT_NULL,
	SLOT_NORMAL,
	SLOT_TCPLOG,
	SLOT_TCPKA,
	SLOT_CLITCPKA,
	SLOT_SRVTCPKA,
	SLOT_ALLBACKUPS,
	SLOT_CHECK,
	SLOT_SOURCE,
	SLOT_BACKEND,
	SLOT_COMMAND,
	SLOT_COMMAND_PATH,
	SLOT_TABLE,
	SLOT_STICK,
	SLOT_INSPECT,
	SLOT_PERSIST_RDP,
	SLOT_SPLICE,
	SLOT_DISABLED,
	SLOTS
};

struct slot_value {
	struct old_line *line; /* NULL = not said */
	bool off;	       /* said with "no" */
	size_t at;	       /* of its first argument in the line */
};

/* What a section may say several times. */
enum list {
	LIST_BIND,
	LIST_SERVER,
	LIST_DEFAULT_SERVER,
	LIST_ACL,
	LIST_RULE,  /* tcp-request */
	LIST_ROUTE, /* use_backend */
	LIST_CHECK, /* tcp-check, http-check */
	LIST_STATS,
	LIST_LOG,
	LISTS
};

enum proxy_kind { PROXY_GLOBAL, PROXY_DEFAULTS, PROXY_FRONTEND, PROXY_BACKEND, PROXY_LISTEN, PROXY_OTHER };

struct proxy {
	enum proxy_kind kind;
	const char *name; /* "" = none */
	struct old_line *head;
	struct proxy *from; /* its defaults section */
	struct old_lines all;
	struct slot_value slots[SLOTS];
	struct old_lines lists[LISTS];
	struct ini_section *out; /* NULL = it does not become one */
	const char *why_not;	 /* then: "mode http" */
	bool is_page;		 /* HAProxy's statistics page */
	bool sniffs;		 /* rules of it look at the TLS hello */
	bool tls_required;	 /* and refuse everything else */
	bool is_used;		 /* a defaults section from which something was taken */
};

struct haproxy {
	struct work *work;
	struct arena *arena;
	struct ini *ini;
	struct proxy **proxies;
	size_t count;
	bool tcplog;
	bool exec;
};

#define IS_FRONT(p) ((p)->kind == PROXY_FRONTEND || (p)->kind == PROXY_LISTEN)
#define IS_BACK(p)  ((p)->kind == PROXY_BACKEND || (p)->kind == PROXY_LISTEN)

/* The argument number `i` of what a slot says, "" if there is none. */
const char *slot_word(const struct proxy *p, enum slot slot, size_t i);
/* Was it said, and not with "no"? */
bool slot_on(const struct proxy *p, enum slot slot);
/* The duration in milliseconds of what a slot says; 0 if it says nothing. */
long long slot_ms(struct haproxy *h, const struct proxy *p, enum slot slot);
/* Adds a line that comes from a slot. */
void slot_add(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *value);
/* The proxy of one of these kinds (bits of 1 << enum proxy_kind) with this name, or NULL. */
struct proxy *haproxy_find(const struct haproxy *h, unsigned kinds, const char *name);
/* "ADDRESS:PORT" in our words, from one of HAProxy's. For a bind, without a host it is IPv4. */
const char *haproxy_address(struct arena *a, const char *text, bool is_bind);
/* Converts a word that may be a duration; NULL if it is none. */
const char *haproxy_duration(struct arena *a, const char *text);

/* Does a row of the table handle this line? */
bool haproxy_knows(const struct old_line *line);
/* Sorts a line into its section. */
void haproxy_take(struct haproxy *h, struct proxy *p, struct old_line *line);

void haproxy_global(struct haproxy *h, struct proxy *global);
void haproxy_log(struct haproxy *h);
void haproxy_page(struct haproxy *h, struct proxy *p);
void haproxy_resolvers(struct haproxy *h, struct proxy *p);
void haproxy_binds(struct haproxy *h, struct proxy *p);
void haproxy_servers(struct haproxy *h, struct proxy *p);
void haproxy_routes(struct haproxy *h, struct proxy *p);
void haproxy_rules(struct haproxy *h, struct proxy *p);
/* use_backend with a map of names. False: it is something else. */
bool haproxy_name_map(struct haproxy *h, struct proxy *p, struct old_line *line);
void haproxy_sticking(struct haproxy *h, struct proxy *p);

/* What servers say about checks, for haproxy_check(). */
struct checking {
	struct old_line *line; /* a server line with `check` */
	const char *tls;       /* not NULL: over TLS */
	const char *verify;
	const char *sni;
	const char *alpn;
	const char *proxy; /* "v1", "v2" */
	long long interval_ms;
};
/* Adds the check of a section whose servers have one. */
void haproxy_check(struct haproxy *h, struct proxy *p, const struct checking *c);

/* ---- conditions ---- */

enum term_kind {
	TERM_TRUE,
	TERM_FALSE,
	TERM_SRC,
	TERM_PORT,
	TERM_SNI,
	TERM_ANY_SNI,
	TERM_ALPN,
	TERM_TLS,
	TERM_HTTP,
	TERM_SSH,
	TERM_RDP,
	TERM_NONE_UP,
	TERM_RATE,
	TERM_OPEN,
	TERM_OTHER
};

struct term {
	enum term_kind kind;
	bool negated;
	bool file;	     /* the value names files of the target machine */
	const char *value;   /* in our words; TERM_OTHER: why it cannot be converted */
	const char *differs; /* not NULL: how it is not quite the same */
	unsigned number;
	const char *name;     /* TERM_NONE_UP, TERM_RATE: of the backend or table; "" = this one */
	struct old_line *acl; /* where it was named, NULL = in the rule itself */
};

/* Alternatives of terms that must all hold. */
struct condition {
	struct term **all[64]; /* each an array of counts[] terms */
	size_t counts[64];
	size_t count;
	const char *error;
};

/* Reads what follows "if" or "unless" in a line; `words` without that word. */
void haproxy_terms(struct haproxy *h, struct proxy *p, const char *const *words, size_t count, bool unless,
		   struct condition *c);
/* The first term that cannot be converted, or NULL. */
const struct term *condition_other(const struct condition *c);
/* Marks the acl lines that a condition uses. */
void condition_carried(struct haproxy *h, const struct condition *c);

#endif
