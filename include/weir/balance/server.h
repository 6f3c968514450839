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
#include "weir/balance/known_addrs.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"

/* Weights are stored in sixteenths, as in HAProxy (BE_WEIGHT_SCALE), so that a slow start has steps. */
#define SERVER_WEIGHT_SCALE 16u

/* The state of a server for new connections: the worst of the three inputs below. */
enum server_state {
#define SERVER_STATE(name, text, word) SERVER_##name,
#include "weir/balance/server_states.tbl.h"
#undef SERVER_STATE
};

/* Why all sessions with a server must end. */
enum server_end { SERVER_END_DOWN, SERVER_END_KILLED, SERVER_ENDS };

/* The state set by the administrator. */
enum server_admin { SERVER_ADMIN_READY, SERVER_ADMIN_DRAIN, SERVER_ADMIN_MAINT };

struct backend;

struct server {
	const struct config_server *config;   /* borrows from the snapshot */
	const struct config_backend *backend; /* borrows from the snapshot */
	struct backend *owner;                /* borrows: its backend */
	unsigned index;                       /* place in its backend */

	/* Control only. */
	uint64_t key;              /* hash of its name or address: the same on every machine */
	struct known_addrs known;  /* owns: the addresses it has had */
	const struct probe_view *probe; /* borrows from the prober; NULL = not health-checked */
	enum server_admin admin;
	bool healthy;              /* from its health checks; true without any */
	unsigned weight;           /* as set by the administrator, 0..256 */
	unsigned maxconn;          /* as set by the administrator; 0 = no limit */
	int64_t changed_ns;        /* last change of `state`; 0 = never */
	int64_t down_ns;           /* total time down, including maintenance, until changed_ns */
	int64_t slow_since_ns;     /* start of its slow start; 0 = none in progress */
	int64_t slow_at_ns;        /* time up to which it has advanced */
	struct history history;    /* the most recent changes of state, weight and limit */

	/* Control writes, workers read. */
	_Alignas(64) _Atomic int state;       /* enum server_state */
	_Atomic unsigned eweight;             /* in sixteenths, slow start included; 0 = no new connections */
	_Atomic unsigned limit;               /* connections at a time, slow start included; 0 = no limit */
	_Atomic bool in_roster;               /* in the roster: queues may send it clients */
	_Atomic(const struct addr *) addr;    /* stays valid until the end */
	_Atomic uint32_t ends[SERVER_ENDS];   /* how many times its sessions had to end; see engine/evict.h */

	/* Workers write. */
	_Alignas(64) atomic_int sessions; /* connecting or connected; server_enter() never exceeds `limit` */
	_Atomic uint64_t total;           /* sessions that were connected */
	_Atomic uint64_t failures;        /* connects that failed */
	atomic_int failing;               /* consecutive failures; a successful connect resets it */
	_Atomic uint64_t chosen_total;    /* times it was chosen (HAProxy's lbtot) */
	atomic_int queued;                /* clients waiting for this particular server */
	atomic_int queued_max;
};

/* Takes a place for a new connection; false when its limit is reached. `sessions` never exceeds the limit,
 * not even for a moment. Any thread. */
bool server_enter(struct server *s);
/* Releases the place and serves clients waiting for one. Any thread. */
void server_leave(struct server *s);
/* Call when a connect to it, or a health check, has succeeded: resets its consecutive failures, and queued
 * clients no longer avoid it. Any thread. */
void server_answered(struct server *s);
/* May a connect to `a`, which is or was the `addr` of some server, reach itself, so that the caller must call
 * self_connect_happened()? Determined when the server got the address. Any thread. */
bool server_addr_meets_itself(const struct addr *a);
/* Does its state allow new connections? Ignores weight and limit. Any thread. */
bool server_usable(const struct server *s);
/* "UP", "DOWN", "DRAIN", "MAINT", "DOWN (unresolved)"; static. */
const char *server_state_text(enum server_state state);
/* "up", "down", "drain", "maint", "unresolved"; static. */
const char *server_state_word(enum server_state state);

/* The progress of its slow start in percent of its duration; 100 if there is none. */
unsigned server_throttle(const struct server *s, int64_t now_ns);

#endif
