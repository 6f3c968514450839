/* SPDX-License-Identifier: MIT
 *
 * config.h - the configuration as the daemon uses it: an immutable tree, the snapshot.
 *
 * Built by config_read(), never changed afterwards, freed by config_free(): every pointer below
 * points into the snapshot itself unless it says otherwise. Everything that changes while running
 * (a server's state, counters) is kept elsewhere. A member of a structure that copy.h copies
 * has a row in src/config/members.tbl.h, or is made by a row of options.tbl.h.
 */
#ifndef WEIR_CONFIG_CONFIG_H
#define WEIR_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "weir/base/log.h"
#include "weir/config/balancing.h"
#include "weir/config/config_lists.h"
#include "weir/config/sniff.h"
#include "weir/config/source_rate.h"
#include "weir/net/addr.h"
#include "weir/net/host_set.h"
#include "weir/net/netset.h"

struct tls_trust;

#define CONFIG_ADMIN_CLIENTS_MAX 16 /* maximum clients that the admin socket serves at a time */
#define CONFIG_STATS_CLIENTS_MAX 64 /* the same of the HTTP endpoint */
#define CONFIG_NAME_MAX 64
#define CONFIG_SET_NAME_MAX 52 /* of a set of servers, whose members have a number behind it */
#define CONFIG_CPUS_MAX 256

/* The rows of options.tbl.h define members of the structures below, and some of the enums. A row describes
 * the meaning of its value; options.h says for each type what 0 and -1 mean. */
#define CONFIG_MEMBER(type, member)   CONFIG_##type(member) member;
#define CONFIG_OPT_DURATION(member)   int64_t
#define CONFIG_OPT_MILLIS(member)     int
#define CONFIG_OPT_SECONDS(member)    int
#define CONFIG_OPT_SIZE(member)	      uint32_t
#define CONFIG_OPT_BYTES(member)      uint32_t
#define CONFIG_OPT_PACE(member)	      uint64_t
#define CONFIG_OPT_COUNT(member)      unsigned
#define CONFIG_OPT_INT(member)	      int
#define CONFIG_OPT_COUNT_AUTO(member) unsigned
#define CONFIG_OPT_INT_AUTO(member)   int
#define CONFIG_OPT_COUNT_OFF(member)  unsigned
#define CONFIG_OPT_SAMPLE(member)     unsigned
#define CONFIG_OPT_PORT(member)	      uint16_t
#define CONFIG_OPT_MARK(member)	      uint32_t
#define CONFIG_OPT_DSCP(member)	      int
#define CONFIG_OPT_SWITCH(member)     bool
#define CONFIG_OPT_FLAG(member)	      bool
#define CONFIG_OPT_CHOICE(member)     enum config_##member
#define CONFIG_OPT_TEXT(member)	      char *
#define CONFIG_OPT_USER_NAME(member)  char *
#define CONFIG_OPT_GROUP_NAME(member) char *
#define CONFIG_OPT_BYTES_TEXT(member) char *
#define CONFIG_OPT_AGENT(member)      struct config_agent
#define CONFIG_OPT_IP(member)	      struct addr

/* Where the agent of a server is. */
struct config_agent {
	uint16_t port;    /* 0 = none */
	struct addr addr; /* with that port; its length is 0 = the address of the server */
};

#define OPTION_CHOICE(member, ...) enum config_##member { __VA_ARGS__ };
#include "weir/config/option_members.tbl.h"

enum config_affinity { CONFIG_AFFINITY_AUTO, CONFIG_AFFINITY_OFF, CONFIG_AFFINITY_LIST };
enum config_log_kind {
	CONFIG_LOG_AUTO,
	CONFIG_LOG_STDERR,
	CONFIG_LOG_FILE,
	CONFIG_LOG_SYSLOG,
	CONFIG_LOG_OFF
};
/* In the order of the words of the table. */
enum config_facility {
	CONFIG_FACILITY_DAEMON,
	CONFIG_FACILITY_USER,
	CONFIG_FACILITY_LOCAL0, /* local1 to local7 follow, and others */
};
/* What failed connects of clients mean for a server, likewise. */
enum config_observe { CONFIG_OBSERVE_OFF, CONFIG_OBSERVE_CONNECT };
enum config_on_error { CONFIG_ON_ERROR_FAIL_CHECK, CONFIG_ON_ERROR_MARK_DOWN };
/* What a line stands for: one server, or one for each address of a name. */
enum config_set { CONFIG_SET_NONE, CONFIG_SET_DNS, CONFIG_SET_SRV };
enum config_send_proxy { CONFIG_SEND_PROXY_OFF, CONFIG_SEND_PROXY_V1, CONFIG_SEND_PROXY_V2 };
enum config_admin_level {
#define ADMIN_LEVEL(name, word, may) CONFIG_ADMIN_##name,
#include "weir/config/admin_levels.tbl.h"
#undef ADMIN_LEVEL
};
/* AGENT is never written: server_check.h makes it. */
enum config_check_kind {
	CONFIG_CHECK_OFF,
	CONFIG_CHECK_TCP,
	CONFIG_CHECK_HTTP,
	CONFIG_CHECK_SEND,
	CONFIG_CHECK_AGENT,
	CONFIG_CHECK_REDIS,
	CONFIG_CHECK_PGSQL,
	CONFIG_CHECK_TLS,
	CONFIG_CHECK_MYSQL,
	CONFIG_CHECK_LDAP,
	CONFIG_CHECK_SMTP,
	CONFIG_CHECK_EXEC,
};
/* Whose certificates a check over TLS accepts; HELLO: none is looked at, a ServerHello is enough. */
enum config_check_verify {
	CONFIG_CHECK_VERIFY_HELLO,
	CONFIG_CHECK_VERIFY_SYSTEM,
	CONFIG_CHECK_VERIFY_NONE,
	CONFIG_CHECK_VERIFY_FILE,
};
/* What a checked server must be: "master" and "replica" of Redis, "primary" and "standby" of PostgreSQL. */
enum config_check_role { CONFIG_CHECK_ROLE_ANY, CONFIG_CHECK_ROLE_PRIMARY, CONFIG_CHECK_ROLE_STANDBY };
/* The PROXY header of a health check; AUTO: as for sessions, but none if the check goes to another port. */
enum config_check_proxy {
	CONFIG_CHECK_PROXY_AUTO,
	CONFIG_CHECK_PROXY_OFF,
	CONFIG_CHECK_PROXY_V1,
	CONFIG_CHECK_PROXY_V2,
};

/* Where a value was written; `file` is borrowed from the config, line 0 = built in. */
struct config_place {
	const char *file;
	unsigned line;
};

/* The lines of a section that gave its options their values; an option in no list has its default. */
struct config_origins {
	struct config_origin {
		size_t option; /* index into the rows of options.h */
		struct config_place place;
		bool idle; /* comes from [defaults] and has no effect in this section */
	} *list;
	size_t count;
};

struct config_log {
	enum config_log_kind kind;
	char *path;		       /* CONFIG_LOG_FILE */
	struct addr_spec address;      /* CONFIG_LOG_SYSLOG: ADDR_IP, ADDR_NAME or ADDR_UNIX */
	enum config_facility facility; /* CONFIG_LOG_SYSLOG */
	char *format; /* text, json, tcplog, or text with fields: log_format.h; NULL = text */
	int level; /* LOG_LEVEL_DEBUG .. of log.h */
	struct config_place place;
};

/* Permissions of a Unix socket; -1 = as the umask leaves them. */
struct config_socket_owner {
	int mode;
	uid_t uid; /* (uid_t)-1 = keep */
	gid_t gid; /* (gid_t)-1 = keep */
};

/* Users of the HTTP endpoint, from a file. */
struct config_auth {
	char *file; /* as written; NULL = none, and everyone may use it */
	struct config_user {
		char *name;
		char *hash; /* of the password: password.h */
	} *list;
	size_t count;
};

/* The HTTP endpoint: [stats]. */
struct config_stats {
	struct addr_spec addr; /* ADDR_NONE = none; or ADDR_IP, ADDR_ANY, ADDR_UNIX */
	struct config_socket_owner owner; /* Unix paths */
	struct netset *allow; /* who may use it over TCP; NULL = this machine; borrows from the snapshot */
	struct config_networks allow_list;
	bool per_server_histograms;
	struct config_auth auth;
	struct config_origins origins;
};

/* Users or groups, by number. */
struct config_ids {
	uint32_t *list;
	size_t count;
};

#define CONFIG_RESOLVERS_MAX 8

/* Name servers; none = those of the system. */
struct config_resolvers {
	struct addr list[CONFIG_RESOLVERS_MAX];
	size_t count;
};

struct config_global {
#define OPTION_GLOBAL CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	enum config_affinity affinity;
	unsigned cpus[CONFIG_CPUS_MAX]; /* CONFIG_AFFINITY_LIST */
	unsigned cpu_count;
	struct config_log *logs;
	size_t log_count;
	struct addr_spec admin; /* ADDR_NONE = no admin socket */
	struct config_socket_owner admin_owner;
	enum config_admin_level admin_level; /* for everyone but root and the daemon's own user, who are
					      * admin */
	struct config_ids admin_uids; /* other users allowed to use the socket; admin_access.h has the rule */
	struct config_ids admin_gids;
	struct config_stats stats;
	struct config_resolvers resolvers;
	enum config_on_removed on_removed; /* of sections that do not set it */
	struct config_origins origins;
};

