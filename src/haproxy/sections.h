/* SPDX-License-Identifier: MIT
 *
 * sections.h - HAProxy's sections while they are converted. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_SECTIONS_H
#define WEIR_SRC_HAPROXY_SECTIONS_H

#include <limits.h>

#include "weir/draft/index.h"
#include "weir/haproxy/haproxy.h"

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
	SLOT_LOG_FORMAT,
	SLOT_TCPKA,
	SLOT_CLITCPKA,
	SLOT_SRVTCPKA,
	SLOT_CLITCPKA_IDLE,
	SLOT_CLITCPKA_INTVL,
	SLOT_CLITCPKA_CNT,
	SLOT_SRVTCPKA_IDLE,
	SLOT_SRVTCPKA_INTVL,
	SLOT_SRVTCPKA_CNT,
	SLOT_ALLBACKUPS,
	SLOT_CHECK,
	SLOT_SOURCE,
	SLOT_BACKEND,
	SLOT_COMMAND,
	SLOT_COMMAND_PATH,
	SLOT_TABLE,
	SLOT_STICK, /* one of LIST_STICK: that of haproxy_sticking() */
	SLOT_MATCH,
	SLOT_INSPECT,
	SLOT_PERSIST_RDP,
	SLOT_PERSIST,
	SLOT_SPLICE,
	SLOT_DISABLED,
	SLOTS
};

/* How it differs that weir reads no file with the state of servers. */
#define HAPROXY_STATE_FILE "a reload of weir keeps the state of servers, without a file; a restart does not"

/* Lines of each list of a defaults section that others get: a copy for each. */
#define HANDED_DOWN_MAX 64

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
	LIST_USE,   /* use-server */
	LIST_STICK,
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
	struct proxy *same_name; /* the one before it */
	const struct proxy *front; /* the last of its name before it that takes clients, and is converted */
	unsigned number;	   /* of a frontend, among those of its name; 0 = the first */
	struct old_lines all;
	struct slot_value slots[SLOTS];
	struct old_lines lists[LISTS];
	struct index acls; /* the terms of each name that a rule names */
	struct index own;  /* struct own_server by name */
	struct index server_names; /* that are taken: the last number behind each, an unsigned */
	struct ini_section *out;  /* NULL = it does not become one */
	struct ini_section *back; /* of a listen with use-server lines: what its servers may need; or NULL */
	const char *why_not;	 /* then: "mode http" */
	bool is_page;		 /* HAProxy's statistics page */
	const struct proxy *counts; /* whose track-sc line fills its stick table; NULL = nobody's */
	bool shares;		 /* those of several sections do */
	const struct proxy *keeps; /* whose clients its stick table keeps; NULL = nobody's */
	bool keeps_several;	   /* those of several sections */
	bool tls_required;	 /* and refuse everything else */
	enum { JUDGED_UNKNOWN, JUDGED_NOWHERE, JUDGED_IN_FRONT } judged; /* where its rules are judged */
	bool moves_known;	 /* the next two, for haproxy_moves() */
	bool moves, moves_port;
	bool is_used;		 /* a defaults section from which something was taken */
	bool has_steps[2];	 /* of its own: tcp-check, http-check */
	struct old_line *no_log; /* or NULL */
};

struct haproxy {
	struct work *work;
	struct arena *arena;
	struct ini *ini;
	struct proxy **proxies;
	size_t count;
	struct work_list secrets; /* passwords of checks, one variable each */
	const char *log_format; /* of all logs; NULL = none */
	bool tcplog;
	bool exec;
	struct old_lines tcp_sockets; /* stats socket lines */
	struct index names; /* the last section of each name */
	struct index leaders; /* that name each backend */
	bool counting_known;	/* `counts` of all sections */
	bool keeping_known;	/* `keeps` likewise */
	struct index new_names; /* of the sections that are added */
	const char *chroot;	/* NULL = none */
	const char *closed;	/* a backend that closes; NULL = none was needed */
	unsigned stand_ins;	/* addresses of bind lines that are judged in place of variables */
	struct index name_files; /* that acls compare with: struct name_file by path */
	size_t names_taken;	 /* from them */
	size_t own_names; /* backends that were looked at for the names of clients */
	size_t use_routes, use_pairs; /* how many of them there are, and were compared */
	struct proxy *defaults; /* the last */
	struct index network_files; /* of -f: why weir refuses them, "" = it does not */
	struct index asked;	/* the names of resolvers that converted servers ask */
	struct old_lines asks_system;  /* servers with a name, and no resolvers */
	const struct proxy *resolvers; /* whose name servers are ours; NULL = nobody's */
};

#define IS_FRONT(p) ((p)->kind == PROXY_FRONTEND || (p)->kind == PROXY_LISTEN)
#define IS_BACK(p)  ((p)->kind == PROXY_BACKEND || (p)->kind == PROXY_LISTEN)

