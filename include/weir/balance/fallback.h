/* SPDX-License-Identifier: MIT
 *
 * fallback.h - where the clients of a backend go while it has no server: to its fallback-backend.
 *
 * The fallback of a fallback and so on are a chain of at most CONFIG_FALLBACK_MAX steps. Control links
 * backends; any thread follows the links, and may find those of two configurations while a reload is being
 * committed. Nothing links to a backend that has been removed.
 */
#ifndef WEIR_BALANCE_FALLBACK_H
#define WEIR_BALANCE_FALLBACK_H

#include <stdatomic.h>

#include "weir/balance/backend.h"

/* The backend behind `b`; NULL = none. Borrows: a worker may use it until the end of its turn. Any thread. */
static inline struct backend *backend_fallback(const struct backend *b)
{
	return atomic_load_explicit(&b->fallback, memory_order_acquire);
}

/* Links `b` to `to`, which it borrows; NULL = to none. Clients that wait for `b` follow at its next roster.
 * Control thread. */
void backend_set_fallback(struct backend *b, struct backend *to);
/* Where a client of `b` goes now: `b` itself, if a server of it may be chosen, full or not; otherwise the
 * first behind it of which that is true, or where a client is wanted to try a server (outage.h); or else the
 * last one. Any thread, as above. */
const struct backend *backend_serving(const struct backend *b);

#endif
