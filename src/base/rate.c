/* SPDX-License-Identifier: MIT
 *
 * rate.c - limits events per second as HAProxy does (its freq_ctr and next_event_delay()).
 *
 * Unlike HAProxy's, a second is not one of the wall clock: it begins with the first event. Any thread.
 */
#include "weir/base/rate.h"

#include "weir/base/clock.h"

void rate_init(struct rate *r, uint32_t limit)
{
	spinlock_init(&r->lock);
	atomic_init(&r->limit, limit);
	r->current = 0;
	r->before = 0;
	r->start_ns = 0;
}

void rate_set_limit(struct rate *r, uint32_t limit, int64_t now_ns)
{
	spinlock_lock(&r->lock);
	if (rate_limit(r) == 0) {
		r->current = 0;
		r->before = 0;
		r->start_ns = now_ns;
	}
	atomic_store_explicit(&r->limit, limit, memory_order_relaxed);
	spinlock_unlock(&r->lock);
}

/* Makes the second that contains `now_ns` the current one. Returns how far into it `now_ns` is; 0 if it is
 * earlier, because another worker's time may be a little ahead of ours. */
static int64_t move_to(struct rate *r, int64_t now_ns)
{
	const int64_t past_ns = now_ns - r->start_ns;

	if (past_ns >= 2 * NS_PER_SEC) {
		r->before = 0;
		r->current = 0;
		r->start_ns = now_ns;
	} else if (past_ns >= NS_PER_SEC) {
		r->before = r->current;
		r->current = 0;
		r->start_ns += NS_PER_SEC;
	}
	return now_ns > r->start_ns ? now_ns - r->start_ns : 0;
}

/* How far into a second the events of the one before count for less than `room`, which is > 0. */
static int64_t moment_for(uint32_t before, uint32_t room)
{
	if (before < room)
		return 0;
	return NS_PER_SEC - (int64_t)((uint64_t)room * NS_PER_SEC / before) + 1;
}

/* When the next event may happen: 0 = now. */
static int64_t due(struct rate *r, int64_t now_ns)
{
	const int64_t at_ns = move_to(r, now_ns);
	const uint32_t limit = rate_limit(r);

	if (limit == 0)
		return 0;
	if (r->current >= limit)
		return r->start_ns + NS_PER_SEC + moment_for(r->current, limit);
	if (at_ns < moment_for(r->before, limit - r->current))
		return r->start_ns + moment_for(r->before, limit - r->current);
	return 0;
}

int64_t rate_take(struct rate *r, int64_t now_ns)
{
	int64_t due_ns;

	spinlock_lock(&r->lock);
	due_ns = due(r, now_ns);
	if (due_ns == 0 && r->current < UINT32_MAX)
		r->current++;
	spinlock_unlock(&r->lock);
	return due_ns;
}

bool rate_has_room(struct rate *r, int64_t now_ns)
{
	int64_t due_ns;

	spinlock_lock(&r->lock);
	due_ns = due(r, now_ns);
	spinlock_unlock(&r->lock);
	return due_ns == 0;
}

uint32_t rate_room(struct rate *r, int64_t now_ns)
{
	uint32_t limit;
	uint64_t came;

	spinlock_lock(&r->lock);
	(void)move_to(r, now_ns); /* where in it does not matter */
	came = (uint64_t)r->current + r->before;
	limit = rate_limit(r);
	spinlock_unlock(&r->lock);
	return came < limit ? limit - (uint32_t)came : 0;
}

void rate_force(struct rate *r, int64_t now_ns)
{
	spinlock_lock(&r->lock);
	(void)move_to(r, now_ns); /* where in it does not matter */
	if (r->current < UINT32_MAX)
		r->current++;
	spinlock_unlock(&r->lock);
}

void rate_give_back(struct rate *r, int64_t since_ns)
{
	spinlock_lock(&r->lock);
	if (since_ns >= r->start_ns && r->current > 0)
		r->current--;
	else if (since_ns >= r->start_ns - NS_PER_SEC && r->before > 0)
		r->before--; /* a second has ended since */
	spinlock_unlock(&r->lock);
}
