/* SPDX-License-Identifier: MIT
 *
 * server.h - one server at run time.
 *
 * All threads share its run-time state (state, weight, limit, address, counts) through atomics on separate
 * cache lines: control writes the first half, workers the second. The inputs of the state (administrator,
 * health, address) belong to control only and change through server_updates.h. Uses no sockets.
 */
#ifndef WEIR_BALANCE_SERVER_H
#define WEIR_BALANCE_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "weir/balance/history.h"
#include "weir/balance/queue.h"
#include "weir/balance/settings.h"
#include "weir/base/check.h"
#include "weir/base/mark.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"

/* Weights are stored in sixteenths, as in HAProxy (BE_WEIGHT_SCALE), so that a slow start has steps. */
#define SERVER_WEIGHT_SCALE 16u
#define SERVER_WEIGHT_MAX   256u

/* The state of a server for new connections: the worst of the three inputs below. */
enum server_state {
#define SERVER_STATE(name, text, word) SERVER_##name,
#include "weir/balance/server_states.tbl.h"
#undef SERVER_STATE
};

/* The state set by the administrator. */
enum server_admin { SERVER_ADMIN_READY, SERVER_ADMIN_DRAIN, SERVER_ADMIN_MAINT };

/* What may differ from the file. */
enum server_mark {
#define SERVER_MARK(name, word) SERVER_MARK_##name,
#include "weir/balance/server_marks.tbl.h"
#undef SERVER_MARK
	SERVER_MARKS
};

/* An address set at run time, in place of the one in the file. */
struct server_move {
	struct addr addr;
	bool has_found;
	struct addr found; /* for a server with a name: what that was found to be, for the way back */
};

/* What its agent has said last of each; all 0 = nothing. Whatever an administrator has set counts more. */
struct server_agent {
	enum server_admin admin;
	bool down;
	bool has_percent;
	unsigned percent;  /* of the weight in the file; at most SERVER_PERCENT_MAX */
	bool has_maxconn;
	unsigned maxconn;
};

/* As in HAProxy: the weight is at most 256 all the same. */
#define SERVER_PERCENT_MAX 25600

struct backend;
struct name;
struct server_set;

/* What is only ever counted. */
struct server_totals {
	uint64_t total;
	uint64_t failures;
	uint64_t chosen;
	uint64_t probe_downs; /* times that health checks took it down */
};

struct server {
	const struct config_server *config;   /* of the settings in effect; control only */
	const struct config_backend *backend; /* the same, of its backend; control only */
	struct backend *owner;                /* borrows: its backend */
	uint32_t slot;                        /* its number in the `objects` of live.h */
	unsigned id;                          /* its number in its backend, from 1, for reports */
	uint64_t name_id;                     /* of its name: see sticky.h */

	/* Control only. */
	uint64_t key;              /* hash of its name or address: the same on every machine */
	struct list versions;      /* owns: its struct server_settings, the newest last */
	struct list link;          /* in its backend's `left` */
	struct retired retired;
	struct name *name;              /* borrows from the resolver; NULL = its address is not looked up */
	bool holds_dns;                 /* the resolver's: DNS is ready, as its clients choose names */
	struct server_set *set;         /* borrows: the set that it is a member of; NULL = none */
	const struct probe_view *probe; /* borrows from the prober; NULL = not health-checked */
	uint64_t probe_downs;           /* of health checks that it had before */
	const struct agent_view *agent_view; /* borrows from the agents; NULL = it has no agent */
	struct server_agent agent;           /* what counts of it: nothing while it is disabled */
	enum server_admin admin;             /* as set by the administrator; see server_admin_now() */
	bool healthy;              /* from its health checks, or set by the administrator; true without any */
	bool stopping;             /* healthy, but takes no new connections until a check passes */
	bool closes;               /* it has left, and its sessions end */
	bool told_to_drain;        /* its sessions were told that it `drains` */
	bool leaves;               /* its address has gone from its set: it drains, and then goes */
	bool set_backup;           /* a backup because of the priorities in its set */
	unsigned set_number;       /* in its set, from 1 */
	int64_t leave_ns;          /* since when it `leaves` */
	unsigned weight;           /* as set by the administrator, 0..256 */
	unsigned maxconn;          /* as set by the administrator; 0 = no limit */
	int64_t changed_ns;        /* last change of `state`; 0 = never */
	int64_t down_ns;           /* total time down, including maintenance, until changed_ns */
	int64_t slow_since_ns;     /* start of its slow start; 0 = none in progress */
	int64_t slow_at_ns;        /* time up to which it has advanced */
	struct history history;    /* the most recent changes of state, weight and limit */

	/* Control only: what was set at run time in place of the file's words, see run_time.h. */
	bool added;                /* no file names it */
	bool checks_off;           /* its health checks are suspended */
	bool agent_off;            /* so is its agent, of which nothing counts meanwhile */
	uint16_t check_port;       /* of its health checks; 0 = as in the file */
	struct addr *check_addr;   /* owns; of its health checks, without a port; NULL = as in the file */
	struct server_move *moved; /* owns; NULL = it is where the file says */
	struct mark marks[SERVER_MARKS];

