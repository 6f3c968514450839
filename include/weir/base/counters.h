/* SPDX-License-Identifier: MIT
 *
 * counters.h - what a worker counts, one row each in counters.tbl.h.
 *
 * One writer a structure; it stores relaxed (a plain move), readers load relaxed.
 */
#ifndef WEIR_BASE_COUNTERS_H
#define WEIR_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

struct counters {
#define COUNTER(name, unit, help) _Atomic uint64_t name;
#include "weir/base/counters.tbl.h"
#undef COUNTER
};

/* Writer only. */
static inline void counter_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void counter_set(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, n, memory_order_relaxed);
}

/* Any thread. */
static inline uint64_t counter_get(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

#endif
