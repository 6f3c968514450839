/* SPDX-License-Identifier: MIT
 *
 * session.c - one client connection, one server connection, two flows: the states.
 *
 * Separate files cover how a session begins, how long it may live and how it ends (session_begin.c,
 * session_deadline.c, session_timer.c, session_end.c). A worker's thread.
 */
#include "session.h"

#include "weir/base/check.h"

void session_set_state(struct session *s, enum session_state state)
{
	/* One row per state: the states that may follow. */
	static const uint16_t next[] = {
		[SESSION_FREE] = 1 << SESSION_ACCEPTED,
		[SESSION_ACCEPTED] = 1 << SESSION_HANDSHAKE | 1 << SESSION_HELD | 1 << SESSION_QUEUED |
				     1 << SESSION_CONNECTING | 1 << SESSION_WAITING | 1 << SESSION_CLOSING,
		[SESSION_HANDSHAKE] = 1 << SESSION_HELD | 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING |
				      1 << SESSION_WAITING | 1 << SESSION_CLOSING,
		[SESSION_HELD] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				 1 << SESSION_CLOSING,
		[SESSION_QUEUED] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				   1 << SESSION_CLOSING,
		[SESSION_CONNECTING] = 1 << SESSION_QUEUED | 1 << SESSION_WAITING | 1 << SESSION_CONNECTING |
				       1 << SESSION_FORWARDING | 1 << SESSION_CLOSING,
		[SESSION_WAITING] = 1 << SESSION_QUEUED | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING |
				    1 << SESSION_CLOSING,
		[SESSION_FORWARDING] = 1 << SESSION_CLOSING,
		[SESSION_CLOSING] = 1 << SESSION_FREE,
	};

	check(s->state < ARRAY_LEN(next));
	check(next[s->state] & 1 << state);
	s->state = (uint8_t)state;
}
