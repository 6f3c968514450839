/* SPDX-License-Identifier: MIT
 *
 * load.h - the clients of the demo: many at once, in one libev loop.
 *
 * Most talk in small requests, some send and some fetch bulk; each verifies every byte. A client
 * whose connection is done connects anew, until the load is told to end. Main thread.
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
	uint64_t connections; /* that came to their end in order */
	uint64_t requests;    /* answered */
	uint64_t bytes;	      /* keyed bytes, both ways */
	uint64_t errors;
	uint64_t waits;	    /* connects put off because this machine had no port or descriptor left */
	int64_t slowest_ns; /* request, from its sending (or the connect before it) to its last byte */
	char first_error[LOAD_ERROR_MAX];
};

/* `to` is copied. NULL without memory. */
struct load *load_new(struct ev_loop *loop, const struct addr *to);
/* Closes what is still open, which a server may call a reset. */
void load_free(struct load *l);
void load_start(struct load *l);
/* No client connects again. Bulk that is under way comes to its end first. */
void load_end(struct load *l);
/* Is every client done? Only after load_end(). */
bool load_is_idle(const struct load *l);
/* Ends clients that have moved nothing for LOAD_PATIENCE_S, as errors. Called now and then. */
void load_check_stalls(struct load *l);
const struct load_counts *load_counts(const struct load *l);

#endif
