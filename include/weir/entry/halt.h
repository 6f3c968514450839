/* SPDX-License-Identifier: MIT
 *
 * halt.h - an administrator takes a frontend out of service and back, and changes its maxconn.
 *
 * The addresses of a frontend that is out are left politely and are bound again when it is back. An inherited
 * socket could not be bound again: it stays open, workers leave it, and clients wait in its queue. Sessions
 * go on. Across a reload:
 *   disabled     stays so until it is enabled; addresses that the frontend gets meanwhile are not bound
 *   shut down    stays so until its section changes: what it is told, where its clients go, or its binds
 *   maxconn      stays so until that of its section changes
 * Control thread, and never within a transaction.
 */
#ifndef WEIR_ENTRY_HALT_H
#define WEIR_ENTRY_HALT_H

#include <stdint.h>

#include "weir/base/mark.h"
#include "weir/entry/entries.h"
#include "weir/entry/unlisten.h"

/* Takes out a frontend that is FRONTEND_ADMIN_READY. `now_ns` is the monotonic clock, as below. */
void entries_disable(struct entries *e, struct frontend *fe, const struct mark *by, int64_t now_ns);
/* The same for good, whether it is disabled or not: it cannot be enabled again. Harmless if it is so
 * already. */
void entries_shut_down(struct entries *e, struct frontend *fe, const struct mark *by, int64_t now_ns);
/* Takes back one that is disabled: it listens at all its addresses; or, if `unlisten = no-server` applies, it
 * will once a server is up. 0; or -errno, it is disabled on, and `*failed` is the address at fault, NULL if
 * none is: -ESHUTDOWN while the process stops. */
int entries_enable(struct entries *e, struct frontend *fe, const struct unlisten_rights *rights,
		   const struct endpoint **failed);

/* Its maxconn from now on, whatever the file and the process have; 0 lets nobody in. If that is what the file
 * says, its value holds again. A higher one wakes paused listeners. */
void frontend_override_limit(struct frontend *fe, unsigned maxconn, const struct mark *by);
/* Does it stay when the section `next` takes effect? */
bool frontend_limit_stays(const struct frontend *fe, const struct config_frontend *next);

#endif