	/* Control only: outage.h. */
	struct list outage;        /* among those that are out */
	int64_t outage_until_ns;   /* when a client may try it */
	uint64_t outage_address;   /* a hash of its address */

	/* Control writes, workers read. */
	_Alignas(64) _Atomic int state;       /* enum server_state */
	_Atomic unsigned eweight;             /* in sixteenths, slow start included; 0 = no new connections */
	_Atomic unsigned limit;               /* connections at a time, slow start included; 0 = no limit */
	_Atomic bool drains;                  /* taken out by the administrator, or removed */
	_Atomic bool in_roster;               /* in the roster: queues may send it clients */
	_Atomic bool keeps;                   /* drained or not, clients that are stuck to it may come */
	_Atomic(const struct server_settings *) settings; /* in effect; see server_settings() */

	/* Workers write. */
	_Alignas(64) atomic_int sessions; /* connecting or connected; server_enter() never exceeds `limit` */
	_Atomic uint64_t total;           /* sessions that were connected */
	_Atomic uint64_t failures;        /* connects that failed */
	atomic_int failing;               /* consecutive failures; a successful connect resets it */
	/* The version whose address failed, until control has seen that: compared, never followed. */
	_Atomic(const struct server_settings *) failed_at;
	atomic_int trial;                 /* enum server_trial; control writes it, too */
	_Atomic uint64_t chosen_total;    /* times it was chosen (HAProxy's lbtot) */
	atomic_int queued;                /* clients waiting for this particular server */
	atomic_int queued_max;
	struct list waiters;            /* under the lock of its backend's queue: clients waiting for it */
	struct queue_avoiders avoiders; /* the same: clients waiting for any other */
};

/* The version in effect, with its address and its configuration. Any thread; a worker may use it until the
 * end of its turn, and longer if it counts it. */
static inline const struct server_settings *server_settings(const struct server *s)
{
	return atomic_load_explicit(&s->settings, memory_order_acquire);
}

/* Its address in effect, or NULL if it has none yet; valid as long as that version. */
static inline const struct addr *server_addr(const struct server *s)
{
	const struct server_settings *v = server_settings(s);

	return v->has_addr ? &v->addr : NULL;
}

/* Where its health checks go, without a port, if not to `address`. Control thread. */
static inline const struct addr *server_check_addr(const struct server *s, const struct addr *address)
{
	const struct addr *configured = &s->config->check_addr;

	if (s->check_addr != NULL)
		return s->check_addr;
	return configured->len != 0 ? configured : address;
}

/* The address that it has without what was set at run time: that in the file, or that of its name; NULL =
 * none yet. Valid until it changes. Control thread. */
const struct addr *server_found_addr(const struct server *s);

/* Takes a place for a new connection; false when its limit is reached. `sessions` never exceeds the limit,
 * not even for a moment. Any thread. */
bool server_enter(struct server *s);
/* Would server_enter() give one at this moment? Any thread. */
static inline bool server_has_place(const struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

	return limit == 0 || (unsigned)atomic_load(&s->sessions) < limit;
}
/* Releases the place and serves clients waiting for one. Any thread. */
void server_leave(struct server *s);
/* Call when a connect to it, or a health check, has succeeded: resets its consecutive failures, and queued
 * clients no longer avoid it. Any thread. */
void server_answered(struct server *s);
/* A connect to the address of this version, or its last health checks, have failed. True: it has a name,
 * whose next address may do better, so that control has to be woken (resolver_heed()). Any thread. */
static inline bool server_address_failed(struct server *s, const struct server_settings *at)
{
	if (at->config->addr.kind != ADDR_NAME)
		return false;
	atomic_store_explicit(&s->failed_at, at, memory_order_relaxed);
	return true;
}
/* State, weight and limit with what its agent has said, unless the administrator has set something else.
 * Control thread. */
enum server_admin server_admin_now(const struct server *s);
unsigned server_weight_now(const struct server *s);
unsigned server_maxconn_now(const struct server *s);
/* Is it its agent alone that drains it, or has it in maintenance? */
bool server_is_out_by_agent(const struct server *s);
/* Does its state allow new connections? Ignores weight and limit. Any thread. */
bool server_usable(const struct server *s);
/* Its weight with slow start, rounded up as in HAProxy, so that a server in slow start has some share. Any
 * thread. */
unsigned server_weight_in_effect(const struct server *s);
/* "UP", "DOWN", "DRAIN", "NOLB", "MAINT", "DOWN (unresolved)"; static. */
const char *server_state_text(enum server_state state);
/* "up", "down", "drain", "nolb", "maint", "unresolved"; static. */
const char *server_state_word(enum server_state state);

/* The progress of its slow start in percent of its duration; 100 if there is none. */
unsigned server_throttle(const struct server *s, int64_t now_ns);

#endif
