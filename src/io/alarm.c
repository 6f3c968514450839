/* SPDX-License-Identifier: MIT
 *
 * alarm.c - a wake-up in the far future that costs a sleeping loop nothing.
 *
 * Owns one timerfd. It may ring early, when its deadline no longer exists: the loop then checks its timers
 * and sets it again. One thread, its loop's.
 */
#include "alarm.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"

int alarm_open(struct alarm *a)
{
	a->at_ns = CLOCK_NEVER;
	a->fd = sys_timerfd();
	return a->fd < 0 ? a->fd : 0;
}

void alarm_close(struct alarm *a)
{
	sys_close(a->fd);
	a->fd = -1;
}

int alarm_by(struct alarm *a, int64_t deadline_ns)
{
	int err;

	check(a->at_ns > 0); /* 0 if never opened: it would seem set, and never ring */
	if (a->at_ns <= deadline_ns)
		return 0;
	err = sys_timerfd_set(a->fd, deadline_ns);
	if (!err)
		a->at_ns = deadline_ns;
	return err;
}

int64_t alarm_wait_ns(struct alarm *a, const struct io_loop *loop, int64_t deadline_ns)
{
	if (deadline_ns == CLOCK_NEVER)
		return -1;
	if (deadline_ns <= loop->now_ns)
		return 0;
	if (deadline_ns - loop->now_ns >= loop->far_ns && alarm_by(a, deadline_ns) == 0)
		return -1;
	return deadline_ns - loop->now_ns;
}

void alarm_rang(struct alarm *a)
{
	a->at_ns = CLOCK_NEVER;
}
