/* SPDX-License-Identifier: MIT
 *
 * recent.h - how often something has happened in the last minute.
 *
 * Counts per slot of four seconds; a slot that is used again begins anew, so no timer is needed and nothing
 * runs while nothing happens. A count covers the current slot and the 15 before it: 60 to 64 seconds. One
 * thread writes, with relaxed stores; any thread may read. Empty when it is zero.
 */
#ifndef WEIR_BASE_RECENT_H
#define WEIR_BASE_RECENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "weir/base/clock.h"

#define RECENT_SLOTS   16u
#define RECENT_SLOT_NS (4 * NS_PER_SEC)

struct recent {
	/* The number of the slot in the upper half, the count in the lower. */
	_Atomic uint64_t slots[RECENT_SLOTS];
};

static inline uint32_t recent_slot_at(int64_t now_ns)
{
	return (uint32_t)(now_ns / RECENT_SLOT_NS);
}

/* Counts one more, at `now_ns` on the monotonic clock. Writer only. */
static inline void recent_add(struct recent *r, int64_t now_ns)
{
	const uint32_t number = recent_slot_at(now_ns);
	_Atomic uint64_t *slot = &r->slots[number % RECENT_SLOTS];
	const uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
	const uint64_t begun = old >> 32 == number ? old : (uint64_t)number << 32;

	atomic_store_explicit(slot, begun + 1, memory_order_relaxed);
}

/* How many there were in the last minute before `now_ns`. Any thread. */
static inline uint64_t recent_count(const struct recent *r, int64_t now_ns)
{
	const uint32_t number = recent_slot_at(now_ns);
	uint64_t sum = 0;

	for (unsigned i = 0; i < RECENT_SLOTS; i++) {
		const uint64_t slot = atomic_load_explicit(&r->slots[i], memory_order_relaxed);

		if (number - (uint32_t)(slot >> 32) < RECENT_SLOTS)
			sum += (uint32_t)slot;
	}
	return sum;
}

#endif
