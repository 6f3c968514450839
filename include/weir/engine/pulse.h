/* SPDX-License-Identifier: MIT
 *
 * pulse.h - how busy workers are, and how their sessions ended, as control sees it.
 *
 * Asks no worker: it reads what they publish, and the CPU clock of each thread. So it costs a worker nothing,
 * and a worker that hangs is seen to be busy. Control thread.
 */
#ifndef WEIR_ENGINE_PULSE_H
#define WEIR_ENGINE_PULSE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/account/close_reason.h"
#include "weir/account/limited_by.h"
#include "weir/base/figure.h"

struct engine;

struct worker_pulse {
#define PULSE(name, kind, unit, metric, help) uint64_t name;
#include "weir/engine/pulse.tbl.h"
#undef PULSE
};

/* One row of pulse.tbl.h; all text is static. */
struct pulse_row {
	const char *name;
	enum figure_kind kind;
	const char *unit;
	const char *metric;
	const char *help;
	size_t offset; /* in struct worker_pulse; see pulse_at() */
};

/* The row at `i`; NULL past the last. Any thread. */
const struct pulse_row *pulse_row(size_t i);

/* The value at the offset of a row. */
static inline uint64_t pulse_at(const struct worker_pulse *p, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)p + offset);
}

/* Of the worker `worker` of `e`, before engine_join() or after. Before its thread has started, it has used no
 * CPU time. */
void engine_pulse(const struct engine *e, unsigned worker, struct worker_pulse *out);

/* How many clients the process has had whose session ended, or that were turned away, for this reason. Never
 * falls, unlike the sum over all frontends, from which some may have been removed. */
uint64_t engine_closes(const struct engine *e, enum close_reason reason);
/* The same for the last minute before `now_ns` (monotonic). */
uint64_t engine_closes_lately(const struct engine *e, enum close_reason reason, int64_t now_ns);
/* How many of the sessions that ended in that minute this party slowed down. */
uint64_t engine_limits_lately(const struct engine *e, enum limited_by by, int64_t now_ns);

#endif
