/* SPDX-License-Identifier: MIT
 *
 * counters.h - the counters of a worker, one row each in counters.tbl.h.
 *
 * Each structure has one writer. It stores relaxed (a plain move); readers load relaxed.
 */
#ifndef WEIR_BASE_COUNTERS_H
#define WEIR_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/figure.h"

struct counters {
#define COUNTER(name, kind, unit, help) _Atomic uint64_t name;
#include "weir/base/counters.tbl.h"
#undef COUNTER
};

/* One row of counters.tbl.h; all text is static. */
struct counter_row {
	const char *name; /* of the field, and the key in `show info` */
	enum figure_kind kind;
	const char *unit;
	const char *help;
	size_t offset; /* in struct counters */
};

/* The row at `i`, in the order of `show info`; NULL past the last one. Any thread. */
const struct counter_row *counter_row(size_t i);

/* Writer only. */
static inline void counter_add(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void counter_set(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, n, memory_order_relaxed);
}

/* For a count that several threads add to: any thread. */
static inline void counter_add_shared(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* Any thread. */
static inline uint64_t counter_get(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

#endif
