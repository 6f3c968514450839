/* SPDX-License-Identifier: MIT
 *
 * failing.c - notes failures of sessions, and of clients that never became one, in the rings of a worker.
 *
 * A worker's thread, except for engine_failures().
 */
#include "failing.h"

#include <string.h>

#include "weir/account/failure.h"
#include "weir/base/check.h"
#include "extra.h"
#include "payload.h"
#include "server_port.h"
#include "worker.h"

static void copy_name(char to[static CONFIG_NAME_MAX], const char *name)
{
	memcpy(to, name, CONFIG_NAME_MAX);
}

static enum failure_group group_of(enum failure_phase phase)
{
	return phase == FAILURE_ADMISSION || phase == FAILURE_HANDSHAKE ? FAILURES_OF_OUTSIDERS
									 : FAILURES_OF_SESSIONS;
}

static void note(struct worker *w, const struct failure *f)
{
	failure_add(&w->failures[group_of((enum failure_phase)f->phase)], f);
}

void failing_turned_away(struct worker *w, const struct endpoint_settings *entry,
			 const struct addr_brief *client, enum close_reason why, uint32_t number)
{
	struct failure f;

	memset(&f, 0, sizeof(f));
	f.at_ns = w->loop.now_ns;
	f.client = *client;
	f.worker = w->index;
	f.number = number;
	f.phase = FAILURE_ADMISSION;
	f.reason = (uint8_t)why;
	copy_name(f.frontend, entry->front->config->name);
	note(w, &f);
}

static void note_session(const struct session *s, enum failure_phase phase, enum close_reason reason, int err)
{
	struct failure f;

	check(err <= 0);
	memset(&f, 0, sizeof(f));
	f.at_ns = s->worker->loop.now_ns;
	f.age_ns = f.at_ns - s->accepted_ns;
	f.bytes_to_server = payload_to_server(s);
	f.bytes_to_client = s->flows[FLOW_TO_CLIENT].bytes_out;
	f.client = s->client;
	f.worker = s->worker->index;
	f.number = s->number;
	f.err = -err;
	f.phase = (uint8_t)phase;
	f.reason = (uint8_t)reason;
	f.tries = s->tries;
	copy_name(f.frontend, s->entry->front->config->name);
	if (s->backend_counted)
		copy_name(f.backend, s->back->config->name);
	if (s->at != NULL) {
		copy_name(f.server, s->at->config->name);
		f.server_address = server_port_shown(s);
	}
	note(s->worker, &f);
}

void failing_connect(struct session *s, int err, enum close_reason reason)
{
	check(err < 0);
	s->try_failed = true;
	note_session(s, FAILURE_CONNECT, reason, err);
}

void failing_side(const struct session *s, enum side_name side, int err)
{
	check(err < 0);
	note_session(s, side == SIDE_CLIENT ? FAILURE_CLIENT : FAILURE_SERVER, (enum close_reason)s->reason,
		     err);
}

/* Whose timeout, or whose fault, was it? */
static enum failure_phase established_phase(enum close_reason reason)
{
	switch (reason) {
	case CLOSE_CLIENT_RESET:
	case CLOSE_CLIENT_LOST:
	case CLOSE_CLIENT_TIMEOUT:
		return FAILURE_CLIENT;
	case CLOSE_SERVER_RESET:
	case CLOSE_SERVER_LOST:
	case CLOSE_SERVER_TIMEOUT:
	case CLOSE_SERVER_DOWN:
		return FAILURE_SERVER;
	default:
		return FAILURE_SESSION;
	}
}

static enum failure_phase phase_of(const struct session *s)
{
	switch ((enum session_state)s->log_state) {
	case SESSION_HANDSHAKE:
		if (!s->backend_counted)
			return FAILURE_HANDSHAKE;
		break;
	case SESSION_SNIFFING:
		return FAILURE_HANDSHAKE;
	case SESSION_QUEUED:
		return FAILURE_QUEUE;
	case SESSION_RESOLVING:
		return FAILURE_CHOICE;
	case SESSION_CONNECTING:
	case SESSION_WAITING:
		return FAILURE_CONNECT;
	case SESSION_FORWARDING:
		return established_phase((enum close_reason)s->reason);
	case SESSION_FREE:
	case SESSION_ACCEPTED:
	case SESSION_HELD:
	case SESSION_CLOSING:
		break;
	}
	return s->backend_counted ? FAILURE_CHOICE : FAILURE_ADMISSION;
}

/* The failure of the last try was noted when it happened. A session may also end while its try goes on, as
 * without memory for a timer, or without a ring to watch the client. */
static bool ends_with_try(const struct session *s)
{
	if (s->log_state != SESSION_CONNECTING || !s->try_failed)
		return false;
	switch ((enum close_reason)s->reason) {
	case CLOSE_CONNECT_REFUSED:
	case CLOSE_CONNECT_TIMEOUT:
	case CLOSE_CONNECT_FAILED:
	case CLOSE_NO_RESOURCE:
	case CLOSE_NO_SOCKET:
		return true;
	default:
		return false;
	}
}

void failing_end(const struct session *s)
{
	const enum close_reason reason = (enum close_reason)s->reason;

	if (likely(reason == CLOSE_NORMAL) || !close_reason_row(reason)->is_error)
		return;
	if (s->failed || s->empty || ends_with_try(s))
		return;
	note_session(s, phase_of(s), reason, 0);
}

const struct failure_ring *engine_failures(const struct engine *e, unsigned worker, enum failure_group group)
{
	check(worker < e->worker_count);
	check(group < FAILURE_GROUPS);
	return &e->workers[worker]->failures[group];
}
