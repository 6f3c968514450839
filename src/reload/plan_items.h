/* SPDX-License-Identifier: MIT
 *
 * plan_items.h - a plan as a list of things, one after another, for those who show it.
 *
 * Each frontend is followed by its addresses, each backend by its servers; then log targets and [global].
 * Speaks of what is written in the configuration: a bind with several sockets is one thing, and an address is
 * added even if a socket that is there takes it. Control thread.
 */
#ifndef WEIR_SRC_RELOAD_PLAN_ITEMS_H
#define WEIR_SRC_RELOAD_PLAN_ITEMS_H

#include <stdint.h>

#include "weir/engine/run_time_view.h"
#include "weir/reload/plan.h"

enum plan_kind {
	ITEM_FRONTEND,
	ITEM_ADDRESS,
	ITEM_BACKEND,
	ITEM_SERVER,
	ITEM_LOG,
	ITEM_GLOBAL,
	ITEM_KINDS,
};

/* What happens to a thing. */
enum plan_fate { FATE_KEPT, FATE_ADDED, FATE_CHANGED, FATE_MOVED, FATE_REMOVED, FATES };

/* What happens to the sessions of a thing. */
enum plan_sessions {
	SESSIONS_STAY,	   /* it stays, too */
	SESSIONS_GO_ON,	   /* though it is removed */
	SESSIONS_END_IDLE, /* each once it is idle */
	SESSIONS_END,
};

/* All of it is borrowed for the call that gets it. */
struct plan_item {
	enum plan_kind kind;
	enum plan_fate fate;
	const char *owner; /* ADDRESS: its frontend; SERVER: its backend; else NULL */
	const char *name;  /* of an ADDRESS as it is written; NULL for LOG and GLOBAL */
	const char *line; /* as in a file; NULL for FRONTEND, BACKEND, GLOBAL, and what is CHANGED or KEPT */
	/* ADDRESS, ADDED or MOVED: it takes over the socket of this one; else NULL. */
	const char *from_frontend;
	const char *from_address;
	unsigned sockets;  /* ADDRESS, ADDED or MOVED: of a range of ports; 0 = it is one address */
	uint64_t memory;   /* of these, in bytes */
	bool bound_anew;   /* ADDRESS, CHANGED: with a new socket, beside the one that it has */
	bool revives;	   /* FRONTEND, CHANGED: shut down at run time, and in service again */
	bool adopted;	   /* SERVER, CHANGED: added at run time, and the file names it now */
	uint64_t sessions; /* open now; 0 for ADDRESS, LOG and GLOBAL */
	enum plan_sessions then;
};

/* Who sees the items. */
struct plan_viewer {
	/* Each item: begin, its options that differ (NULL = not set), what was set at run time and stays,
	 * end. An item that is KEPT has no options, but may have what stays. */
	void (*begin)(void *arg, const struct plan_item *item);
	void (*option)(void *arg, const char *key, const char *before, const char *after);
	void (*stays)(void *arg, const struct run_time_value *v);
	void (*end)(void *arg);
	/* After all items: an option that only a restart changes; what the daemon was started with, and what
	 * the new configuration has. */
	void (*restart)(void *arg, const char *key, const char *running, const char *next);
	void *arg;
};

/* Shows all of `p`, which was made from `in`. 0; or -ENOMEM, and not all was shown. */
int plan_items(const struct plan *p, const struct plan_input *in, const struct plan_viewer *v);

/* "frontend", "address", "backend", "server", "log", "global"; static. */
const char *plan_kind_word(enum plan_kind kind);
/* "kept", "added", "changed", "moved", "removed"; static. */
const char *plan_fate_word(enum plan_fate fate);

#endif
