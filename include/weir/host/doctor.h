/* SPDX-License-Identifier: MIT
 *
 * doctor.h - does this machine provide what the configuration asks for?
 *
 * Reading (doctor_read) and judging (doctor_judge) are separate: facts in, verdict out. What cannot be read,
 * as in many containers, is unknown and never an error. Main thread.
 */
#ifndef WEIR_HOST_DOCTOR_H
#define WEIR_HOST_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/config/config.h"
#include "weir/host/limits.h"

/* A number that could not be read. */
#define DOCTOR_NONE	UINT64_MAX
#define DOCTOR_TEXT_MAX 160
#define DOCTOR_PATH_MAX 512

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_HINT,	/* works, but could do more, or falls short only if everything automatic is used up */
	DOCTOR_WARN,	/* the configuration asks for something that it will not get */
	DOCTOR_UNKNOWN, /* could not be read here */
};

struct doctor_facts {
	struct limits_facts limits;
	uint64_t fds_hard;
	uint64_t nr_open;
	uint64_t file_max;
	uint64_t pages_soft; /* 0 = no limit, here and below */
	uint64_t pages_hard;
	uint64_t somaxconn;
	uint64_t syn_backlog;
	uint64_t port_low;
	uint64_t port_high;
	uint64_t tw_reuse;
	uint64_t io_uring_disabled;
	uint64_t locked_max;	 /* bytes this user may lock; DOCTOR_NONE = no limit */
	bool ring_tried;	 /* by doctor_try_rings() */
	int ring_err;		 /* if tried: -errno; 0 = rings work */
	char ring_why[DOCTOR_TEXT_MAX]; /* the same as text */
	uint64_t group_memory;	  /* DOCTOR_NONE = no limit */
	uint64_t group_cpu_milli; /* thousandths of a CPU; DOCTOR_NONE = no limit */
	uint64_t cpus;
	uint64_t conntrack_max; /* DOCTOR_NONE = not loaded */
	uint64_t unprivileged_port;
	uint64_t fastopen; /* bits: 1 = clients, 2 = listeners */
	bool can_bind_low;
	bool can_net_admin;
	char congestion[32]; /* "" = unknown */
	char congestion_available[128];
	char qdisc[32];
};

/* What the configuration asks for, including what the plan made of `auto`. */
struct doctor_wish {
	uint64_t maxconn;
	bool maxconn_given; /* configured, not automatic: must be possible */
	uint64_t pipes;	    /* as many as would be useful */
	bool pipes_given;
	uint32_t pipe_bytes;
	uint64_t fds;
	unsigned backlog; /* the largest; 0 = no listener of our own */
	bool backlog_given;
	unsigned workers;
	unsigned low_port; /* the lowest TCP port of a bind; 0 = none below 1024 */
	uint64_t ports;	   /* connections to one server address at once; 0 = Unix servers */
	bool splice;
	bool tfo;
	bool ring;	 /* a ring is used if available */
	bool ring_given; /* `driver = io_uring`: epoll will not do */
	const char *net_admin; /* static: the option that needs CAP_NET_ADMIN; NULL = none */
};

struct doctor_finding {
	enum doctor_verdict verdict;
	char current[DOCTOR_TEXT_MAX];
	char wanted[DOCTOR_TEXT_MAX];
	char fix[DOCTOR_TEXT_MAX]; /* the command, or what to configure; "" if all is well */
};

struct doctor_item {
	const char *name;
	const char *about;
	void (*judge)(const struct doctor_facts *facts, const struct doctor_wish *wish,
		      struct doctor_finding *f);
};

extern const struct doctor_item doctor_items[];
extern const size_t doctor_item_count;

/* Reads what is visible to this process. */
void doctor_read(struct doctor_facts *facts);
/* Creates and closes rings for this many workers. Not needed at startup, which creates them anyway. */
void doctor_try_rings(struct doctor_facts *facts, unsigned workers);
/* Turns "0::/system.slice/x.service" of /proc/self/cgroup into the folder of that group below /sys/fs/cgroup
 * and stores it in `path` (DOCTOR_PATH_MAX bytes). False if there is none. */
bool doctor_group_path(const char *cgroup, char *path);
/* "200000 100000" from cpu.max in thousandths of a CPU; DOCTOR_NONE for "max" and for malformed text. */
uint64_t doctor_cpu_milli(const char *cpu_max);

/* What `c` asks for. `plan` may have failed because maxconn does not fit. */
void doctor_wish_of(const struct config *c, const struct limits_plan *plan, unsigned workers,
		    struct doctor_wish *wish);
void doctor_judge(const struct doctor_item *item, const struct doctor_facts *facts,
		  const struct doctor_wish *wish, struct doctor_finding *f);
/* "ok", "hint", "warn", "unknown". */
const char *doctor_verdict_word(enum doctor_verdict v);
/* For startup: logs one line per warning, and nothing if all is well. */
void doctor_log(const struct doctor_facts *facts, const struct doctor_wish *wish);

#endif
