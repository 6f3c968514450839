/* SPDX-License-Identifier: MIT
 *
 * admin_places.c - who has a place at the admin socket, and who must leave when there is none.
 *
 * Owns the policy of admin_places.h; changes no connection. Main thread.
 */
#include "admin_places.h"

#include <sys/socket.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"

/* Selects clients. */
struct group {
	bool (*has)(const struct client *c, const struct admin_peer *peer);
	const struct admin_peer *peer;
};

static bool is_any(const struct client *c, const struct admin_peer *peer)
{
	(void)c;
	(void)peer;
	return true;
}

static bool is_other(const struct client *c, const struct admin_peer *peer)
{
	(void)peer;
	return !c->peer.trusted;
}

static bool is_same_user(const struct client *c, const struct admin_peer *peer)
{
	return !c->peer.trusted && c->peer.uid == peer->uid;
}

static bool is_prompt_of_other(const struct client *c, const struct admin_peer *peer)
{
	(void)peer;
	return !c->peer.trusted && c->prompt;
}

/* A client that has been fully served holds no place: its further input is discarded. */
static bool is_served(const struct client *c)
{
	return c->state != CLIENT_FREE && c->state != CLIENT_LINGERING;
}

static unsigned count(const struct admin *a, struct group g)
{
	unsigned n = 0;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		n += is_served(&a->clients[i]) && g.has(&a->clients[i], g.peer);
	return n;
}

bool admin_places_full(const struct admin *a)
{
	return count(a, (struct group){is_any, NULL}) == ADMIN_CLIENTS_MAX ||
	       count(a, (struct group){is_other, NULL}) >= ADMIN_OTHERS_MAX;
}

/* Does it wait for a worker, to which it came a moment ago? Not for longer: its line may be a long one. */
static bool is_being_answered(const struct client *c)
{
	return c->state == CLIENT_ASKING &&
	       (double)(clock_mono_ns() - c->line_ns) < ADMIN_ASKING_S * (double)NS_PER_SEC;
}

/* Has it sent what has not been read yet? Several are let in before what they ask is read. */
static bool is_unread(const struct client *c)
{
	char byte;

	return c->state == CLIENT_READING && c->request.len == 0 &&
	       sys_recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* Does it wait for us, and has not waited for long? */
static bool is_due(const struct client *c)
{
	return is_being_answered(c) || is_unread(c);
}

bool admin_places_may_end(const struct admin *a)
{
	const bool others = count(a, (struct group){is_other, NULL}) > 0;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		const struct client *c = &a->clients[i];

		if (is_served(c) && !(others && c->peer.trusted) && !is_due(c))
			return true;
	}
	return false;
}

/* Lower ranks leave first. */
static int rank(const struct client *c)
{
	if (is_due(c))
		return 4;
	if (c->state == CLIENT_RELOADING && c->asker != NULL && c->wish.hold)
		return 3; /* if it leaves, a reload is undone */
	if (c->state == CLIENT_READING && c->prompt && c->request.len == 0)
		return 2; /* waits for a person */
	return c->state == CLIENT_ASKING || c->state == CLIENT_RELOADING; /* waits for us */
}

/* The client of the group that leaves first; NULL if it has no place. */
static struct client *worst(struct admin *a, struct group g)
{
	struct client *found = NULL;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		struct client *c = &a->clients[i];

		if (!is_served(c) || !g.has(c, g.peer))
			continue;
		if (found == NULL || rank(c) < rank(found) ||
		    (rank(c) == rank(found) && c->progress_ns < found->progress_ns))
			found = c;
	}
	return found;
}

/* The untrusted user with the most places loses one. In a tie with `peer`, the newcomer, it is `peer`. */
static struct client *worst_of_others(struct admin *a, const struct admin_peer *peer)
{
	const struct admin_peer *greedy = peer;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		const struct client *c = &a->clients[i];

		if (is_served(c) && !c->peer.trusted &&
		    count(a, (struct group){is_same_user, &c->peer}) >
			    count(a, (struct group){is_same_user, greedy}))
			greedy = &c->peer;
	}
	return worst(a, (struct group){is_same_user, greedy});
}

static struct client *in_state(struct admin *a, enum client_state state)
{
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		if (a->clients[i].state == state)
			return &a->clients[i];
	return NULL;
}

struct client *admin_places_find(struct admin *a, const struct admin_peer *peer)
{
	struct client *c;

	if (!peer->trusted && count(a, (struct group){is_other, NULL}) >= ADMIN_OTHERS_MAX)
		return worst_of_others(a, peer);
	c = in_state(a, CLIENT_FREE);
	if (c == NULL)
		c = in_state(a, CLIENT_LINGERING);
	if (c == NULL)
		c = worst_of_others(a, peer);
	if (c == NULL && peer->trusted)
		c = worst(a, (struct group){is_any, NULL});
	return c;
}

struct client *admin_places_find_spare(struct admin *a)
{
	unsigned spare = 0;

	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		spare += a->clients[i].state == CLIENT_FREE;
	/* Keeps as many places free as are reserved for trusted users. */
	return spare > ADMIN_CLIENTS_MAX - ADMIN_OTHERS_MAX ? in_state(a, CLIENT_FREE) : NULL;
}

bool admin_places_prompt(struct client *c, struct client **victim)
{
	struct admin *a = c->admin;
	unsigned all = 0, own = 0;

	*victim = NULL;
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		const struct client *other = &a->clients[i];

		if (!is_served(other) || !other->prompt)
			continue;
		all++;
		own += !other->peer.trusted && other->peer.uid == c->peer.uid;
	}
	if (c->prompt)
		return true;
	if (!c->peer.trusted && own >= ADMIN_ONE_PROMPTS_MAX)
		return false;
	if (all < ADMIN_PROMPTS_MAX)
		return true;
	if (c->peer.trusted)
		*victim = worst(a, (struct group){is_prompt_of_other, NULL});
	return *victim != NULL;
}

void admin_places_progress(struct client *c)
{
	c->progress_ns = clock_mono_ns();
}

double admin_places_idle_s(const struct client *c)
{
	return (double)(clock_mono_ns() - c->progress_ns) / (double)NS_PER_SEC;
}
