/* SPDX-License-Identifier: MIT
 *
 * source_rates.h - how many new connections each source may open in a time: an IPv4 address, or the /64 of an
 * IPv6 one.
 *
 * A token bucket per source (GCRA, ITU-T I.371): all that is kept is the time at which the bucket will be
 * full again. A table has room for a fixed number of sources. A source whose bucket is full again needs no
 * place, which then goes to another source; while no such place is found, sources without one are let in.
 * Which entries share a chain depends on a random seed of this process, so nobody can choose addresses that
 * do. Any thread; the times that threads pass may differ a little.
 */
#ifndef WEIR_NET_SOURCE_RATES_H
#define WEIR_NET_SOURCE_RATES_H

#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

struct source_rates; /* opaque */

/* The places of a frontend's table; the simulator has fewer. */
#ifndef SOURCE_RATES_MAX
#define SOURCE_RATES_MAX 100000u
#endif

/* A limit, as source_rate_of() makes it. */
struct source_rate {
	int64_t each_ns;  /* time in which a bucket gets one token; 0 = no limit */
	int64_t whole_ns; /* time in which an empty bucket gets full: that for each, times the burst */
};

enum source_rate_verdict {
	SOURCE_RATE_PASSED, /* counted */
	SOURCE_RATE_OVER,   /* not counted: who keeps trying is let in at the same rate */
	SOURCE_RATE_NO_ROOM /* not counted, for lack of a place: to be let in */
};

/* `count` in `period_ns`, and up to `burst` at once after a quiet time; all above 0, `count` no more than one
 * per nanosecond, `burst` * `period_ns` / `count` below 2^62. A count of 0 is no limit. */
struct source_rate source_rate_of(unsigned count, int64_t period_ns, unsigned burst);

/* A table with `most` places, from 1 to 2^24; the kernel gives it memory only as places are used. NULL when
 * out of memory. */
struct source_rates *source_rates_new(size_t most);
void source_rates_free(struct source_rates *t); /* NULL is allowed */
/* The memory of a table all of whose places are used. */
size_t source_rates_bytes(size_t most);

/* Requests a new connection for the source of `a`, which is IPv4 or IPv6. `rate` is a limit; it may differ
 * from that of earlier calls, but a source never waits for longer than it takes to fill a bucket of the limit
 * in effect, and a second. Allocates nothing. */
enum source_rate_verdict source_rates_take(struct source_rates *t, const struct addr_brief *a,
					   const struct source_rate *rate, int64_t now_ns);
/* For how long the source of `a` must wait for its next connection; 0 = it need not. Counts nothing. */
int64_t source_rates_wait_ns(struct source_rates *t, const struct addr_brief *a,
			     const struct source_rate *rate, int64_t now_ns);
/* How many places sources have. Walks the whole table; for tests. */
size_t source_rates_size(struct source_rates *t);

#endif
