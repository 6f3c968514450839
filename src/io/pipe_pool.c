/* SPDX-License-Identifier: MIT
 *
 * pipe_pool.c - the slow halves of the pipe pool: creating, shrinking, closing, and moving in batches.
 *
 * Owns all idle pipes and the count of all that exist. Hands out only empty pipes; never blocks, never makes
 * a system call under its lock. The header says which thread may call each function.
 */
#include "weir/io/pipe_pool.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/counters.h"
#include "weir/sys/sys.h"

static_assert(sizeof(struct pipe) == 64, "a pipe is one cache line");
static_assert((PIPE_SLOTS_MIN & (PIPE_SLOTS_MIN - 1)) == 0, "halving a size ends at the smallest one");

/* The size of a new pipe when all pipes together use `used` bytes: want_bytes while half of the budget is
 * free, half of that while a quarter is free, and so on. So the last part of the budget is always left for
 * the smallest pipes, of which the most fit. */
static uint32_t size_for(const struct pipe_pool *p, uint64_t used, uint64_t budget)
{
	const uint64_t left = used < budget ? budget - used : 0;
	uint64_t part = budget / 2;
	uint32_t size = atomic_load(&p->want_bytes);

	while (size > p->min_bytes && (left < part || left < size)) {
		size /= 2;
		part /= 2;
	}
	check(size >= p->min_bytes);
	return size;
}

/* Do more pipes exist than the limits allow, which have been lowered since? Pipes get smaller before they get
 * fewer, so what counts in the budget is the smallest size. */
static bool is_over_limit(const struct pipe_pool *p)
{
	const unsigned made = atomic_load(&p->made);

	return made > atomic_load(&p->max) ||
	       (uint64_t)made * p->min_bytes > atomic_load(&p->budget_bytes);
}

/* The size above which a returned pipe needs attention. */
static uint32_t largest_to_keep(const struct pipe_pool *p)
{
	return is_over_limit(p) ? 0 : size_for(p, atomic_load(&p->bytes), atomic_load(&p->budget_bytes));
}

/* Publishes that size for pipe_put(). Several threads may do so at once, one of them with values that have
 * changed meanwhile. Every writer changes a value first and compares again after its own store, both
 * sequentially consistent, so the last store is right. */
static void update_size_now(struct pipe_pool *p)
{
	uint32_t size = largest_to_keep(p);

	/* Every put of every worker reads this cache line: do not write it while nothing changes. */
	while (atomic_load(&p->size_now) != size) {
		atomic_store(&p->size_now, size);
		size = largest_to_keep(p);
	}
}

void pipe_pool_init(struct pipe_pool *p, uint32_t max, uint32_t want_bytes, uint64_t budget_bytes)
{
	memset(p, 0, sizeof(*p));
	spinlock_init(&p->lock);
	p->min_bytes = PIPE_SLOTS_MIN * sys_page_bytes();
	pipe_pool_set_limits(p, max, want_bytes, budget_bytes);
}

void pipe_pool_set_limits(struct pipe_pool *p, uint32_t max, uint32_t want_bytes, uint64_t budget_bytes)
{
	check(want_bytes <= INT_MAX);
	check((want_bytes & (want_bytes - 1)) == 0);
	atomic_store(&p->max, max);
	atomic_store(&p->want_bytes, want_bytes > p->min_bytes ? want_bytes : p->min_bytes);
	atomic_store(&p->budget_bytes, budget_bytes);
	update_size_now(p);
}

/* ---- creating and closing ---- */

