/* SPDX-License-Identifier: MIT
 *
 * alarm.h - a wake-up in the far future that costs a sleeping loop nothing.
 *
 * A wait with a timeout starts and stops a kernel timer each time; when the next deadline is minutes away,
 * that is most of the cost of a short sleep. An alarm is a timerfd that the driver watches, set once:
 * deadlines move further away as bytes move, so it is set again only after it has rung, or for an earlier
 * deadline. Owns its descriptor. One thread, its loop's.
 */
#ifndef WEIR_IO_ALARM_H
#define WEIR_IO_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/io/io.h"

struct alarm {
	int fd;        /* owns; readable, edge-triggered, when it rings */
	int64_t at_ns; /* CLOCK_NEVER: not set */
};

/* Opens an alarm that is not set. 0 or -errno. */
int alarm_open(struct alarm *a);
void alarm_close(struct alarm *a);
/* Makes it ring at `deadline_ns` (CLOCK_MONOTONIC) at the latest. 0 or -errno. */
int alarm_by(struct alarm *a, int64_t deadline_ns);
/* How long the loop may wait for `deadline_ns`, in ns: a deadline that is far away (loop->far_ns) is left to
 * the alarm. -1 = until something happens, possibly the alarm. */
int64_t alarm_wait_ns(struct alarm *a, const struct io_loop *loop, int64_t deadline_ns);
/* Call when its descriptor was readable. */
void alarm_rang(struct alarm *a);

#endif
