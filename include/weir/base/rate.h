/* SPDX-License-Identifier: MIT
 *
 * rate.h - limits events per second as HAProxy does: counts this second and a fading share of the one before.
 *
 * A second begins with the first event after a quiet time, and allows `limit` events, even all at once. In
 * the second that follows, those events still count, in proportion to how much of their own second lies less
 * than 1 s back; so under constant demand one event is allowed every 1/limit s. A burst is at most one
 * second's worth and is paid for in the next second, and n seconds of demand allow n * limit events. Any
 * thread: the lock is held for a few instructions.
 *
 * The limit may change at any time: what was counted before counts against the new one.
 */
#ifndef WEIR_BASE_RATE_H
#define WEIR_BASE_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/spinlock.h"

struct rate {
	struct spinlock lock;
	_Atomic uint32_t limit; /* events per second; 0 = no limit. Written under the lock, read without */
	uint32_t current; /* events in the second that began at start_ns */
	uint32_t before;  /* events in the second before that */
	int64_t start_ns;
};

void rate_init(struct rate *r, uint32_t limit);
/* Changes the limit; 0 = none from now on. Without a limit nothing need be counted, so the counts begin anew
 * when there is one again; rate_give_back() ignores events from before. */
void rate_set_limit(struct rate *r, uint32_t limit, int64_t now_ns);
/* The limit at this moment; another thread may change it before the next call. */
static inline uint32_t rate_limit(const struct rate *r)
{
	return atomic_load_explicit(&r->limit, memory_order_relaxed);
}
/* Requests one event: 0 if it is allowed, and then it is counted; otherwise the time at which the next one
 * will be allowed. The times that several threads pass may differ a little. Without a limit every event is
 * allowed. */
int64_t rate_take(struct rate *r, int64_t now_ns);
/* Would rate_take() allow an event now? */
bool rate_has_room(struct rate *r, int64_t now_ns);
/* The limit less the events of this second and of the one before; 0 also when there were more. */
uint32_t rate_room(struct rate *r, int64_t now_ns);
/* Counts an event that happened without rate_take(), even beyond the limit. */
void rate_force(struct rate *r, int64_t now_ns);
/* Takes back an event that rate_take() counted at `since_ns`, because it did not happen or was refused. Does
 * nothing if that second no longer counts: a place from long ago must not make room for another event now. */
void rate_give_back(struct rate *r, int64_t since_ns);

#endif
