/* SPDX-License-Identifier: MIT
 *
 * session_timer.c - the timer of a session has fired.
 *
 * Owns the second look at a session that seems idle. Each phase decides what a deadline means to it. A
 * worker's thread.
 */
#include "session_timer.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"
#include "weir/engine/source_wait.h"
#include "admission.h"
#include "connect.h"
#include "session.h"
#include "session_deadline.h"
#include "session_drain.h"
#include "session_end.h"
#include "sniff.h"
#include "worker.h"

/* We have moved nothing for a whole timeout. But a slow reader may be emptying the kernel's queue, and no
 * event reports that until a third of it is free: as long as acknowledgements arrive, the session lives. So
 * note the unacknowledged bytes, and look at them again half a timeout later. After a reset, only the
 * deadline of the delivery counts. */
static bool is_still_moving(struct session *s)
{
	const int64_t now_ns = s->worker->loop.now_ns;
	const uint32_t before[2] = {s->unacked[SIDE_CLIENT], s->unacked[SIDE_SERVER]};

	check(s->sides[SIDE_CLIENT].sock.fd >= 0);
	check(s->sides[SIDE_SERVER].sock.fd >= 0);
	for (int side = SIDE_CLIENT; side <= SIDE_SERVER; side++)
		s->unacked[side] = io_unacked(&s->sides[side].sock);
	if (s->unacked[SIDE_CLIENT] + s->unacked[SIDE_SERVER] == 0 || s->failed)
		return false;
	if (s->looked_at) {
		s->looked_at = false;
		if (memcmp(before, s->unacked, sizeof(before)) == 0)
			return false;
		s->last_ns = now_ns;
		return true;
	}
	check(now_ns >= s->last_ns);
	s->looked_at = true;
	s->fixed_ns = now_ns + (now_ns - s->last_ns) / 2;
	return true;
}

void session_timer_fired(struct timer *t)
{
	struct session *s = container_of(t, struct session, timer);
	enum close_reason why;

	crash_report_session(s->number);
	check(!timer_is_set(t));
	check(s->state > SESSION_ACCEPTED);
	s->last_ns = io_late_ns(&s->worker->loop, s->last_ns);
	if (unlikely(s->drains) && session_drain_fired(s))
		return;
	if (session_deadline(s, &why) > s->worker->loop.now_ns) {
		/* Bytes have moved since; or it fired for a drain, before the time of the second look. */
		if (likely(!s->drains) || s->worker->loop.now_ns >= s->fixed_ns)
			s->looked_at = false;
		session_rearm(s);
		return;
	}
	if (session_is_forwarding(s) && why != CLOSE_LIFETIME && is_still_moving(s)) {
		session_rearm(s);
		return;
	}
	if (s->state == SESSION_CLOSING)
		session_hurry(s);
	else if (s->state == SESSION_HELD)
		admission_held_no_more(s, source_wait_end(s));
	else if (s->state == SESSION_FORWARDING || s->state == SESSION_QUEUED ||
		 s->state == SESSION_RESOLVING || why == CLOSE_LIFETIME)
		session_close(s, why);
	else if (s->state == SESSION_HANDSHAKE)
		admission_header_late(s);
	else if (s->state == SESSION_SNIFFING)
		sniff_late(s);
	else
		connect_timer(s);
}
