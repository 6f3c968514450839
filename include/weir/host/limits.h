/* SPDX-License-Identifier: MIT
 *
 * limits.h - how many connections and pipes this process may have: facts and calculation.
 *
 * limits_plan() is a pure calculation, so a table can test it; limits_read() asks the kernel. Neither refuses
 * to start anything: that is up to the daemon. Main thread.
 */
#ifndef WEIR_HOST_LIMITS_H
#define WEIR_HOST_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "weir/engine/engine.h"
#include "weir/host/cgroup.h"

/* Descriptors not used by sessions: standard streams, the control loop, 16 admin clients. */
#define LIMITS_RESERVED_FDS 32u
/* Of the name resolver: its own set, and a UDP and a TCP socket to each of its servers. */
#define LIMITS_FDS_NAMES (1u + 2u * CONFIG_RESOLVERS_MAX)
/* The same for names that clients choose, which are looked up apart; and the socket of rtnetlink. */
#define LIMITS_FDS_EGRESS (1u + 2u * CONFIG_RESOLVERS_MAX)
/* Per log target: its file or socket, and its thread's eventfd. */
#define LIMITS_FDS_PER_LOG 2u
/* Per worker: its epoll set, its ring if it has one, its mailbox and its alarm. */
#define LIMITS_FDS_PER_WORKER 4u
/* The HTTP endpoint, besides its clients: its socket, the epoll set of its server and that again with a low
 * number, and the server's eventfd. */
#define LIMITS_FDS_WEB 4u
/* An automatic maxconn stops growing at this many descriptors (HAProxy's DEFAULT_MAXFD): containers often
 * allow a billion. */
#define LIMITS_AUTO_FDS_MAX 1048576u

/* The cost of a session without traffic: its two sockets in the kernel, and our own memory. */
#define LIMITS_SESSION_BYTES UINT64_C(8192)
/* Memory of the process before its first session: text, log rings, minimum buffers; and per worker. */
#define LIMITS_BASE_BYTES   (UINT64_C(32) << 20)
#define LIMITS_WORKER_BYTES (UINT64_C(1) << 20)

/* What this process may use. Read after privileges are dropped. */
struct limits_facts {
	uint64_t fds;             /* RLIMIT_NOFILE */
	bool pipes_privileged;    /* exempt from the kernel's pipe limits */
	uint64_t pipe_user_pages; /* the smaller of fs.pipe-user-pages-soft and -hard; 0 = no limit */
	uint64_t pipe_max_bytes;  /* fs.pipe-max-size */
	uint64_t page_bytes;
	uint64_t memory_bytes; /* of the machine, or RLIMIT_AS if less; 0 = unknown */
	uint64_t group_bytes;  /* the smallest limit of our control groups; 0 = none */
	char group_file[CGROUP_PATH_MAX + 32]; /* the file that sets it, with its folder */
};

/* What the operator asks for. */
struct limits_wish {
	unsigned maxconn;    /* 0 = auto */
	int maxpipes;        /* -1 = auto */
	uint32_t pipe_bytes; /* a power of two, at least 64 KiB */
	bool splice;
	unsigned endpoints;
	unsigned locks; /* lock files of Unix paths */
	unsigned workers;
	unsigned probes; /* servers with health checks, and with agents: one connection each at a time */
	unsigned execs;  /* descriptors for programs of health checks */
	unsigned logs;   /* targets of the log */
	unsigned web;    /* descriptors of the HTTP endpoint with its clients; 0 = it is closed */
	unsigned names;  /* descriptors of the name resolver; 0 = no server has a name */
	unsigned held;   /* clients held until another of the same source ends; they have no reservation */
	const struct config_bind *range; /* borrows; the longest range of ports among them; NULL = none */
};

struct limits_plan {
	struct engine_limits engine;
	unsigned maxconn_fitting; /* if the wish does not fit: a maxconn that does; 0 = none */
	const char *pipes_why;    /* static: what decided maxpipes */
	uint64_t conns_most;      /* upper bound of an automatic maxconn, from the control group's memory */
};

/* One worker per CPU that this process may use, unless a number or a list is configured. */
unsigned limits_count_workers(const struct config_global *g);
/* What the configuration asks for. */
struct limits_wish limits_wish_of(const struct config *c, unsigned endpoints, unsigned workers);
/* Servers with health checks. */
unsigned limits_count_probes(const struct config *c);
/* Those of admin clients. */
unsigned limits_count_admin(void);
/* That of the HTTP endpoint which needs a low number (low_fds.h), besides its listening socket. */
unsigned limits_count_web(const struct config *c);
/* That of DNS: its sockets are in a set of their own. */
unsigned limits_count_names(const struct config *c);
/* Descriptors of control at run time, each of which needs a low number (low_fds.h). */
unsigned limits_count_low(const struct config *c);
/* Maximum clients held at the same time: 0 without maxconn-per-source. */
unsigned limits_count_held(const struct config *c, unsigned workers);
/* Raises the soft RLIMIT_NOFILE to the hard one. 0 or -errno. */
int limits_raise_fds(void);
/* RLIMIT_NOFILE as it was before. */
struct rlimit limits_first_fds(void);
/* Raises RLIMIT_MEMLOCK as far as this process may: many kernels count the pages of rings there, for all
 * processes of a user together. Call before privileges are dropped. Failure shows up when rings are
 * created. */
void limits_raise_locked(void);
void limits_read(struct limits_facts *facts);
/* 0, or -EMFILE if the wish does not fit; then see `plan->maxconn_fitting`. */
int limits_plan(const struct limits_facts *facts, const struct limits_wish *wish, struct limits_plan *plan);
/* Formats one log line, without its newline. Returns `buf`. */
const char *limits_describe(const struct limits_facts *facts, const struct limits_plan *plan, char *buf,
			    size_t room);


#endif