/* Reserves one of `max` pipes; exact, whatever other threads do. */
static bool reserve_count(struct pipe_pool *p)
{
	unsigned made = atomic_load_explicit(&p->made, memory_order_relaxed);

	do {
		if (made >= atomic_load_explicit(&p->max, memory_order_relaxed))
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&p->made, &made, made + 1, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

/* Reserves the bytes of one pipe; returns its size, or 0 when not even the smallest one fits. */
static uint32_t reserve_bytes(struct pipe_pool *p)
{
	uint64_t used = atomic_load_explicit(&p->bytes, memory_order_relaxed);
	uint32_t size;

	do {
		const uint64_t budget = atomic_load_explicit(&p->budget_bytes, memory_order_relaxed);

		size = size_for(p, used, budget);
		if (used >= budget || budget - used < size)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&p->bytes, &used, used + size, memory_order_relaxed,
							memory_order_relaxed));
	return size;
}

static void release_place(struct pipe_pool *p, uint32_t bytes)
{
	const uint64_t used = atomic_fetch_sub(&p->bytes, bytes);
	const unsigned made = atomic_fetch_sub(&p->made, 1);

	check(used >= bytes);
	check(made > 0);
	update_size_now(p);
}

/* Opens both ends and reads back the real size. 0 or -errno; -ENOSPC when the kernel gave too few slots. */
static int open_pipe(struct pipe_pool *p, struct pipe *pipe, uint32_t want_bytes)
{
	int fds[2];
	int err = sys_pipe(fds);
	int cap;

	if (err)
		return err;
	cap = sys_pipe_set_size(fds[0], (int)want_bytes);
	/* EPERM: this user's pages are used up, perhaps by other processes. The pipe's initial size is good
	 * enough if it has the slots; near that limit it has two (alloc_pipe_info() in fs/pipe.c). */
	if (cap < 0)
		cap = sys_pipe_size(fds[0]);
	if (cap < (int)p->min_bytes) {
		sys_close(fds[0]);
		sys_close(fds[1]);
		counter_add_shared(&p->too_small, 1);
		return -ENOSPC;
	}
	pipe->rd = fds[0];
	pipe->wr = fds[1];
	pipe->bytes = 0;
	pipe->cap = (uint32_t)cap;
	shelf_item_init(&pipe->item);
	return 0;
}

/* Corrects the count of a pipe that has `cap` bytes and for which `reserved` were counted. */
static void account(struct pipe_pool *p, uint32_t reserved, uint32_t cap)
{
	uint64_t before = 0;

	if (cap > reserved)
		atomic_fetch_add(&p->bytes, cap - reserved);
	else
		before = atomic_fetch_sub(&p->bytes, reserved - cap);
	check(cap >= reserved || before >= reserved);
	update_size_now(p);
}

static struct pipe *make_pipe(struct pipe_pool *p)
{
	struct pipe *pipe;
	uint32_t size;

	if (!reserve_count(p))
		return NULL;
	size = reserve_bytes(p);
	if (size == 0) {
		release_place(p, 0);
		return NULL;
	}
	pipe = aligned_alloc(_Alignof(struct pipe), sizeof(*pipe));
	if (pipe == NULL || open_pipe(p, pipe, size) != 0) {
		free(pipe);
		release_place(p, size);
		return NULL;
	}
	account(p, size, pipe->cap);
	counter_add_shared(&p->created, 1);
	return pipe;
}

/* Takes ownership of the pipe. The count is decreased last, so that there are never more descriptors than
 * counted. */
static void close_pipe(struct pipe_pool *p, struct pipe *pipe)
{
	const uint32_t cap = pipe->cap;

	check(pipe->item.next == &pipe->item);
	check(cap >= p->min_bytes);
	sys_close(pipe->rd);
	sys_close(pipe->wr);
	free(pipe);
	counter_add_shared(&p->closed, 1);
	release_place(p, cap);
}

/* Closes a chain from shelf_age(). */
static void close_dead(struct pipe_pool *p, struct shelf_item *chain)
{
	struct shelf_item *item;

	while ((item = shelf_next_dead(&chain)) != NULL)
		close_pipe(p, container_of(item, struct pipe, item));
}

/* Returns pages to the kernel; on failure the pipe stays as it is. The pipe is empty, so no content prevents
 * it. */
static void shrink_pipe(struct pipe_pool *p, struct pipe *pipe, uint32_t size)
{
	const int cap = sys_pipe_set_size(pipe->rd, (int)size);
	const uint32_t before = pipe->cap;

	check(pipe->bytes == 0);
	if (cap < (int)p->min_bytes)
		return;
	pipe->cap = (uint32_t)cap;
	account(p, before, pipe->cap);
}

/* ---- the pool's list ---- */

static void publish_idle(struct pipe_pool *p)
{
	atomic_store_explicit(&p->idle, shelf_size(&p->list), memory_order_relaxed);
}

uint32_t pipe_pool_idle(struct pipe_pool *p)
{
	return atomic_load_explicit(&p->idle, memory_order_relaxed);
}

bool pipe_pool_age(struct pipe_pool *p)
{
	struct shelf_item *dead;
	bool is_empty;

	spinlock_lock(&p->lock);
	dead = shelf_age(&p->list);
	is_empty = shelf_size(&p->list) == 0;
	publish_idle(p);
	spinlock_unlock(&p->lock);
	close_dead(p, dead);
	return !is_empty;
}

void pipe_pool_free(struct pipe_pool *p)
{
	/* The second round closes the victims too. */
	while (pipe_pool_age(p))
		continue;
	check(atomic_load_explicit(&p->made, memory_order_relaxed) == 0);
	check(atomic_load_explicit(&p->bytes, memory_order_relaxed) == 0);
	check(atomic_load_explicit(&p->created, memory_order_relaxed) ==
	      atomic_load_explicit(&p->closed, memory_order_relaxed));
}

static uint32_t refill(struct pipe_cache *c)
{
	struct pipe_pool *p = c->pool;
	uint32_t n;

	/* While there is nothing to take, the workers of a daemon out of pipes do not contend for the
	 * lock. */
	if (pipe_pool_idle(p) == 0)
		return 0;
	spinlock_lock(&p->lock);
	n = shelf_move(&p->list, &c->list, PIPE_BATCH);
	publish_idle(p);
	spinlock_unlock(&p->lock);
	return n;
}

/* The youngest move: they are at the head, so only items that move are walked; they are warm in cache for the
 * next user; and the oldest stay behind to age. */
static void spill(struct pipe_cache *c)
{
	struct pipe_pool *p = c->pool;

	spinlock_lock(&p->lock);
	shelf_move(&c->list, &p->list, PIPE_BATCH);
	publish_idle(p);
	spinlock_unlock(&p->lock);
}

/* ---- caches ---- */

void pipe_cache_init(struct pipe_cache *c, struct pipe_pool *pool, uint32_t local_max)
{
	memset(c, 0, sizeof(*c));
	c->pool = pool;
	pipe_cache_set_max(c, local_max);
}

void pipe_cache_free(struct pipe_cache *c)
{
	check(c->in_use == 0);
	while (pipe_cache_age(c))
		continue;
}

bool pipe_cache_age(struct pipe_cache *c)
{
	close_dead(c->pool, shelf_age(&c->list));
	return shelf_size(&c->list) != 0;
}

struct pipe *pipe_get_slow(struct pipe_cache *c)
{
	struct pipe *pipe;

	if (shelf_size(&c->list) > 0 || refill(c) > 0)
		pipe = container_of(shelf_pop(&c->list), struct pipe, item);
	else
		pipe = make_pipe(c->pool);
	if (pipe == NULL) {
		counter_add_shared(&c->pool->refused, 1);
		return NULL;
	}
	check(pipe->bytes == 0);
	c->in_use++;
	return pipe;
}

void pipe_put_slow(struct pipe_cache *c, struct pipe *pipe)
{
	struct pipe_pool *p = c->pool;
	uint32_t size;

	check(c->in_use > 0);
	check(pipe->item.next == &pipe->item);
	check(pipe->bytes <= pipe->cap);
	c->in_use--;
	if (pipe->bytes != 0) {
		c->killed++;
		close_pipe(p, pipe);
		return;
	}
	size = size_for(p, atomic_load(&p->bytes), atomic_load(&p->budget_bytes));
	if (pipe->cap > size)
		shrink_pipe(p, pipe, size);
	if (unlikely(is_over_limit(p))) {
		close_pipe(p, pipe);
		return;
	}
	shelf_push(&c->list, &pipe->item);
	if (c->list.count > atomic_load_explicit(&c->local_max, memory_order_relaxed))
		spill(c);
}
