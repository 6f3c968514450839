/* SPDX-License-Identifier: MIT
 *
 * buf_pool.c - the slow halves of the buffer pool: allocating, freeing, and moving in batches.
 *
 * Owns all idle buffers and the count of all memory. Never blocks, never calls the allocator under its lock.
 * The header says which thread may call each function.
 */
#include "weir/io/buf_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/counters.h"

static_assert(BUF_MIN << (BUF_TIERS - 1) == BUF_MAX, "the tiers reach from BUF_MIN to BUF_MAX");
static_assert(BUF_BATCH <= BUF_LOCAL_MAX, "a cache that spills holds at least a batch");

/* The memory of a buffer of this tier, header included. */
static uint64_t tier_bytes(uint32_t tier)
{
	return sizeof(struct buf) + (uint64_t)(BUF_MIN << tier);
}

void buf_pool_init(struct buf_pool *p, uint64_t budget_bytes)
{
	memset(p, 0, sizeof(*p));
	spinlock_init(&p->lock);
	buf_pool_set_budget(p, budget_bytes);
}

/* ---- memory ---- */

static bool reserve_bytes(struct buf_pool *p, uint64_t bytes)
{
	uint64_t used = atomic_load_explicit(&p->bytes, memory_order_relaxed);

	do {
		const uint64_t budget = atomic_load_explicit(&p->budget_bytes, memory_order_relaxed);

		if (used >= budget || budget - used < bytes)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&p->bytes, &used, used + bytes, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

static void release_bytes(struct buf_pool *p, uint64_t bytes)
{
	const uint64_t used = atomic_fetch_sub_explicit(&p->bytes, bytes, memory_order_relaxed);

	check(used >= bytes);
}

static void free_buf(struct buf_pool *p, struct buf *b)
{
	const uint64_t bytes = tier_bytes(b->tier);

	check(b->item.next == &b->item);
	check(b->cap == BUF_MIN << b->tier);
	free(b);
	counter_add_shared(&p->freed, 1);
	release_bytes(p, bytes);
}

/* Frees a chain from shelf_age(). */
static void free_dead(struct buf_pool *p, struct shelf_item *chain)
{
	struct shelf_item *item;

	while ((item = shelf_next_dead(&chain)) != NULL)
		free_buf(p, container_of(item, struct buf, item));
}

/* ---- the pool's lists ---- */

static void publish_idle(struct buf_pool *p)
{
	uint64_t bytes = 0;

	for (uint32_t tier = 0; tier < BUF_TIERS; tier++)
		bytes += shelf_size(&p->tiers[tier]) * tier_bytes(tier);
	atomic_store_explicit(&p->idle, bytes, memory_order_relaxed);
}

uint64_t buf_pool_idle(struct buf_pool *p)
{
	return atomic_load_explicit(&p->idle, memory_order_relaxed);
}

bool buf_pool_age(struct buf_pool *p)
{
	struct shelf_item *dead[BUF_TIERS];
	uint64_t left;

	spinlock_lock(&p->lock);
	for (uint32_t tier = 0; tier < BUF_TIERS; tier++)
		dead[tier] = shelf_age(&p->tiers[tier]);
	publish_idle(p);
	left = buf_pool_idle(p);
	spinlock_unlock(&p->lock);
	for (uint32_t tier = 0; tier < BUF_TIERS; tier++)
		free_dead(p, dead[tier]);
	return left != 0;
}

void buf_pool_free(struct buf_pool *p)
{
	/* The second round frees the victims too. */
	while (buf_pool_age(p))
		continue;
	check(atomic_load_explicit(&p->bytes, memory_order_relaxed) == 0);
	check(atomic_load_explicit(&p->created, memory_order_relaxed) ==
	      atomic_load_explicit(&p->freed, memory_order_relaxed));
}

/* Moves up to `max` buffers of a tier from the pool; returns how many. */
static uint32_t take_idle(struct buf_pool *p, uint32_t tier, struct shelf *to, uint32_t max)
{
	uint32_t n;

	if (buf_pool_idle(p) == 0)
		return 0;
	spinlock_lock(&p->lock);
	n = shelf_move(&p->tiers[tier], to, max);
	publish_idle(p);
	spinlock_unlock(&p->lock);
	return n;
}

/* ---- caches ---- */

void buf_cache_init(struct buf_cache *c, struct buf_pool *pool)
{
	memset(c, 0, sizeof(*c));
	c->pool = pool;
}

void buf_cache_free(struct buf_cache *c)
{
	check(c->in_use == 0);
	check(c->in_use_bytes == 0);
	while (buf_cache_age(c))
		continue;
}

bool buf_cache_age(struct buf_cache *c)
{
	uint32_t left = 0;

	for (uint32_t tier = 0; tier < BUF_TIERS; tier++) {
		free_dead(c->pool, shelf_age(&c->tiers[tier]));
		left += shelf_size(&c->tiers[tier]);
	}
	return left != 0;
}

/* Frees one idle buffer, the largest first; false when none is left here or in the pool. The caches of other
 * workers must not be touched. */
static bool free_one_idle(struct buf_cache *c)
{
	struct shelf_item *item;

	for (uint32_t tier = BUF_TIERS; tier-- > 0;) {
		struct shelf one = {.head = NULL};

		item = shelf_pop(&c->tiers[tier]);
		if (item == NULL && take_idle(c->pool, tier, &one, 1) == 1)
			item = shelf_pop(&one);
		if (item != NULL) {
			free_buf(c->pool, container_of(item, struct buf, item));
			return true;
		}
	}
	return false;
}

static struct buf *make_buf(struct buf_cache *c, uint32_t tier)
{
	const uint64_t bytes = tier_bytes(tier);
	struct buf *b;

	/* Each iteration frees a buffer, so this ends. */
	while (!reserve_bytes(c->pool, bytes))
		if (!free_one_idle(c))
			return NULL;
	b = malloc(bytes);
	if (b == NULL) {
		release_bytes(c->pool, bytes);
		return NULL;
	}
	shelf_item_init(&b->item);
	b->tier = tier;
	b->cap = BUF_MIN << tier;
	counter_add_shared(&c->pool->created, 1);
	return b;
}

struct buf *buf_get_slow(struct buf_cache *c, uint32_t tier)
{
	struct shelf *shelf = &c->tiers[tier];
	struct buf *b;

	if (shelf_size(shelf) > 0 || take_idle(c->pool, tier, shelf, BUF_BATCH) > 0)
		b = container_of(shelf_pop(shelf), struct buf, item);
	else
		b = make_buf(c, tier);
	if (b == NULL) {
		counter_add_shared(&c->pool->refused, 1);
		return NULL;
	}
	check(b->tier == tier);
	b->off = 0;
	b->len = 0;
	c->in_use++;
	c->in_use_bytes += b->cap;
	return b;
}

void buf_put_slow(struct buf_cache *c, struct buf *b)
{
	struct buf_pool *p = c->pool;
	struct shelf *shelf = &c->tiers[b->tier];

	c->in_use--;
	c->in_use_bytes -= b->cap;
	if (buf_pool_is_over(p)) {
		free_buf(p, b);
		return;
	}
	shelf_push(shelf, &b->item);
	if (shelf->count <= BUF_LOCAL_MAX)
		return; /* it was over the budget a moment ago */
	/* The youngest move, for the reason given in pipe_pool.c. */
	spinlock_lock(&p->lock);
	shelf_move(shelf, &p->tiers[b->tier], BUF_BATCH);
	publish_idle(p);
	spinlock_unlock(&p->lock);
}
