/* SPDX-License-Identifier: MIT
 *
 * session.c - one client connection, one server connection, two flows: the states, and what it uses.
 *
 * Separate files cover how a session begins, how long it may live and how it ends (session_begin.c,
 * session_deadline.c, session_timer.c, session_end.c). A worker's thread.
 */
#include "session.h"

#include "weir/base/check.h"
#include "worker.h"

/* The states of a session that looks for a server, waits for one or tries one. */
#define AT_SERVER                                                                                            \
	(1 << SESSION_QUEUED | 1 << SESSION_RESOLVING | 1 << SESSION_CONNECTING | 1 << SESSION_WAITING)

void session_set_state(struct session *s, enum session_state state)
{
	/* One row per state: the states that may follow. */
	static const uint16_t next[] = {
		[SESSION_FREE] = 1 << SESSION_ACCEPTED,
		[SESSION_ACCEPTED] = 1 << SESSION_HANDSHAKE | 1 << SESSION_HELD | 1 << SESSION_SNIFFING |
				     AT_SERVER | 1 << SESSION_CLOSING,
		[SESSION_HANDSHAKE] = 1 << SESSION_HELD | 1 << SESSION_SNIFFING | AT_SERVER |
				      1 << SESSION_CLOSING,
		[SESSION_HELD] = 1 << SESSION_SNIFFING | AT_SERVER | 1 << SESSION_CLOSING,
		[SESSION_SNIFFING] = AT_SERVER | 1 << SESSION_CLOSING,
		[SESSION_QUEUED] = AT_SERVER | 1 << SESSION_CLOSING,
		[SESSION_RESOLVING] = 1 << SESSION_CONNECTING | 1 << SESSION_CLOSING,
		[SESSION_CONNECTING] = AT_SERVER | 1 << SESSION_FORWARDING | 1 << SESSION_CLOSING,
		[SESSION_WAITING] = AT_SERVER | 1 << SESSION_CLOSING,
		[SESSION_FORWARDING] = 1 << SESSION_CLOSING,
		[SESSION_CLOSING] = 1 << SESSION_FREE,
	};

	check(s->state < ARRAY_LEN(next));
	check(next[s->state] & 1 << state);
	s->state = (uint8_t)state;
}

static void give_back(struct worker *w, const struct counted *c)
{
	if (unlikely(counted_give_back(&w->counts, c)))
		w->engine->notify(w->engine->notify_arg); /* control may free it now */
}

void session_use_backend(struct session *s, const struct backend *b)
{
	const struct backend_settings *before = s->back;

	s->back = backend_settings(b);
	counted_take(&s->worker->counts, &s->back->version.counted);
	if (before != NULL)
		give_back(s->worker, &before->version.counted);
}

void session_use_server(struct session *s, const struct server *server)
{
	const struct server_settings *before = s->at;

	s->at = server_settings(server);
	counted_take(&s->worker->counts, &s->at->version.counted);
	if (before != NULL)
		give_back(s->worker, &before->version.counted);
}

void session_use_nothing(struct session *s)
{
	give_back(s->worker, &s->entry->counted);
	give_back(s->worker, &s->back->version.counted);
	if (s->at != NULL)
		give_back(s->worker, &s->at->version.counted);
	s->entry = NULL;
	s->back = NULL;
	s->at = NULL;
}
