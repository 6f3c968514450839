/* SPDX-License-Identifier: MIT
 *
 * limits.h - how many connections and pipes this process may have: reading, and reckoning.
 *
 * limits_plan() is pure reckoning, so that it is tested with a table; limits_read() asks the
 * kernel. Neither refuses to start anything: that is the daemon's. Main thread.
 */
#ifndef WEIR_HOST_LIMITS_H
#define WEIR_HOST_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/engine/engine.h"
#include "weir/host/cgroup.h"

/* Descriptors that are not for sessions: standard streams, the control loop, 16 admin clients, the name
 * resolver. */
#define LIMITS_RESERVED_FDS 32u
/* Of each target of the log: its file or socket, and the eventfd of its thread. */
#define LIMITS_FDS_PER_LOG 2u
/* Of each worker: its epoll set, its ring where it has one, its mailbox and its alarm. */
#define LIMITS_FDS_PER_WORKER 4u
/* An automatic maxconn does not grow past what so many descriptors give (HAProxy's DEFAULT_MAXFD):
 * a container often hands out a thousand million. */
#define LIMITS_AUTO_FDS_MAX 1048576u

/* What a session without traffic costs: its two sockets in the kernel, and what is ours. */
#define LIMITS_SESSION_BYTES UINT64_C(8192)
/* What the process has before its first session: text, rings of the log, the least buffers; and a worker. */
#define LIMITS_BASE_BYTES   (UINT64_C(32) << 20)
#define LIMITS_WORKER_BYTES (UINT64_C(1) << 20)

/* What this process may use; read after the privileges were dropped. */
struct limits_facts {
	uint64_t fds;             /* RLIMIT_NOFILE */
	bool pipes_privileged;    /* the kernel's pipe limits are not for us */
	uint64_t pipe_user_pages; /* fs.pipe-user-pages-soft and -hard, the smaller; 0 = no limit */
	uint64_t pipe_max_bytes;  /* fs.pipe-max-size */
	uint64_t page_bytes;
	uint64_t memory_bytes; /* of the machine, or RLIMIT_AS where that is less; 0 = unknown */
	uint64_t group_bytes;  /* the smallest limit of our control groups; 0 = none */
	char group_file[CGROUP_PATH_MAX + 32]; /* the file that says so, and its folder */
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
	unsigned checks; /* servers with health checks: a connection each at a time */
	unsigned logs;   /* targets of the log */
	unsigned held;   /* clients that wait for another one of their source to end, without a reservation */
};

struct limits_plan {
	struct engine_limits engine;
	unsigned maxconn_fitting; /* when the wish does not fit: what would; 0 = nothing does */
	const char *pipes_why;    /* static: what maxpipes comes from */
	uint64_t conns_most;      /* what a control group's memory leaves to an automatic maxconn */
};

/* One worker for each CPU that we may use, unless a number or a list was given. */
unsigned limits_count_workers(const struct config_global *g);
/* What the configuration asks for. */
struct limits_wish limits_wish_of(const struct config *c, unsigned endpoints, unsigned workers);
/* Servers with health checks. */
unsigned limits_count_checks(const struct config *c);
/* Descriptors of control at run time, each of which needs a low number (low_fds.h). */
unsigned limits_count_low(const struct config *c);
/* Clients that may be held at the same time: none without maxconn-per-source. */
unsigned limits_count_held(const struct config *c, unsigned workers);
/* Raises the soft RLIMIT_NOFILE to the hard one. 0 or -errno. */
int limits_raise_fds(void);
/* Raises RLIMIT_MEMLOCK as far as this process may: on many kernels the pages of rings count there, for all
 * processes of a user together. Call before privileges are dropped. What cannot be had shows when rings are
 * made. */
void limits_raise_locked(void);
void limits_read(struct limits_facts *facts);
/* 0, or -EMFILE when the wish does not fit and `plan->maxconn_fitting` says what would. */
int limits_plan(const struct limits_facts *facts, const struct limits_wish *wish, struct limits_plan *plan);
/* One line for the log, without its newline. Returns `buf`. */
const char *limits_describe(const struct limits_facts *facts, const struct limits_plan *plan, char *buf,
			    size_t room);


#endif
