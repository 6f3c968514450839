/* SPDX-License-Identifier: MIT
 *
 * doctor.h - does this machine give what the configuration asks for?
 *
 * Reading (doctor_read) and judging (doctor_judge) are apart: facts in, verdict out. What cannot be
 * read, as in many containers, is unknown and never an error. Main thread.
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
	DOCTOR_HINT,	/* works; less than it could, or only when all that is automatic is used up */
	DOCTOR_WARN,	/* what was asked for will not be had */
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
	uint64_t locked_max;	 /* bytes that this user may lock; DOCTOR_NONE = no limit */
	bool ring_tried;	 /* doctor_try_rings() */
	int ring_err;		 /* when tried: -errno; 0 = there are rings */
	char ring_why[DOCTOR_TEXT_MAX]; /* and the same in words */
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

/* What the configuration asks for, with what the plan made of `auto`. */
struct doctor_wish {
	uint64_t maxconn;
	bool maxconn_given; /* written, not automatic: then it must be possible */
	uint64_t pipes;	    /* that would be of use */
	bool pipes_given;
	uint32_t pipe_bytes;
	uint64_t fds;
	unsigned backlog; /* the largest; 0 = no listener of our own */
	bool backlog_given;
	unsigned workers;
	unsigned low_port; /* the lowest TCP port of a bind; 0 = none below 1024 */
	uint64_t ports;	   /* connections to one server address at a time; 0 = Unix servers */
	bool splice;
	bool tfo;
	bool ring;	 /* a ring is used where it can be had */
	bool ring_given; /* and nothing else will do */
	const char *net_admin; /* the option that needs CAP_NET_ADMIN; static, NULL = none does */
};

struct doctor_finding {
	enum doctor_verdict verdict;
	char current[DOCTOR_TEXT_MAX];
	char wanted[DOCTOR_TEXT_MAX];
	char fix[DOCTOR_TEXT_MAX]; /* the command, or what to write; "" when all is well */
};

struct doctor_check {
	const char *name;
	const char *about;
	void (*judge)(const struct doctor_facts *facts, const struct doctor_wish *wish,
		      struct doctor_finding *f);
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

/* Reads what this process can see. */
void doctor_read(struct doctor_facts *facts);
/* Makes the rings of `workers` workers and closes them again; a start makes them by itself. */
void doctor_try_rings(struct doctor_facts *facts, unsigned workers);
/* "0::/system.slice/x.service" of /proc/self/cgroup: the folder below /sys/fs/cgroup, deepest first,
 * into `path` (DOCTOR_PATH_MAX bytes). False when there is none. */
bool doctor_group_path(const char *cgroup, char *path);
/* "200000 100000" of cpu.max in thousandths of a CPU; DOCTOR_NONE for "max" and for nonsense. */
uint64_t doctor_cpu_milli(const char *cpu_max);

/* What `c` asks for. `plan` may have failed for a maxconn that does not fit. */
void doctor_wish_of(const struct config *c, const struct limits_plan *plan, unsigned workers,
		    struct doctor_wish *wish);
void doctor_judge(const struct doctor_check *check, const struct doctor_facts *facts,
		  const struct doctor_wish *wish, struct doctor_finding *f);
/* "ok", "hint", "warn", "unknown". */
const char *doctor_verdict_word(enum doctor_verdict v);
/* At the start of the daemon: one line in the log for each warning, none when all is well. */
void doctor_log(const struct doctor_facts *facts, const struct doctor_wish *wish);

#endif