/* The argument number `i` of what a slot says, "" if there is none. */
const char *slot_word(const struct proxy *p, enum slot slot, size_t i);
/* Was it said, and not with "no"? */
bool slot_on(const struct proxy *p, enum slot slot);
/* The duration in milliseconds of what a slot says; 0 if it says nothing. */
long long slot_ms(struct haproxy *h, const struct proxy *p, enum slot slot);
/* The same in our words; a variable stays one. */
const char *slot_duration(struct haproxy *h, const struct proxy *p, enum slot slot);
/* Adds a line that comes from a slot. */
void slot_add(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *value);
/* The proxy of one of these kinds (bits of 1 << enum proxy_kind) with this name, or NULL. */
struct proxy *haproxy_find(const struct haproxy *h, unsigned kinds, const char *name);
/* "ADDRESS:PORT" in our words, from one of HAProxy's. For a bind, without a host it is IPv4. */
const char *haproxy_address(struct arena *a, const char *text, bool is_bind);
/* The same for an address to listen at. The line says so if it is not quite the same. */
const char *haproxy_bind_address(struct haproxy *h, struct old_line *line, const char *address);
/* What a bind line with variables is judged by: another address for `ours`, and the options without any. */
void haproxy_bind_stand_in(struct haproxy *h, struct ini_line *out, const char *ours, const char *options);
/* Converts a word that may be a duration; NULL if it is none. */
const char *haproxy_duration(struct arena *a, const char *text);
/* Says of a line with a duration in a variable how that differs. */
void haproxy_say_duration(struct haproxy *h, struct old_line *line, const char *text);

/* A name of HAProxy's in our words: a colon would end the key. */
const char *haproxy_name(struct arena *a, const char *name);
/* Why a section without `out` does not become one that clients can be sent to. */
const char *haproxy_why_not(const struct proxy *p);
/* The name of the section that `p` becomes. */
const char *haproxy_section_name(struct haproxy *h, struct proxy *p);
/* The same for a server, and different from those that the section has. */
const char *haproxy_server_name(struct haproxy *h, struct proxy *p, struct old_line *line, const char *name);

/* A name for a section that is added: `wish`, with a number if it is taken. */
const char *haproxy_new_name(struct haproxy *h, const char *wish);
/* The name of a backend whose clients are closed. */
const char *haproxy_closed(struct haproxy *h);

/* Does a row of the table handle this line? */
bool haproxy_knows(const struct old_line *line);
/* Sorts a line into its section. */
void haproxy_take(struct haproxy *h, struct proxy *p, struct old_line *line);

/* Finds out which sections send clients to which, once all are read. */
void haproxy_find_leaders(struct haproxy *h);
/* A section whose clients may get to `to`, first of all `to` itself if it is a listen; NULL after the last.
 * Some come twice. */
struct proxy *haproxy_leader(const struct haproxy *h, struct proxy *to, size_t i);
/* A line that led from one to the other is gone; perhaps others do. */
void haproxy_leads_no_more(struct haproxy *h, const struct proxy *from, const char *name);
/* Do all servers of the section speak TLS? */
bool haproxy_only_tls_servers(const struct proxy *p);
/* Decides which sections become ours. */
void haproxy_decide(struct haproxy *h);
void haproxy_global(struct haproxy *h, struct proxy *global);
void haproxy_log(struct haproxy *h);
/* Adds the section for `tcp_sockets`, once all others are there. */
void haproxy_admin_listen(struct haproxy *h);
void haproxy_page(struct haproxy *h, struct proxy *p);
void haproxy_resolvers(struct haproxy *h, struct proxy *p);
/* Remembers which resolvers a server asks for its name; NULL = it names none. `asked` has the addresses that
 * the section's servers before it ask for. */
void haproxy_asks(struct haproxy *h, struct index *asked, struct old_line *line, const char *address,
		  const char *resolvers);
/* The same of the rules of a section. */
void haproxy_asks_by_rule(struct haproxy *h, const struct proxy *p);
/* Once all resolvers are converted: reports the servers that name none. */
void haproxy_say_who_asks_system(struct haproxy *h);
void haproxy_binds(struct haproxy *h, struct proxy *p);
void haproxy_servers(struct haproxy *h, struct proxy *p);
/* Takes out the use_backend lines without which others do the same. */
void haproxy_needless(struct haproxy *h, struct proxy *p);
void haproxy_routes(struct haproxy *h, struct proxy *p);
/* Makes the sections that use-server lines may need, right behind that of `p`. */
void haproxy_use_server_sections(struct haproxy *h, struct proxy *p);
/* Fills them, once all others are there. */
void haproxy_use_servers(struct haproxy *h);
void haproxy_rules(struct haproxy *h, struct proxy *p);
/* Does a rule of the section, or of one that leads to it, say to which address, or port, HAProxy connects? */
bool haproxy_moves(const struct haproxy *h, struct proxy *p, bool port);
/* What "var(NAME)" stands for: the sample that a rule of the section always puts there. NULL: another one. */
const char *haproxy_sample_of(struct haproxy *h, const struct proxy *p, const char *criterion);
/* use_backend with the name that a client of TLS asks for: a map has the backend of that name, or the backend
 * has it itself. `*tls`: such clients are looked for; `*always`: it takes every client. False: the backend is
 * computed in another way. */
