/* SPDX-License-Identifier: MIT
 *
 * paused.h - the listeners that wait for one limit to leave room: whoever gives back a place wakes one.
 *
 * No wake-up is lost: a listener joins and then looks for room; whoever gives back a place does so and then
 * looks at the count. All four accesses are sequentially consistent, so at least one of the two sees the
 * other. Any thread.
 */
#ifndef WEIR_ENTRY_PAUSED_H
#define WEIR_ENTRY_PAUSED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "weir/base/list.h"
#include "weir/base/spinlock.h"

/* One that waits; part of a listener. */
struct paused_one {
	struct list link;	 /* under the lock of the list that it is in */
	void (*wake)(void *arg); /* called without a lock; any thread */
	void *arg;		 /* outlives the list */
};

struct paused {
	struct spinlock lock;
	struct list list; /* borrows struct paused_one; under the lock */
	atomic_int count; /* in the list; read without the lock */
};

void paused_init(struct paused *p);
void paused_join(struct paused *p, struct paused_one *one);
/* Must have joined. */
void paused_leave(struct paused *p, struct paused_one *one);
/* Wakes the one that was woken longest ago, if any waits. It stays in the list until it leaves. */
void paused_wake_one(struct paused *p);

/* Wakes all that wait: the limit has been raised. */
void paused_wake_all(struct paused *p);

static inline bool paused_is_empty(const struct paused *p)
{
	return atomic_load(&p->count) == 0;
}

#endif
