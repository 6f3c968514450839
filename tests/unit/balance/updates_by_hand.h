/* SPDX-License-Identifier: MIT
 *
 * updates_by_hand.h - changes of servers without a loop: the test says when a turn ends.
 */
#ifndef WEIR_TESTS_UPDATES_BY_HAND_H
#define WEIR_TESTS_UPDATES_BY_HAND_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/base/clock.h"

struct updates_by_hand {
	struct server_updates updates;
	bool end_due;   /* server_updates_publish() was asked for */
	int64_t due_ns; /* when server_updates_wake() was asked for; CLOCK_NEVER = it was not */
};

static inline void by_hand_at_end(void *arg)
{
	struct updates_by_hand *h = arg;

	h->end_due = true;
}

static inline void by_hand_at(void *arg, int64_t at_ns)
{
	struct updates_by_hand *h = arg;

	h->due_ns = at_ns;
}

static inline void updates_by_hand_init(struct updates_by_hand *h, struct backend **backends, size_t count)
{
	const struct server_updates_loop calls = {.at_end = by_hand_at_end, .at = by_hand_at, .arg = h};

	h->end_due = false;
	h->due_ns = CLOCK_NEVER;
	server_updates_init(&h->updates, backends, count, &calls);
}

/* A turn that ends at `now_ns` makes the calls that are due by then. */
static inline void updates_by_hand_turn(struct updates_by_hand *h, int64_t now_ns)
{
	if (h->due_ns <= now_ns) {
		h->due_ns = CLOCK_NEVER;
		server_updates_wake(&h->updates, now_ns);
	}
	if (h->end_due) {
		h->end_due = false;
		server_updates_publish(&h->updates);
	}
}

/* Nothing is waited for. */
static inline bool updates_by_hand_idle(const struct updates_by_hand *h)
{
	return !h->end_due && h->due_ns == CLOCK_NEVER;
}

#endif