bool haproxy_named_backend(struct haproxy *h, struct proxy *p, struct old_line *line, bool *tls,
			   bool *always);
void haproxy_sticking(struct haproxy *h, struct proxy *p);
/* The section with the stick table of this name; for "PEERS/TABLE", what stands for it. NULL: none has. */
struct proxy *haproxy_table(const struct haproxy *h, const char *name);
/* A stick-table line whose clients weir keeps or counts. */
void haproxy_take_table(struct haproxy *h, struct old_line *table);
/* The name of a backend that a frontend sends clients to; NULL after the last. */
const char *haproxy_target(const struct proxy *p, size_t i);
/* Adds what makes the kernel send keepalive probes. */
void haproxy_keepalive(struct haproxy *h, struct proxy *p);
/* Adds the timeouts of a section. */
void haproxy_times(struct haproxy *h, struct proxy *p);
/* Adds timeout-half-closed to a frontend. */
void haproxy_fin(struct haproxy *h, struct proxy *p);

#define HAPROXY_FOREVER LLONG_MAX

/* A time, and the section that says it. */
struct haproxy_limit {
	struct proxy *p;
	enum slot slot;
};
/* In milliseconds; HAPROXY_FOREVER if there is no limit. */
long long haproxy_time_of(struct haproxy *h, const struct proxy *p, enum slot slot);
/* How long the client's side of a frontend may be idle. */
struct haproxy_limit haproxy_client_idle(struct haproxy *h, struct proxy *front);
/* Calls a function for the converted sections whose servers a frontend's clients may get to, once or more
 * often. */
void haproxy_each_back(struct haproxy *h, struct proxy *front, void (*take)(void *data, struct proxy *back),
		       void *data);

/* Sorts the servers of `balance first`. */
void haproxy_order(struct haproxy *h, struct proxy *p);
/* Once all lines are converted. */
void haproxy_notes(struct haproxy *h);

/* What servers say about checks, for haproxy_check(). */
struct checking {
	struct old_line *line; /* a server line with `check` */
	const char *tls;       /* not NULL: over TLS */
	const char *verify;
	const char *sni;
	const char *alpn;
	const char *proxy;   /* "v1", "v2" */
	const char *version; /* of the PROXY headers of sessions; NULL = they have none */
	long long interval_ms;
	bool over_tls; /* what haproxy_check() finds out */
	bool has_port; /* the check names its own */
};
/* Adds the check of a section whose servers have one. */
void haproxy_check(struct haproxy *h, struct proxy *p, struct checking *c);

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
	TERM_DATA, /* it has sent something */
	TERM_RDP,
	TERM_NONE_UP,
	TERM_RATE,
	TERM_OPEN,
	TERM_OTHER
};

/* How a rule differs that HAProxy applies at the end of inspect-delay. */
#define HAPROXY_AT_ONCE "at once: HAProxy waits for the end of inspect-delay first"

struct term {
	enum term_kind kind;
	bool negated;
	bool file;	     /* the value names files of the target machine */
	const char *value;   /* in our words; TERM_OTHER: why it cannot be converted */
	const char *differs; /* not NULL: how it is not quite the same */
	unsigned number;
	const char *name;     /* TERM_NONE_UP, TERM_RATE: of the backend or table; "" = this one */
	const char *stored;   /* TERM_RATE, TERM_OPEN: what a stick-table has to store for it */
	char counter;	      /* TERM_RATE, TERM_OPEN: of track-sc0 '0'; '\0' = of the client's address */
	struct old_line *acl; /* where it was named, NULL = in the rule itself */
	struct term *same;    /* another one, whose acl line added to the value */
};

/* Puts names in the place of regular expressions, and how they differ into `t`; their number. 0 after saying
 * in `t` that weir has none, or that it never holds. */
size_t haproxy_names_of_patterns(struct arena *a, const char **values, size_t count, struct term *t);

/* Alternatives of terms that must all hold. */
struct condition {
	struct term **all[64]; /* each an array of counts[] terms */
	size_t counts[64];
	size_t count;
	const char *error;
};

/* Does a comparison of req.ssl_ver take what today's clients send? */
bool haproxy_is_any_version(const char *op, const char *const *values, size_t count);
/* Does a comparison of req.len ask whether there is anything, or whether there is nothing? */
bool haproxy_is_any_length(const char *op, const char *const *values, size_t count, bool *nothing);
/* Reads what follows "if" or "unless" in a line; `words` without that word. */
void haproxy_terms(struct haproxy *h, struct proxy *p, const char *const *words, size_t count, bool unless,
		   struct condition *c);
/* The first term that cannot be converted, or NULL. */
const struct term *condition_other(const struct condition *c);
/* Is there something in every alternative that never holds? */
bool condition_never_holds(const struct condition *c);
/* Does it hold for everyone who has sent a name? */
bool condition_has_name(const struct condition *c);
/* Marks the acl lines that a condition uses. */
void condition_carried(struct haproxy *h, const struct condition *c);

#endif
