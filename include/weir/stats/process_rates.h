/* SPDX-License-Identifier: MIT
 *
 * process_rates.h - how fast the process works: connections and bytes per second, and CPU time not used.
 *
 * A plain value, for every report that shows it. Asks no worker. Control thread.
 */
#ifndef WEIR_STATS_PROCESS_RATES_H
#define WEIR_STATS_PROCESS_RATES_H

#include <stdint.h>

struct engine;
struct stat_pace;

struct process_rates {
	uint64_t connections;     /* of all frontends, in the last second */
	uint64_t connections_max; /* their maxima may be of different seconds: at least the largest of them */
	uint64_t bytes;           /* per second over the last measurement of `pace` */
	unsigned idle_percent;    /* likewise */
};

/* Before the engine has workers, nothing has come in. `pace` may be NULL: then all CPU time is idle. */
struct process_rates process_rates_now(struct engine *e, struct stat_pace *pace);

#endif
