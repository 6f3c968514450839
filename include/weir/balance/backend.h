/* SPDX-License-Identifier: MIT
 *
 * backend.h - the servers of a backend at run time, and its current roster.
 *
 * Control changes servers through server_updates.h, which publishes rosters; workers pick from the current
 * one. Uses no sockets.
 */
#ifndef WEIR_BALANCE_BACKEND_H
#define WEIR_BALANCE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/picker.h"
#include "weir/balance/queue.h"
#include "weir/balance/roster.h"
#include "weir/balance/server.h"
#include "weir/balance/settings.h"
#include "weir/base/live.h"
#include "weir/config/config.h"

struct sticky_table;

struct backend {
	const struct config_backend *config; /* of the settings in effect; control only */
	struct live *live;                   /* borrows */
	uint32_t slot;                       /* its number in live->objects */
	_Atomic uint32_t size;               /* number of servers, for workers */
	_Atomic bool limited;             /* a server has, or had, a maxconn: places are counted exactly */
	_Atomic(const struct backend_settings *) settings; /* in effect; see backend_settings() */
	_Atomic bool sends_v2;            /* a server gets, or got, PROXY headers of version 2 */
	_Atomic bool passes_tlvs;         /* the same, with the TLVs of the client */
	_Atomic bool removed;             /* it has left */
	_Atomic bool closes;              /* and its sessions end */
	_Atomic bool drains_idle;         /* `drain = idle` is in effect */
	_Atomic(struct roster *) roster;  /* owns the current one; see backend_roster() */
	_Atomic(struct backend *) fallback; /* borrows; NULL = none; see fallback.h */
	_Atomic(struct server *) trial;   /* borrows: the next client tries this one; see outage.h */
	struct queue queue;

	/* Control only. */
	unsigned iid;            /* for reports: see entries_build(); 0 = not added yet */
	struct list versions;    /* owns: its struct backend_settings, the newest last */
	struct list link;        /* in server_updates.h */
	struct retired retired;
	struct server **servers; /* owns each, and the array; in file order */
	size_t server_count;
	size_t server_room;      /* of the array */
	struct list left;        /* owns: servers that have left and are not freed */
	struct list sets;        /* owns: see server_set.h */
	struct list tombstones;  /* owns: of servers in the file that were deleted at run time */
	bool ended;              /* freed with the last of `left` */
	bool leaving;            /* some of `left` are still in the roster */
	struct server_totals gone; /* of servers that are freed */
	unsigned frontends;      /* times that settings of frontends name it */
	bool leads_on;           /* it has, or had, a fallback */
	unsigned prepared;       /* changes that are neither committed nor undone */
	size_t more;             /* servers that these may add, and the sum of their weights */
	size_t more_weight;
	struct sticky_table *sticky;      /* holds: of the next roster; NULL = none */
	struct sticky_table *sticky_next; /* holds: of a change that is prepared */
	unsigned tables;         /* that the roster after them may have, see roster_room_of() */
	struct roster *spare;    /* owns: memory for the roster after them; NULL without */
	size_t usable;      /* servers that are up with a weight above 0 */
	size_t told_usable; /* `usable` as of the current roster */
	int64_t changed_ns; /* when `usable` last became 0, or more; 0 = never */
	bool held;          /* changes are batched, see server_change.h */
	bool stale;         /* changes are waiting for a roster */
};

/* Builds the run-time state of a backend and its servers, which take their numbers from `live` (borrowed).
 * NULL when out of memory. Control thread. */
struct backend *backend_new(struct live *live, const struct config_backend *config);
/* Call after all sessions have ended and all pickers are freed; NULL is harmless. Control thread. */
void backend_free(struct backend *b);

/* The sums over all servers that it has, and has had: they never fall. Control thread. */
struct server_totals backend_totals(const struct backend *b);

/* The version in effect. Any thread; a worker may use it until the end of its turn, and longer if it counts
 * it. */
static inline const struct backend_settings *backend_settings(const struct backend *b)
{
	return atomic_load_explicit(&b->settings, memory_order_acquire);
}

/* The current roster, never NULL. Any thread; a worker may use it until the end of its turn. */
static inline const struct roster *backend_roster(const struct backend *b)
{
	return atomic_load_explicit(&b->roster, memory_order_acquire);
}

#endif
