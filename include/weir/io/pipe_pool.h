/* SPDX-License-Identifier: MIT
 *
 * pipe_pool.h - pools of splice pipes: one cache per worker, one shared list.
 *
 * Hands out only empty pipes; a pipe returned with bytes in it is closed. Never blocks. A cache belongs to
 * its thread; a spinlock protects the pool's list, and its budget is one atomic. Both age as shelf.h
 * describes: unused pipes are closed after at most two cycles, outside the lock.
 *
 * Pipes get smaller before they get fewer. As the budget fills up, new pipes are half, a quarter ...
 * of the wanted size, down to PIPE_SLOTS_MIN pages, and a pipe that is returned larger than a new one would
 * be is shrunk before it is stored (the kernel frees the pages at once).
 *
 * Control may change the limits while pipes are in use. That takes no pipe from a flow: while more pipes
 * exist than a new limit allows, none is created, and each one that is returned is closed.
 */
#ifndef WEIR_IO_PIPE_POOL_H
#define WEIR_IO_PIPE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/check.h"
#include "weir/base/spinlock.h"
#include "weir/io/shelf.h"

/* A pipe with fewer slots is slower than copying; it is closed and counted. Each slot counts for one page of
 * the machine in the size of a pipe: 16 slots are 64 KiB with pages of 4 KiB, 1 MiB with pages of 64 KiB. */
#define PIPE_SLOTS_MIN 16
/* How many pipes move between a cache and the pool's list under one lock. */
#define PIPE_BATCH 16

/* One cache line each, so that pipes of two workers never share one. */
struct pipe {
	_Alignas(64) struct shelf_item item;
	int rd;
	int wr;
	uint32_t bytes; /* in it now: sums of what splice returned, never of what was requested (R1) */
	uint32_t cap;   /* real size, from F_GETPIPE_SZ */
};

struct pipe_pool {
	_Alignas(64) struct spinlock lock; /* of `list` */
	struct shelf list;
	_Atomic uint32_t idle; /* size of `list`; written under the lock, read without */
	_Alignas(64) atomic_uint made; /* pipes that exist now, in lists or with flows */
	_Atomic uint64_t bytes;        /* sum of the real sizes of all pipes that exist */
	/* counted on slow paths only */
	_Atomic uint64_t created;
	_Atomic uint64_t closed;
	_Atomic uint64_t too_small; /* closed at birth: fewer than PIPE_SLOTS_MIN slots */
	_Atomic uint64_t refused;   /* gets that failed: budget, limit or pipe2 error */
	/* Read by each put; written when pipes are created or closed near the end of the budget. */
	_Alignas(64) _Atomic uint32_t size_now; /* the size that a new pipe would get now; 0 = over a limit */
	uint32_t min_bytes;    /* size of a pipe of PIPE_SLOTS_MIN slots */
	/* Written by control alone. */
	_Atomic uint32_t max;          /* maximum number of pipes; 0 = none at all */
	_Atomic uint32_t want_bytes;   /* size of a pipe while the budget is at least half free */
	_Atomic uint64_t budget_bytes; /* of all pipes together; UINT64_MAX when privileged */
};

struct pipe_cache {
	struct shelf list;
	struct pipe_pool *pool; /* borrows, for the worker's lifetime */
	_Atomic uint32_t local_max; /* above this, a batch spills to the pool's list; control may change it */
	uint32_t in_use;        /* taken by flows of this worker and not returned */
	uint64_t killed;        /* returned with bytes in them */
};

/* Prepares an empty pool. `want_bytes` is a power of two; a size below PIPE_SLOTS_MIN pages is raised to
 * that. Control thread. */
void pipe_pool_init(struct pipe_pool *p, uint32_t max, uint32_t want_bytes, uint64_t budget_bytes);
/* Changes the limits, as for pipe_pool_init(), while caches are in use. A worker that creates a pipe at this
 * moment may still go by the old ones, for that one pipe. Existing pipes never grow. Control thread. */
void pipe_pool_set_limits(struct pipe_pool *p, uint32_t max, uint32_t want_bytes, uint64_t budget_bytes);
/* Closes every pipe in the pool's list. All caches must be freed first. Control thread. */
void pipe_pool_free(struct pipe_pool *p);
/* One cycle of the pool's list. Returns true while the list holds something, so that the caller
 * keeps its timer armed. Control thread. */
bool pipe_pool_age(struct pipe_pool *p);
/* Idle pipes in the pool's list. Any thread. */
uint32_t pipe_pool_idle(struct pipe_pool *p);

void pipe_cache_init(struct pipe_cache *c, struct pipe_pool *pool, uint32_t local_max);
/* What is above a lower maximum spills with the next pipes returned, a batch at a time. Any thread. */
static inline void pipe_cache_set_max(struct pipe_cache *c, uint32_t local_max)
{
	atomic_store_explicit(&c->local_max, local_max, memory_order_relaxed);
}
/* Closes all pipes in the cache; none may be in use. */
void pipe_cache_free(struct pipe_cache *c);
/* One cycle of this cache; true while it holds something. Worker thread. */
bool pipe_cache_age(struct pipe_cache *c);

/* The slow halves of pipe_get() and pipe_put(). */
struct pipe *pipe_get_slow(struct pipe_cache *c);
void pipe_put_slow(struct pipe_cache *c, struct pipe *p);

/* Takes an empty pipe: from the cache's list, its victims, a batch from the pool, or as a last resort
 * pipe2(2). NULL when no pipe is available; the flow then copies. Worker thread. */
static inline struct pipe *pipe_get(struct pipe_cache *c)
{
	struct shelf_item *item = shelf_pop_young(&c->list);

	if (unlikely(item == NULL))
		return pipe_get_slow(c);
	c->in_use++;
	return container_of(item, struct pipe, item);
}

/* Takes the pipe back. If it holds bytes (R11, R12) it is closed and counted. Worker thread. */
static inline void pipe_put(struct pipe_cache *c, struct pipe *p)
{
	/* Only the trend of the current size and of the maximum matters, so the loads are relaxed. */
	if (unlikely(p->bytes != 0 ||
		     c->list.count >= atomic_load_explicit(&c->local_max, memory_order_relaxed) ||
		     p->cap > atomic_load_explicit(&c->pool->size_now, memory_order_relaxed))) {
		pipe_put_slow(c, p);
		return;
	}
	check(c->in_use > 0);
	c->in_use--;
	shelf_push(&c->list, &p->item);
}

#endif