/* What else ends a session, and socket options, common to both kinds of section; a time of 0 = off. */
struct config_timeouts {
#define OPTION_TIMEOUT CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
};

struct config_tcp {
	bool keepalive;
	int keepalive_idle_s;
#define OPTION_TCP CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
};

struct config_bind {
	char name[CONFIG_NAME_MAX];
	struct addr_spec addr; /* ADDR_IP, ADDR_ANY, ADDR_UNIX or ADDR_FD */
	/* Of a range of ports, which has a bind for each, one after another: bind_range.h. 0 = none. */
	uint16_t first_port;
	uint16_t last_port;
#define OPTION_BIND CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	struct config_socket_owner owner; /* Unix paths */
	struct config_place place;
};

/* Local addresses of connections to a server. */
struct config_sources {
	struct addr *list; /* when the ports of one run out, the next is tried; none = the kernel chooses */
	size_t count;
	bool client; /* use the client's own address instead (IP_TRANSPARENT) */
};

/* A line `server`; or a line `servers`, which is not a server itself: its words hold for each member. */
struct config_server {
	char name[CONFIG_NAME_MAX];
	struct addr_spec addr; /* ADDR_IP, ADDR_NAME or ADDR_UNIX; of a set ADDR_NAME, and without a port for
				* SRV */
	enum config_set set;
	struct config_sources source;
#define OPTION_SERVER CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	bool proxy_crc32c;    /* send-proxy=v2: with a checksum */
	bool proxy_unique_id; /* send-proxy=v2: with a unique id */
	bool proxy_pass;      /* send-proxy=v2: with the TLVs of a trusted client's header */
	bool check;           /* set by the backend's `check`, may be turned off per server */
	struct config_place place;
};

/* One step of `check = send ... expect=...`. */
struct config_check_step {
	bool expect;    /* expect `bytes`; otherwise send them */
	bool negate;    /* `bytes` must not arrive */
	uint8_t *bytes;
	size_t len;
};

/* The first and last status that an HTTP check accepts. */
struct config_status_range {
	uint16_t first;
	uint16_t last;
};

/* The PATH of a program that checks. */
#define CONFIG_EXEC_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct config_check {
	enum config_check_kind kind;
	uint16_t port; /* 0 = the server's port */
	enum config_check_proxy proxy; /* PROXY header sent first */
	char *method; /* CONFIG_CHECK_HTTP: "GET"; CONFIG_CHECK_SMTP: "EHLO", NULL = "HELO" */
	char *path;
	char *host; /* NULL = the server's name or address */
	struct config_status_range *statuses; /* none and no `body`: 200-399 */
	size_t status_count;
	unsigned soft_stop; /* the status of a server that asks to be drained; 0 = none */
	char *body; /* must occur in the answer; NULL = any */
	struct config_check_step *steps; /* CONFIG_CHECK_SEND */
	size_t step_count;
	enum config_check_role role; /* CONFIG_CHECK_REDIS, CONFIG_CHECK_PGSQL */
	char *user;     /* CONFIG_CHECK_PGSQL; CONFIG_CHECK_MYSQL: NULL = any */
	char *database; /* NULL = "postgres", which every server has */
	bool tls;       /* through TLS, by OpenSSL: `check = https`, and CONFIG_CHECK_TLS that verifies */
	char *sni;      /* NULL = `host`, else the server's name */
	char *alpn;     /* CONFIG_CHECK_TLS: protocols to offer, "h2,http/1.1"; NULL = none */
	enum config_check_verify verify;
	char *ca_file;           /* CONFIG_CHECK_VERIFY_FILE */
	struct tls_trust *trust; /* shared: one reference; SYSTEM and FILE */
	char *hello;    /* CONFIG_CHECK_SMTP: our name; NULL = "localhost" */
	char *program;  /* CONFIG_CHECK_EXEC: absolute */
	struct config_text_item *args; /* what it gets behind HAProxy's four */
	size_t arg_count;
	char *exec_path; /* its PATH; NULL = CONFIG_EXEC_PATH */
#define OPTION_CHECK CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
};

/* What connects of clients say about a server. */
struct config_observing {
	enum config_observe what;
	unsigned limit; /* failed connects in a row; 0 = see config_server_observe_limit() */
	enum config_on_error on_error; /* of a server with health checks */
	int64_t down_ns; /* how long one without them is left out */
};

/* Fallbacks behind a backend, one after the other. */
#define CONFIG_FALLBACK_MAX 8u

