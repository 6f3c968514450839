/* SPDX-License-Identifier: MIT
 *
 * choice.c - which server a session goes to now, and what happens when there is none.
 *
 * The picker has the algorithm, and the queue has the order of waiting sessions; this file makes sure that no
 * session overtakes another, and lets a session wait that must. Opens nothing. A worker's thread.
 */
#include "choice.h"

#include <errno.h>
#include <sys/socket.h>

#include "weir/balance/client_key.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "client_watch.h"
#include "comeback.h"
#include "extra.h"
#include "fallback.h"
#include "persist.h"
#include "queueing.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "stuck.h"
#include "worker.h"

/* How much is read from a client that is closed because no server is usable: close(2) sends RST if bytes are
 * left unread. */
#define CHOICE_DISCARD_BYTES 4096
#define CHOICE_DISCARD_TIMES 16

/* How often a session chooses at once. Each time but the last it has met a backend without a server, or a
 * change of this moment: links to fallbacks may form a circle while a reload is being committed. */
#define ROUNDS_MAX (2 * CONFIG_FALLBACK_MAX)

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

/* The server that the client wants to come back to: a place at it, or a wait in its queue (PICK_FULL).
 * PICK_NONE: it has none, or that one is not usable, or it is full and has no queue because it drains. */
static enum pick take_home(struct session *s, struct server **out)
{
	struct server *home = likely(s->extra == NULL) ? NULL : persist_home(s);

	*out = home;
	if (likely(home == NULL))
		return PICK_NONE;
	check(!s->server_counted);
	if (!atomic_load_explicit(&home->in_roster, memory_order_relaxed)) {
		if (!server_enter(home))
			return PICK_NONE;
	} else if (is_waited_for(s, home) || !server_enter(home)) {
		return PICK_FULL;
	}
	return PICK_SERVER;
}

/* Chooses a server and takes a place at it, unless the session must wait behind others. */
static enum pick choose_server(struct session *s, const struct server *avoid, struct server **out)
{
	struct picker *picker = session_picker(s);
	const bool hashed = picker_wants_key(picker);
	const struct pick_request q = {.key = hashed ? client_key(&s->client) : 0, .avoid = avoid};
	const enum pick pick = picker_choose(picker, &q, out);

	check(!s->server_counted); /* it would have two places */
	if (pick != PICK_SERVER || !is_waited_for(s, *out))
		return pick;
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

/* For `server`, NULL = any, to which the client may be `stuck`. The client is watched meanwhile. The session
 * may be closing afterwards. True: it does not wait, but is to choose again, as its backend has just lost its
 * last server to a fallback. */
static bool wait_in_queue(struct session *s, struct server *server, bool stuck)
{
	int err;

	check(!s->server_counted);
	check(server == NULL || server->owner == s->back->backend);
	if (session_extra(s) == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return false;
	}
	session_set_state(s, SESSION_QUEUED);
	s->extra->queued_ns = s->worker->loop.now_ns;
	s->fixed_ns = queue_deadline(s);
	client_watch(s);
	if (s->state != SESSION_QUEUED)
		return false;
	err = queueing_enter(s, server, stuck);
	if (unlikely(err == -EHOSTDOWN))
		return true;
	if (err != 0)
		session_close(s, CLOSE_QUEUE_FULL);
	else
		session_rearm(s); /* it may have a place already: mail announces that */
	return false;
}

/* No server is usable: does what the frontend is configured to do then. True: as wait_in_queue() says. */
static bool no_server(struct session *s)
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
		return wait_in_queue(s, NULL, false);
	}
	return false;
}

/* Those who wait for any server do not wait for one that is drained. */
static bool must_queue_for(const struct session *s, const struct server *server)
{
	if (atomic_load_explicit(&server->in_roster, memory_order_relaxed))
		return is_waited_for(s, server);
	return atomic_load_explicit(&server->queued, memory_order_relaxed) > 0;
}

/* The client is stuck to `*out`: a place there, or in its queue. */
static bool take_stuck(struct session *s, struct server **out)
{
	struct server *server = *out;

	*out = NULL;
	if (must_queue_for(s, server) || !server_enter(server))
		return wait_in_queue(s, server, true);
	atomic_fetch_add_explicit(&server->chosen_total, 1, memory_order_relaxed);
	*out = server;
	return false;
}

/* A place was taken at the server. False, with the place given back: the client has another server by now. */
static bool keep_choice(struct session *s, struct stuck *k, struct server *server)
{
	if (unlikely(k->roster->sticky != NULL) && !stuck_settle(s, k, server)) {
		server_leave(server);
		return false;
	}
	/* A waiting session is counted when it is given a place. */
	atomic_fetch_add_explicit(&server->chosen_total, 1, memory_order_relaxed);
	return true;
}

/* One round of choosing. True: another one is to follow, probably in another backend. */
static bool take(struct session *s, const struct server *avoid, struct server **out)
{
	struct stuck k = {.roster = backend_roster(s->back->backend)};
	enum pick pick = take_home(s, out);
	bool again = false;

	if (likely(pick == PICK_NONE)) {
		if (unlikely(k.roster->sticky != NULL) && (*out = stuck_look(s, avoid, &k)) != NULL)
			return take_stuck(s, out);
		/* The client is stuck to such a server once that has answered. Until then, others choose:
		 * those who are to have one server with it would get another one. */
		*out = likely(!k.shared) ? comeback_take(s, avoid) : NULL;
		if (unlikely(*out != NULL))
			return false;
		pick = choose_server(s, avoid, out);
	}
	switch (pick) {
	case PICK_SERVER:
		if (likely(keep_choice(s, &k, *out)))
			return false;
		again = true;
		break;
	case PICK_FULL:
		again = wait_in_queue(s, *out, false);
		break;
	case PICK_NONE:
		again = fallback_follow(s) || no_server(s);
		break;
	}
	*out = NULL;
	return again;
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
	struct server *server;

	for (unsigned n = 0; n < ROUNDS_MAX; n++)
		if (!take(s, avoid, &server))
			return server;
	if (no_server(s))
		session_close(s, CLOSE_NO_SERVER);
	return NULL;
}

static bool is_sticky(const struct session *s)
{
	return backend_roster(s->back->backend)->sticky != NULL;
}

/* May a session that has this server, or was promised it, go there? */
static bool may_stay(const struct session *s, const struct server *server)
{
	return atomic_load_explicit(&server->in_roster, memory_order_relaxed) ||
	       (is_sticky(s) && sticky_keeps(server));
}

struct server *choice_take_again(struct session *s)
{
	struct server *server = s->at->server;

	check(s->state == SESSION_WAITING);
	check(server != NULL);
	check(!s->server_counted);
	if (!may_stay(s, server)) {
		(void)no_server(s); /* it has tried: it does not follow */
		return NULL;
	}
	if (!must_queue_for(s, server) && server_enter(server))
		return server;
	(void)wait_in_queue(s, server, is_sticky(s));
	return NULL;
}

bool choice_holds(struct session *s, const struct server *server)
{
	const struct server *last = s->tries > 0 ? s->at->server : NULL;
	const struct server *has;
	struct stuck k;

	if (!may_stay(s, server))
		return false;
	if (likely(!is_sticky(s)))
		return true;
	has = stuck_look(s, server != last ? last : NULL, &k);
	return has != NULL ? has == server : stuck_settle(s, &k, server);
}
