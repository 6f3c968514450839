/* SPDX-License-Identifier: MIT
 *
 * server.h - one server as it is at run time.
 *
 * Its runtime line (state, weight, limit, address, counts) is shared by all threads through atomics on
 * cache lines of its own: control writes the first half, workers the second. What decides the state
 * (administrator, health, address) is control's alone, and changes by server_updates.h. Free of sockets.
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

/* Weights are kept in sixteenths, as HAProxy has them (BE_WEIGHT_SCALE), so that a slow start has steps. */
#define SERVER_WEIGHT_SCALE 16u

/* What a server is for new connections: the worst of what the three below say. */
enum server_state {
#define SERVER_STATE(name, text, word) SERVER_##name,
#include "weir/balance/server_states.tbl.h"
#undef SERVER_STATE
};

/* Why all sessions with a server are to end. */
enum server_end { SERVER_END_DOWN, SERVER_END_KILLED, SERVER_ENDS };

/* What the administrator wants. */
enum server_admin { SERVER_ADMIN_READY, SERVER_ADMIN_DRAIN, SERVER_ADMIN_MAINT };

struct backend;

struct server {
	const struct config_server *config;   /* borrows from the snapshot */
	const struct config_backend *backend; /* borrows from the snapshot */
	struct backend *owner;                /* borrows: whose it is */
	unsigned index;                       /* place in its backend */

	/* Control's alone. */
	uint64_t key;              /* hash of its name or address: the same on every machine */
	struct known_addrs known;  /* owns: the addresses it has had */
	const struct probe_view *probe; /* borrows from whoever checks it; NULL = it is not checked */
	enum server_admin admin;
	bool healthy;              /* by its checks; true without any */
	unsigned weight;           /* as the administrator wants it, 0..256 */
	unsigned maxconn;          /* as the administrator wants it; 0 = no limit */
	int64_t changed_ns;        /* when `state` changed last; 0 = never */
	int64_t down_ns;           /* how long it has been down in all, until changed_ns, with maintenance */
	int64_t slow_since_ns;     /* its slow start began; 0 = it is not in one */
	int64_t slow_at_ns;        /* how far it has been moved on */
	struct history history;    /* the last changes of `state` */

	/* Control writes, workers read. */
	_Alignas(64) _Atomic int state;       /* enum server_state */
	_Atomic unsigned eweight;             /* in sixteenths, slow start included; 0 = no new connections */
	_Atomic unsigned limit;               /* connections at a time, slow start included; 0 = no limit */
	_Atomic bool chosen;                  /* is in the roster: queues may give it clients */
	_Atomic(const struct addr *) addr;    /* stays valid until the end */
	_Atomic uint32_t ends[SERVER_ENDS];   /* how often its sessions were to end; see engine/evict.h */

	/* Workers write. */
	_Alignas(64) atomic_int sessions; /* connecting or connected; never above `limit` by server_enter() */
	_Atomic uint64_t total;           /* that were connected */
	_Atomic uint64_t failures;        /* connects that failed */
	atomic_int failing;               /* failures in a row: a connect that succeeds resets it */
	_Atomic uint64_t chosen_total;    /* how often it was chosen (HAProxy's lbtot) */
	atomic_int queued;                /* clients that wait for this very server */
	atomic_int queued_max;
};

/* Takes a place for a new connection; false when its limit is reached, and `sessions` is never above it for
 * a moment. Any thread. */
bool server_enter(struct server *s);
/* Gives the place back and serves who waits for one. Any thread. */
void server_leave(struct server *s);
/* A connect to it, or a check, has succeeded: its row of failures ends, and who avoided it in the queue does
 * so no more. Any thread. */
void server_answered(struct server *s);
/* May a connect to `a`, which is or was the `addr` of some server, meet itself, so that the caller must ask
 * self_connect_happened()? Found out when the server got the address. Any thread. */
bool server_addr_meets_itself(const struct addr *a);
/* Does it take new connections by its state? Weight and limit are not asked. Any thread. */
bool server_usable(const struct server *s);
/* "UP", "DOWN", "DRAIN", "MAINT", "DOWN (unresolved)"; static. */
const char *server_state_text(enum server_state state);
/* "up", "down", "drain", "maint", "unresolved"; static. */
const char *server_state_word(enum server_state state);

/* How far its slow start is, in percent of its time; 100 outside of one. */
unsigned server_throttle(const struct server *s, int64_t now_ns);

#endif
