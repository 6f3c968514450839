/* SPDX-License-Identifier: MIT
 *
 * failure.h - the last failures of a worker, whatever is logged: a ring with one writer.
 *
 * A worker adds a failure where one happens; nothing is added for a session that ends well. Adding takes no
 * lock, makes no system call and allocates nothing. Control reads a ring while the worker writes to it: a
 * failure that is overwritten meanwhile is not seen. Names are copies, as their owners may leave.
 */
#ifndef WEIR_ACCOUNT_FAILURE_H
#define WEIR_ACCOUNT_FAILURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/json.h"
#include "weir/base/text.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"

/* Failures that a ring keeps. */
#define FAILURES_KEPT 64u

/* The rings of a worker: clients that were not let in, whom a stranger can send without end, push out no
 * other failure. */
enum failure_group { FAILURES_OF_OUTSIDERS, FAILURES_OF_SESSIONS, FAILURE_GROUPS };

/* What was being done. */
enum failure_phase {
#define PHASE(name, word) FAILURE_##name,
#include "weir/account/failure_phases.tbl.h"
#undef PHASE
	FAILURE_PHASES
};

struct failure {
	int64_t at_ns;  /* monotonic */
	int64_t age_ns; /* of the session */
	uint64_t bytes_to_server;
	uint64_t bytes_to_client;
	struct addr_brief client;
	struct addr server_address; /* len 0 = no server was chosen */
	uint32_t worker;
	uint32_t number;  /* of the session, as in log lines */
	int32_t err;      /* errno, > 0; 0 = no system call failed */
	uint8_t phase;    /* enum failure_phase */
	uint8_t reason;   /* enum close_reason: why the session ends, or would */
	uint16_t tries;   /* connects so far */
	char frontend[CONFIG_NAME_MAX];
	char backend[CONFIG_NAME_MAX]; /* "" = the client was not let in */
	char server[CONFIG_NAME_MAX];  /* "" likewise */
};

#define FAILURE_WORDS ((sizeof(struct failure) + sizeof(uint64_t) - 1) / sizeof(uint64_t))

struct failure_slot {
	_Atomic uint64_t version; /* 2 * (its number + 1) once it is complete; odd while it is written */
	_Atomic uint64_t words[FAILURE_WORDS];
};

/* All zero = empty. */
struct failure_ring {
	_Atomic uint64_t count; /* all that were added; one writer */
	struct failure_slot slots[FAILURES_KEPT];
};

/* The worker's thread. */
void failure_add(struct failure_ring *r, const struct failure *f);
/* How many were added. Any thread. */
uint64_t failure_count(const struct failure_ring *r);
/* Copies failure number `number`, from 0. False if it is not kept any more, or not there yet. Any thread. */
bool failure_get(const struct failure_ring *r, uint64_t number, struct failure *out);

/* "connect"; static. */
const char *failure_phase_word(enum failure_phase phase);
/* One line with its newline, or the next item. `wall_ns`: its moment since 1970. Any thread. */
void failure_show(const struct failure *f, int64_t wall_ns, struct text *out);
void failure_show_json(const struct failure *f, int64_t wall_ns, struct json *out);

#endif
