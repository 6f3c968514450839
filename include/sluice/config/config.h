/* SPDX-License-Identifier: MIT
 *
 * config.h - the configuration as the daemon uses it: one immutable tree, a snapshot.
 *
 * Built by config_load(), never changed afterwards, freed by config_free(): every pointer below
 * points into the snapshot itself unless it says otherwise. Everything that changes while running
 * (a server's state, counters) lives elsewhere. Floor 2.
 */
#ifndef SLUICE_CONFIG_CONFIG_H
#define SLUICE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "sluice/base/log.h"
#include "sluice/io/addr.h"

#define CONFIG_NAME_MAX 64
#define CONFIG_CPUS_MAX 256

enum config_splice { CONFIG_SPLICE_AUTO, CONFIG_SPLICE_ON, CONFIG_SPLICE_OFF };
enum config_driver { CONFIG_DRIVER_AUTO, CONFIG_DRIVER_EPOLL, CONFIG_DRIVER_IO_URING };
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
	CONFIG_FACILITY_LOCAL0, /* local1 to local7 follow */
};
enum config_balance { CONFIG_BALANCE_ROUNDROBIN };

/* Where a value was written; `file` is borrowed from the config, line 0 = built in. */
struct config_place {
	const char *file;
	unsigned line;
};

/* Which lines of a section gave its options their values; what is in no list has its default. */
struct config_origins {
	struct config_origin {
		size_t option; /* index into the rows of options.h */
		struct config_place place;
	} *list;
	size_t count;
};

struct config_log {
	enum config_log_kind kind;
	char *path;		       /* CONFIG_LOG_FILE */
	struct addr_spec address;      /* CONFIG_LOG_SYSLOG: ADDR_IP or ADDR_UNIX */
	enum config_facility facility; /* CONFIG_LOG_SYSLOG */
	enum log_style format;
	int level; /* LOG_LEVEL_DEBUG .. of log.h */
	struct config_place place;
};

/* Permissions of a Unix socket; -1 = leave as the umask makes it. */
struct config_socket_owner {
	int mode;
	uid_t uid; /* (uid_t)-1 = keep */
	gid_t gid; /* (gid_t)-1 = keep */
};

struct config_global {
	unsigned threads;  /* 0 = auto: one for each CPU that we may use */
	enum config_affinity affinity;
	unsigned cpus[CONFIG_CPUS_MAX]; /* CONFIG_AFFINITY_LIST */
	unsigned cpu_count;
	enum config_driver driver;
	unsigned maxconn;  /* 0 = auto */
	int maxpipes;      /* -1 = auto */
	uint32_t pipe_size; /* bytes, a power of two >= 64 KiB */
	enum config_splice splice;
	char *user;  /* NULL = stay */
	char *group;
	struct config_log *logs;
	size_t log_count;
	struct addr_spec admin; /* ADDR_NONE = no admin socket */
	struct config_socket_owner admin_owner;
	int64_t hard_stop_after_ns; /* 0 = never */
	int64_t pipe_cycle_ns;
	struct config_origins origins;
};

/* Timeouts and socket options that both kinds of section have; 0 = off. */
struct config_timeouts {
	int64_t connect_ns;
	int64_t client_ns;
	int64_t server_ns;
	int64_t half_closed_ns;
	int64_t max_lifetime_ns;
};

struct config_tcp {
	bool nodelay;
	bool keepalive;
	int keepalive_idle_s;
	int keepalive_interval_s;
	int keepalive_count;
	int user_timeout_ms; /* 0 = the kernel's */
};

struct config_bind {
	char name[CONFIG_NAME_MAX];
	struct addr_spec addr; /* ADDR_IP, ADDR_ANY, ADDR_UNIX or ADDR_FD */
	int backlog;           /* 0 = the default, 4096 */
	bool v6only;
	bool defer_accept;
	struct config_socket_owner owner; /* Unix paths */
	struct config_place place;
};

struct config_server {
	char name[CONFIG_NAME_MAX];
	struct addr_spec addr; /* ADDR_IP, ADDR_NAME or ADDR_UNIX */
	struct addr source;    /* len 0 = the kernel chooses */
	unsigned weight;       /* 0..256 */
	struct config_place place;
};

struct config_backend {
	char name[CONFIG_NAME_MAX];
	enum config_balance balance;
	struct config_server *servers;
	size_t server_count;
	unsigned retries;
	bool redispatch;
	int64_t resolve_interval_ns;
	struct config_timeouts timeouts; /* connect, server, half_closed are used */
	struct config_tcp tcp;           /* of the server side */
	struct config_place place;
	struct config_origins origins;
};

struct config_frontend {
	char name[CONFIG_NAME_MAX];
	struct config_bind *binds;
	size_t bind_count;
	unsigned maxconn; /* 0 = the process's */
	size_t backend;   /* index into config.backends */
	bool listen;      /* written as one [listen] together with that backend */
	struct config_timeouts timeouts; /* client, half_closed, max_lifetime are used */
	struct config_tcp tcp;           /* of the client side */
	struct config_place place;
	struct config_origins origins;
};

struct arena_block;

struct config {
	struct arena_block *memory; /* owns: all of this */
	struct config_global global;
	struct config_frontend *frontends; /* a [listen] is one frontend and one backend */
	size_t frontend_count;
	struct config_backend *backends;
	size_t backend_count;
	char *name;   /* what was asked for, in a few words: the path, or "a.ini and 2 more" */
	char **files; /* every file that was read, the first is the main one */
	size_t file_count;
	char **overrides; /* the -o arguments: a place in "-o" is one of them, from line 1 */
	size_t override_count;
	struct config_origins defaults; /* of [defaults], for the options that a section does not give */
	unsigned include_count;
	unsigned warnings;
};

/* How messages look. */
enum config_style {
	CONFIG_PLAIN,
	CONFIG_COLOUR, /* for a terminal */
	CONFIG_JSON,   /* one object for all: sluice(8), --format=json */
};

/* Where configuration comes from. */
struct config_input {
	const char *const *paths; /* files, or directories = their *.ini sorted bytewise */
	size_t path_count;
	const char *const *overrides; /* "SECTION.KEY=VALUE" of -o, later wins */
	size_t override_count;
	const char *text; /* instead of paths: a whole file in memory, as `forward` makes it */
	const char *text_name;
};

/* Reads, checks and builds. NULL when anything is wrong, also without memory; in both cases every
 * message (errors, warnings, the closing count) has been written to `diag` in the format of
 * sluice(8). Opens nothing but the files named. Main thread. */
struct config *config_load(const struct config_input *input, FILE *diag, enum config_style style);
void config_free(struct config *c);

/* "sluice.ini: ok (3 frontends, 4 backends, 9 servers, 1 include, 0 warnings)". */
void config_print_summary(const struct config *c, FILE *out);
/* The effective configuration as a file that reads back to the same snapshot. */
void config_print(const struct config *c, FILE *out);
/* The same with the origin of each line behind it, as a comment (-T). */
void config_print_origins(const struct config *c, FILE *out);

#endif
