/* SPDX-License-Identifier: MIT
 *
 * alarm.h - a wake-up in the far future that costs a loop nothing while it sleeps.
 *
 * A wait with a timeout starts and stops a timer of the kernel each time; where the next deadline is
 * minutes away that is most of what a short sleep costs. An alarm is a timerfd that the driver watches, set
 * once: deadlines move further away as bytes move, so it is set again only when it has rung, or for a
 * deadline that comes sooner. Owns its descriptor. One thread, its loop's.
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

/* 0 or -errno; not set. */
int alarm_open(struct alarm *a);
void alarm_close(struct alarm *a);
/* It rings at `deadline_ns` (CLOCK_MONOTONIC) at the latest. 0 or -errno. */
int alarm_by(struct alarm *a, int64_t deadline_ns);
/* How long the loop's wait may be for `deadline_ns`, in ns: one that is far away (loop->far_ns) is left to
 * the alarm. -1 = until something happens, which may be the alarm. */
int64_t alarm_wait_ns(struct alarm *a, const struct io_loop *loop, int64_t deadline_ns);
/* Its descriptor was readable. */
void alarm_rang(struct alarm *a);

#endif
