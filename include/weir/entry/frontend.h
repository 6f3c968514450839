/* SPDX-License-Identifier: MIT
 *
 * frontend.h - a frontend at run time: where its clients go, and how many there are.
 *
 * Created and freed by the engine; its counts are atomics, touched once per connection.
 */
#ifndef WEIR_ENTRY_FRONTEND_H
#define WEIR_ENTRY_FRONTEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/rate.h"

struct backend;
struct config_frontend;
struct source_table;

struct frontend {
	const struct config_frontend *config; /* borrows */
	struct backend *backend;              /* borrows; used when no route matches */
	struct backend **routes;              /* owns; for config->routes, in the same order */
	struct source_table *sources;         /* owns; NULL without maxconn-per-source */
	unsigned index;
	unsigned own_limit; /* its own maxconn, 0 = that of the process; for control */
	_Atomic unsigned limit; /* maxconn; written by control alone */
	bool guarded;   /* admission.c has rules to apply */
	bool choosy;    /* some of them apply to the peer's own address, before it becomes a session */
	_Alignas(64) atomic_int sessions;
	atomic_int paused; /* listeners that are paused because the limit is reached */
	atomic_int rate_paused; /* listeners that are paused because of rate-limit */
	_Atomic uint64_t total;
	_Atomic uint64_t denied; /* clients that admission.c turned away */
	struct rate rate;        /* for rate-limit; its limit is 0 without one */
};

/* The maxconn of this frontend at this moment. Any thread. */
static inline unsigned frontend_limit(const struct frontend *fe)
{
	return atomic_load_explicit(&fe->limit, memory_order_relaxed);
}

#endif
