/* SPDX-License-Identifier: MIT
 *
 * rate.h - how many may come in a second, as HAProxy counts them: this second, and what is left of the last.
 *
 * A second begins with the first who comes after a pause. In it `limit` may come, at once if they like.
 * In the next one those before them count by the part of a second that still looks back at them, so that
 * under pressure one comes each 1/limit s. So a burst is one second's worth, it is paid for in the second
 * that follows, and n seconds of pressure let in n * limit.
 * Any thread: the lock is held for a few instructions.
 */
#ifndef WEIR_BASE_RATE_H
#define WEIR_BASE_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/spinlock.h"

struct rate {
	struct spinlock lock;
	uint32_t limit;   /* a second; 0 = none, and nothing is counted */
	uint32_t current; /* in the second that began at start_ns */
	uint32_t before;  /* in the one before */
	int64_t start_ns;
};

void rate_init(struct rate *r, uint32_t limit);
/* One wants to come: 0 when it may and was counted, else the time when the next may. The times of several
 * threads may differ by a little. `limit` must not be 0. */
int64_t rate_take(struct rate *r, int64_t now_ns);
/* Would rate_take() let one in? */
bool rate_has_room(struct rate *r, int64_t now_ns);
/* How many more may come than have come in this second and the one before; 0 also when there were more. */
uint32_t rate_room(struct rate *r, int64_t now_ns);
/* One came without being asked: counted all the same. */
void rate_force(struct rate *r, int64_t now_ns);
/* Nobody came for what rate_take() had counted at `since_ns`, or somebody who was not let in. Does nothing
 * where that second counts no more: a place that is long over must not make room for another one now. */
void rate_give_back(struct rate *r, int64_t since_ns);

#endif
