/* SPDX-License-Identifier: MIT
 *
 * buf_pool.h - pooled buffers in tiers, for bytes that a destination refused: one cache per worker, one
 * shared list.
 *
 * Built like pipe_pool.h, with one shelf per tier: powers of two from 2 KiB to 64 KiB. A cache belongs to its
 * thread; a spinlock protects the pool's lists, and the budget is one atomic. shelf.h describes ageing.
 *
 * Control may change the budget while buffers are in use. That takes no buffer from its owner: while the
 * buffers that exist exceed a lower budget, none is allocated, and each one that is returned is freed.
 */
#ifndef WEIR_IO_BUF_POOL_H
#define WEIR_IO_BUF_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/check.h"
#include "weir/base/spinlock.h"
#include "weir/io/shelf.h"

#define BUF_TIERS 6
#define BUF_MIN 2048u
#define BUF_MAX 65536u
#define BUF_BATCH 8
/* Above this, a batch of a tier spills from a cache to the pool's list. */
#define BUF_LOCAL_MAX 32u

struct buf {
	struct shelf_item item;
	uint32_t tier;
	uint32_t cap; /* usable bytes of data[] */
	uint32_t off; /* first byte not yet written; for the buffer's owner */
	uint32_t len; /* bytes from `off`; for the buffer's owner */
	uint8_t data[];
};

struct buf_pool {
	_Alignas(64) struct spinlock lock; /* of `tiers` */
	struct shelf tiers[BUF_TIERS];
	_Atomic uint64_t idle; /* memory in `tiers`; written under the lock, read without */
	_Alignas(64) _Atomic uint64_t bytes; /* memory of all buffers that exist */
	_Atomic uint64_t budget_bytes;       /* written by control alone */
	_Atomic uint64_t created;
	_Atomic uint64_t freed;
	_Atomic uint64_t refused;
};

struct buf_cache {
	struct shelf tiers[BUF_TIERS];
	struct buf_pool *pool; /* borrows, for the worker's lifetime */
	uint32_t in_use;
	uint64_t in_use_bytes; /* sum of their `cap` */
};

/* Prepares an empty pool. Control thread. */
void buf_pool_init(struct buf_pool *p, uint64_t budget_bytes);
/* Changes the budget while caches are in use. Control thread. */
static inline void buf_pool_set_budget(struct buf_pool *p, uint64_t budget_bytes)
{
	atomic_store_explicit(&p->budget_bytes, budget_bytes, memory_order_relaxed);
}
/* Do the buffers that exist exceed the budget, because it has been lowered? Any thread. */
static inline bool buf_pool_is_over(const struct buf_pool *p)
{
	return atomic_load_explicit(&p->bytes, memory_order_relaxed) >
	       atomic_load_explicit(&p->budget_bytes, memory_order_relaxed);
}
/* Frees the buffers in the pool's lists. All caches must be freed first. Control thread. */
void buf_pool_free(struct buf_pool *p);
/* One cycle of the pool's lists; true while they hold something. Control thread. */
bool buf_pool_age(struct buf_pool *p);
/* Bytes of memory in the pool's lists. Any thread. */
uint64_t buf_pool_idle(struct buf_pool *p);

void buf_cache_init(struct buf_cache *c, struct buf_pool *pool);
/* Frees all buffers in the cache; none may be in use. */
void buf_cache_free(struct buf_cache *c);
/* One cycle of this cache; true while it holds something. Worker thread. */
bool buf_cache_age(struct buf_cache *c);

/* The slow halves of buf_get() and buf_put(). */
struct buf *buf_get_slow(struct buf_cache *c, uint32_t tier);
void buf_put_slow(struct buf_cache *c, struct buf *b);

/* The smallest tier with buffers of `bytes` or more: BUF_MIN << tier. */
static inline uint32_t buf_tier(uint32_t bytes)
{
	check(bytes > 0);
	check(bytes <= BUF_MAX);
	return bytes <= BUF_MIN ? 0 : 32 - (uint32_t)__builtin_clz((bytes - 1) / BUF_MIN);
}

/* How much to read at a time, given that bytes refused by the destination must be kept: buffers get smaller
 * before they get fewer. Reads of 64 KiB would take a buffer of that size for each slow reader, and the first
 * few hundred of those would leave none for the others. Call it when the bytes have arrived: memory may have
 * been plentiful when the wait began. Worker thread. */
static inline uint32_t buf_read_bytes(const struct buf_cache *c)
{
	const struct buf_pool *p = c->pool;
	const uint64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
	const uint64_t budget = atomic_load_explicit(&p->budget_bytes, memory_order_relaxed);

	if (likely(bytes <= budget / 2))
		return BUF_MAX;
	return bytes <= budget / 4 * 3 ? BUF_MIN * 4 : BUF_MIN;
}

/* A buffer with cap >= `bytes` (1 to BUF_MAX), off = len = 0; NULL when the budget or memory is exhausted.
 * The budget counts all buffers that exist; before it refuses a get, idle buffers of other tiers are freed
 * (this cache's and the pool's). Worker thread. */
static inline struct buf *buf_get(struct buf_cache *c, uint32_t bytes)
{
	const uint32_t tier = buf_tier(bytes);
	struct shelf_item *item = shelf_pop_young(&c->tiers[tier]);
	struct buf *b;

	if (unlikely(item == NULL))
		return buf_get_slow(c, tier);
	b = container_of(item, struct buf, item);
	check(b->tier == tier);
	b->off = 0;
	b->len = 0;
	c->in_use++;
	c->in_use_bytes += b->cap;
	return b;
}

/* Takes the buffer back, whatever it contains. Worker thread. */
static inline void buf_put(struct buf_cache *c, struct buf *b)
{
	struct shelf *shelf = &c->tiers[b->tier];

	check(b->tier < BUF_TIERS);
	check((uint64_t)b->off + b->len <= b->cap); /* otherwise its owner wrote past the end */
	check(c->in_use > 0);
	check(c->in_use_bytes >= b->cap);
	/* Each read has just read the same cache line of the pool, in buf_read_bytes(). */
	if (unlikely(shelf->count >= BUF_LOCAL_MAX || buf_pool_is_over(c->pool))) {
		buf_put_slow(c, b);
		return;
	}
	c->in_use--;
	c->in_use_bytes -= b->cap;
	shelf_push(shelf, &b->item);
}

#endif