struct config_backend {
	char name[CONFIG_NAME_MAX];
	struct config_balancing balance;
	struct config_server *servers;
	size_t server_count;
	size_t fallback; /* index into config.backends of the one that `fallback_backend` names, if it does */
#define OPTION_BACK CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	struct config_check check;
	struct config_observing observe;
	struct config_sticky sticky;
	struct config_timeouts timeouts; /* those of this side, others are 0 */
	struct config_tcp tcp;           /* of the server side */
	struct config_names allow_sni;   /* with a server sni@: the names that clients may ask for */
	struct host_set *sni_hosts;      /* NULL = `allow_sni` lists none; borrows, like the next */
	struct netset *allow_to;         /* networks added to the Internet; NULL = none */
	struct config_networks allow_to_list;
	struct config_place place;
	struct config_origins origins;
};

/* A range of ports, both ends included. */
struct config_ports {
	uint16_t first;
	uint16_t last;
};

/* One `use-backend`: the first route whose conditions are all met is used. */
struct config_route {
	size_t backend; /* index into config.backends */
	struct netset *src; /* NULL = any client; borrows from the snapshot */
	struct config_networks src_list;
	struct config_ports *ports; /* of the address that the client connected to; none = any */
	size_t port_count;
	struct config_names sni;
	struct host_set *hosts; /* NULL = `sni` lists none; borrows from the snapshot */
	struct config_text_item *alpn; /* protocols that the client offers; none = any */
	size_t alpn_count;
	unsigned protos; /* of enum config_proto; 0 = any, a silent client too */
	struct config_place place;
};

static inline bool config_route_has_sni(const struct config_route *r)
{
	return r->sni.any || r->sni.none || config_lists_names(&r->sni);
}

/* Do clients choose the server of this backend by name (sni@)? It is the only one then. For a backend of a
 * snapshot: the settings in effect have no servers. */
static inline bool config_backend_takes_names(const struct config_backend *b)
{
	return b->server_count > 0 && b->servers[0].addr.kind == ADDR_SNI;
}

struct config_frontend {
	char name[CONFIG_NAME_MAX];
	struct config_bind *binds;
	size_t bind_count;
#define OPTION_FRONT CONFIG_MEMBER
#include "weir/config/option_members.tbl.h"
	struct netset *allow;   /* NULL = all are allowed; borrows from the snapshot, like the next two */
	struct netset *deny;    /* NULL = nobody is denied; takes precedence over `allow` */
	struct netset *trusted; /* allowed to send a PROXY header; NULL = all */
	struct netset *exempt;  /* sources without the limits per source; NULL = none; borrows too */
	struct config_networks allow_list;
	struct config_networks deny_list;
	struct config_networks trusted_list;
	struct config_networks exempt_list;
	uid_t *allow_uids;      /* for Unix listeners; none = all */
	size_t allow_uid_count;
	struct config_source_rate source_rate;
	struct config_sniff sniff;
	struct config_route *routes;
	size_t route_count;
	size_t backend; /* index into config.backends: used when no route matches */
	bool routes_only; /* no default-backend: `backend` is that of the first route, and a client that no
			   * route matches is closed */
	bool listen;      /* written as one [listen] with that backend */
	struct config_timeouts timeouts; /* those of this side, others are 0 */
	struct config_tcp tcp;           /* of the client side */
	struct config_place place;
	struct config_origins origins;
};

struct arena_block;

struct config {
	struct arena_block *memory; /* owns everything here */
	struct config_global global;
	struct config_frontend *frontends; /* a [listen] is one frontend and one backend */
	size_t frontend_count;
	struct config_backend *backends;
	size_t backend_count;
	char *name;   /* short name of the input: the path, or "a.ini and 2 more" */
	char **files; /* every file that was read; the first is the main one */
	size_t file_count;
	char **overrides; /* the -o arguments: a place in "-o" is one of them, from line 1 */
	size_t override_count;
	struct config_origins defaults; /* of [defaults], for options that a section does not set */
	unsigned include_count;
	unsigned warnings;
};

void config_free(struct config *c);
/* "weir.ini: ok (3 frontends, 4 backends, 9 servers, 1 include, 0 warnings)". */
void config_print_summary(const struct config *c, FILE *out);
/* A line for each pair of wildcards with a family each, as 0.0.0.0:80 and [::]:80; `prefix` comes first. */
void config_print_families(const struct config *c, const char *prefix, FILE *out);
/* The effective configuration as a file that reads back to the same snapshot. */
void config_print(const struct config *c, FILE *out);
/* The same with the origin of each line after it, as a comment (-T). */
void config_print_origins(const struct config *c, FILE *out);

#endif
