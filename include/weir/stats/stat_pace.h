/* SPDX-License-Identifier: MIT
 *
 * stat_pace.h - how fast the process works: measured between one question and the next.
 *
 * Nothing runs while nobody asks, so that an idle daemon sleeps. Control thread.
 */
#ifndef WEIR_STATS_STAT_PACE_H
#define WEIR_STATS_STAT_PACE_H

#include <stdint.h>

struct engine;

struct stat_pace {
	unsigned idle_percent; /* of the time of the workers' CPUs, 0 to 100 */
	uint64_t bytes_per_s;  /* written to clients and servers */
	/* The last measurement. */
	int64_t at_ns;  /* monotonic */
	int64_t cpu_ns; /* of the process */
	uint64_t bytes;
};

/* Idle so far. `now_ns` is the monotonic clock, `cpu_ns` the CPU time of the process. */
static inline void stat_pace_init(struct stat_pace *p, int64_t now_ns, int64_t cpu_ns)
{
	*p = (struct stat_pace){.idle_percent = 100, .at_ns = now_ns, .cpu_ns = cpu_ns};
}

/* Measures over the time since the last measurement, if that is at least a second. */
void stat_pace_measure(struct stat_pace *p, const struct engine *e, int64_t now_ns, int64_t cpu_ns);

#endif
