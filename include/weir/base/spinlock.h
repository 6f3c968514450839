/* SPDX-License-Identifier: MIT
 *
 * spinlock.h - a lock for a few instructions: spins a bounded number of times, then yields.
 *
 * Held for pointer moves only, never across a system call. Any thread.
 */
#ifndef WEIR_BASE_SPINLOCK_H
#define WEIR_BASE_SPINLOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define SPINLOCK_SPINS 128

#if defined(__x86_64__) || defined(__i386__)
#define SPINLOCK_RELAX "pause"
#elif defined(__aarch64__)
#define SPINLOCK_RELAX "yield"
#else
#define SPINLOCK_RELAX ""
#endif

struct spinlock {
	atomic_bool held;
};

/* A hint to the core that this is a spin; a no-op on machines without such a hint. */
static inline void spinlock_relax(void)
{
	__asm__ __volatile__(SPINLOCK_RELAX ::: "memory");
}

static inline void spinlock_init(struct spinlock *lock)
{
	atomic_init(&lock->held, false);
}

static inline void spinlock_lock(struct spinlock *lock)
{
	int spins = 0;

	while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire)) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
			/* The holder may have been preempted: past the bound, let it run. */
			if (++spins >= SPINLOCK_SPINS) {
				spins = 0;
				(void)sched_yield(); /* cannot fail on Linux */
			}
			spinlock_relax();
		}
	}
}

static inline void spinlock_unlock(struct spinlock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif
