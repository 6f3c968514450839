/* SPDX-License-Identifier: MIT
 *
 * load.h - the clients of the demo: many at once, on one libev loop.
 *
 * Most make small requests; some upload and some download bulk data. Each verifies every byte. A client whose
 * connection is done connects again, until the load is told to end. Main thread.
 */
#ifndef WEIR_DEMO_LOAD_H
#define WEIR_DEMO_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/net/addr.h"

#define LOAD_CLIENTS	64
#define LOAD_UP		6
#define LOAD_DOWN	6
#define LOAD_ERROR_MAX	128
#define LOAD_PATIENCE_S 20

struct ev_loop;
struct load;

struct load_counts {
	uint64_t connections; /* completed in order */
	uint64_t requests;    /* answered ones */
	uint64_t bytes;	      /* of keyed streams, in both directions */
	uint64_t errors;
	uint64_t waits;	    /* connects delayed because this machine had no port or descriptor left */
	int64_t slowest_ns; /* request, from its sending (or the connect before) to the last byte */
	char first_error[LOAD_ERROR_MAX];
};

/* `to` is copied. NULL if out of memory. */
struct load *load_new(struct ev_loop *loop, const struct addr *to);
/* Closes open connections, which a server may report as resets. */
void load_free(struct load *l);
void load_start(struct load *l);
/* Stops clients from connecting again. Bulk transfers in progress finish first. */
void load_end(struct load *l);
/* Has every client finished? Call only after load_end(). */
bool load_is_idle(const struct load *l);
/* Ends clients that have made no progress for LOAD_PATIENCE_S, and counts them as errors. Call
 * periodically. */
void load_fail_stalled(struct load *l);
const struct load_counts *load_counts(const struct load *l);

#endif
