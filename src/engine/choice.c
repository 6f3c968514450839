/* SPDX-License-Identifier: MIT
 *
 * choice.c - which server a session goes to now, and what happens when there is none.
 *
 * The picker has the algorithm, and the queue has the order of waiting sessions; this file makes sure that no
 * session overtakes another, and lets a session wait that must. Opens nothing. A worker's thread.
 */
#include "choice.h"

#include <sys/socket.h>

#include "weir/balance/client_key.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "client_watch.h"
#include "comeback.h"
#include "extra.h"
#include "queueing.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

/* How much is read from a client that is closed because no server is usable: close(2) sends RST if bytes are
 * left unread. */
#define CHOICE_DISCARD_BYTES 4096
#define CHOICE_DISCARD_TIMES 16

static struct picker *session_picker(const struct session *s)
{
	struct worker *w = s->worker;
	struct picker *p = chunks_at(&w->pickers, s->back->backend->slot);

	if (unlikely(p->backend == NULL))
		picker_init(p, s->back->backend, &w->marks, w->index);
	check(p->backend == s->back->backend);
	return p;
}

/* Are sessions already waiting for a place such as this one? Then it is theirs. */
static bool is_waited_for(const struct session *s, const struct server *server)
{
	return unlikely(queue_is_waiting(s->back->backend)) ||
	       unlikely(atomic_load_explicit(&server->queued, memory_order_relaxed) > 0);
}

/* Chooses a server and takes a place at it, unless the session must wait behind others. */
static enum pick choose_server(struct session *s, const struct server *avoid, struct server **out)
{
	struct picker *picker = session_picker(s);
	const bool hashed = picker_wants_key(picker);
	const struct pick_request q = {.key = hashed ? client_key(&s->client) : 0, .avoid = avoid};
	const enum pick pick = picker_choose(picker, &q, out);

	check(!s->server_counted); /* it would have two places */
	if (pick != PICK_SERVER)
		return pick;
	if (!is_waited_for(s, *out)) {
		/* A waiting session is counted when it is given a place. */
		atomic_fetch_add_explicit(&(*out)->chosen_total, 1, memory_order_relaxed);
		return PICK_SERVER;
	}
	server_leave(*out);
	if (!hashed)
		*out = NULL;
	return PICK_FULL;
}

/* Sends FIN at once and discards what the client has sent, within bounds. Bytes that arrive between this and
 * the close are answered with RST, after the FIN. */
static void end_client(const struct session *s)
{
	const int fd = s->sides[SIDE_CLIENT].sock.fd;
	uint8_t bin[CHOICE_DISCARD_BYTES];

	check(fd >= 0);
	check(s->sides[SIDE_SERVER].sock.fd < 0);
	if (sys_shutdown(fd, SHUT_WR) != 0)
		return; /* it was reset: nothing reaches it any more */
	for (int i = 0; i < CHOICE_DISCARD_TIMES; i++)
		if (sys_recv(fd, bin, sizeof(bin), 0) <= 0)
			return;
}

static int64_t queue_deadline(const struct session *s)
{
	const struct config_timeouts *t = &s->back->config->timeouts;
	const int64_t timeout_ns = t->queue_ns > 0 ? t->queue_ns : t->connect_ns;

	return timeout_ns > 0 ? s->worker->loop.now_ns + timeout_ns : CLOCK_NEVER;
}

/* For `server`, NULL = any. The client is watched meanwhile. The session may be closing afterwards. */
static void wait_in_queue(struct session *s, struct server *server)
{
	check(!s->server_counted);
	check(server == NULL || server->owner == s->back->backend);
	if (session_extra(s) == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	session_set_state(s, SESSION_QUEUED);
	s->extra->queued_ns = s->worker->loop.now_ns;
	s->fixed_ns = queue_deadline(s);
	client_watch(s);
	if (s->state != SESSION_QUEUED)
		return;
	if (queueing_enter(s, server) != 0)
		session_close(s, CLOSE_QUEUE_FULL);
	else
		session_rearm(s); /* it may have a place already: mail announces that */
}

/* No server is usable: does what the frontend is configured to do then. */
static void no_server(struct session *s)
{
	switch (s->entry->front->config->no_server) {
	case CONFIG_NO_SERVER_CLOSE:
		end_client(s);
		session_close(s, CLOSE_NO_SERVER);
		s->ends[SIDE_CLIENT] = SIDE_CLOSE;
		break;
	case CONFIG_NO_SERVER_RESET:
		session_close(s, CLOSE_NO_SERVER);
		break;
	case CONFIG_NO_SERVER_QUEUE:
		wait_in_queue(s, NULL);
		break;
	}
}

void choice_of_nothing(struct session *s)
{
	const bool resets = s->entry->front->config->no_server == CONFIG_NO_SERVER_RESET;

	if (!resets)
		end_client(s);
	session_close(s, CLOSE_NO_ROUTE);
	if (!resets)
		s->ends[SIDE_CLIENT] = SIDE_CLOSE;
}

struct server *choice_take(struct session *s, const struct server *avoid)
{
	struct server *server = comeback_take(s, avoid);

	if (unlikely(server != NULL))
		return server;
	switch (choose_server(s, avoid, &server)) {
	case PICK_SERVER:
		return server;
	case PICK_FULL:
		wait_in_queue(s, server);
		break;
	case PICK_NONE:
		no_server(s);
		break;
	}
	return NULL;
}

struct server *choice_take_again(struct session *s)
{
	struct server *server = s->at->server;

	check(s->state == SESSION_WAITING);
	check(server != NULL);
	check(!s->server_counted);
	if (!atomic_load_explicit(&server->in_roster, memory_order_relaxed)) {
		no_server(s);
		return NULL;
	}
	if (!is_waited_for(s, server) && server_enter(server))
		return server;
	wait_in_queue(s, server);
	return NULL;
}
