/* SPDX-License-Identifier: MIT
 *
 * points.h - places between two system calls where another thread may run, too.
 *
 * The simulator compiles what shares most (balance, entry, engine, and some files) with this file first:
 * before each sequentially consistent access to an atomic, and around each lock, they ask whether another
 * worker or control has a turn now. Not while a lock is held: who came then would spin for ever. Relaxed
 * accesses, those of counters, are left alone. One thread. Tests only.
 */
#ifndef SIM_POINTS_H
#define SIM_POINTS_H

#include <stdatomic.h>
#include <stdlib.h>

#include "poison.h"
#include "weir/base/spinlock.h"

/* Locks that are held. */
extern int points_locks;
/* A turn of somebody else, or nothing. */
void points_pass(void);

static inline void points_lock(struct spinlock *lock)
{
	points_pass();
	spinlock_lock(lock);
	points_locks++;
}

static inline void points_unlock(struct spinlock *lock)
{
	points_locks--;
	spinlock_unlock(lock);
	points_pass();
}

#define spinlock_lock(lock) points_lock(lock)
#define spinlock_unlock(lock) points_unlock(lock)

/* Members with that name are renamed too, in all sources that include this first. */
#define free poison_free
/* A table for each frontend of a seed must cost little. */
#define SOURCE_RATES_MAX 4u
/* The model has no listen(2). */
#define sock_bind  rig_bind
#define sock_start rig_start

#undef atomic_load
#undef atomic_store
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_fetch_or
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak

#define POINTS_ORDER memory_order_seq_cst
#define atomic_load(p) (points_pass(), atomic_load_explicit(p, POINTS_ORDER))
#define atomic_store(p, v) (points_pass(), atomic_store_explicit(p, v, POINTS_ORDER))
#define atomic_exchange(p, v) (points_pass(), atomic_exchange_explicit(p, v, POINTS_ORDER))
#define atomic_fetch_add(p, v) (points_pass(), atomic_fetch_add_explicit(p, v, POINTS_ORDER))
#define atomic_fetch_sub(p, v) (points_pass(), atomic_fetch_sub_explicit(p, v, POINTS_ORDER))
#define atomic_fetch_or(p, v) (points_pass(), atomic_fetch_or_explicit(p, v, POINTS_ORDER))
#define atomic_compare_exchange_strong(p, e, v)                                                            \
	(points_pass(), atomic_compare_exchange_strong_explicit(p, e, v, POINTS_ORDER, POINTS_ORDER))
#define atomic_compare_exchange_weak(p, e, v)                                                              \
	(points_pass(), atomic_compare_exchange_weak_explicit(p, e, v, POINTS_ORDER, POINTS_ORDER))

#endif
