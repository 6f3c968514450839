/* SPDX-License-Identifier: MIT
 *
 * unlisten.h - frontends with `unlisten = no-server` leave their addresses while no server is up.
 *
 * Their endpoints leave politely and keep their place; they are bound anew, to the same address, once a
 * server may get clients again. Inherited sockets stay open: they could not be bound anew. Control thread.
 */
#ifndef WEIR_ENTRY_UNLISTEN_H
#define WEIR_ENTRY_UNLISTEN_H

#include <stdint.h>

#include "weir/entry/entries.h"

/* What is needed to bind; each may be NULL. */
struct unlisten_rights {
	int (*raise)(void *arg); /* 0 or -errno */
	void (*lower)(void *arg); /* after each that has not failed */
	void *arg;
};

/* Each frontend listens or not, as its servers and its settings are now: call when some of these have
 * changed, and after a reload, which may have given it new addresses. What cannot be bound is logged, and
 * tried again.
 * Does nothing within a transaction, or while the process stops. Returns when to call again, or CLOCK_NEVER.
 * `now_ns` is the monotonic clock. */
int64_t entries_unlisten(struct entries *e, const struct unlisten_rights *rights, int64_t now_ns);

#endif
