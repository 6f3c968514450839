/* SPDX-License-Identifier: MIT
 *
 * timer.h - deadlines of one loop: a 4-ary heap of (deadline, timer).
 *
 * Owns its array, borrows each timer while it is set. Not thread-safe: one loop, one thread.
 * A timer is not an io_op: the kernel holds no part of it, so cancelling takes effect at once.
 */
#ifndef WEIR_IO_TIMER_H
#define WEIR_IO_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMER_UNSET UINT32_MAX

struct timer {
	void (*fire)(struct timer *t); /* called from dispatch, with the timer already unset */
	uint32_t slot;                 /* position in the heap, or TIMER_UNSET */
};

struct timer_entry {
	int64_t deadline_ns;
	struct timer *timer; /* borrows while set */
};

struct timer_heap {
	struct timer_entry *entries; /* owns */
	uint32_t count;
	uint32_t room;
};

void timer_init(struct timer *t, void (*fire)(struct timer *t));
static inline bool timer_is_set(const struct timer *t)
{
	return t->slot != TIMER_UNSET;
}

void timer_heap_init(struct timer_heap *h);
/* Frees the array. All timers must be unset. */
void timer_heap_free(struct timer_heap *h);

/* Returns memory of an array that is at most a quarter full; half of what remains stays free. */
void timer_heap_trim(struct timer_heap *h);

/* Sets or moves the deadline. 0, or -ENOMEM with the timer as it was. Grows the array by
 * doubling; after warm-up it allocates nothing. There is always room for a timer that has just fired. */
int timer_set(struct timer_heap *h, struct timer *t, int64_t deadline_ns);
/* Unsets; harmless when not set. */
void timer_cancel(struct timer_heap *h, struct timer *t);
/* The deadline of a timer that is set. */
int64_t timer_deadline(const struct timer_heap *h, const struct timer *t);
/* The earliest deadline, or CLOCK_NEVER. */
int64_t timer_heap_next(const struct timer_heap *h);
/* Fires all timers due at `now_ns`, including those set meanwhile for a time not later than `now_ns`, but at
 * most `max`. Returns how many fired. */
uint32_t timer_heap_run(struct timer_heap *h, int64_t now_ns, uint32_t max);

#endif
