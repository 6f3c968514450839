/* SPDX-License-Identifier: MIT
 *
 * live_judge.c - what must hold of all that comes, changes and goes.
 *
 * Fails the seed when a client is lost at an endpoint that leaves, when a transaction leaves something behind
 * at a socket, when a worker does not follow an order, or when what has left is still there at the end. Owns
 * which frontends ever had a limit. One thread. Tests only.
 */
#include <string.h>

#include "engine/evict.h"
#include "live.h"
#include "model.h"
#include "peers.h"
#include "rig.h"

#define JUDGED_SLOTS 256

static bool had_limit[JUDGED_SLOTS]; /* by the number of the frontend */

static struct entries *entries(void)
{
	return &rig.engine.entries;
}

static void for_each_endpoint(void (*judge)(struct endpoint *ep, void *arg), void *arg)
{
	struct list *const lists[] = {&entries()->frontends, &entries()->leaving};

	for (int i = 0; i < 2; i++)
		for (struct list *at = lists[i]->next; at != lists[i]; at = at->next) {
			frontend_foreach_endpoint(list_entry(at, struct frontend, link), ep)
				judge(ep, arg);
		}
}

/* ---- clients ---- */

/* Workers do not exceed a limit for the last whom they find. */
static bool is_limited(const struct endpoint *ep)
{
	const struct frontend *fe = ep->frontend;

	return rig.maxconn < 100 || had_limit[fe->slot % JUDGED_SLOTS] || frontend_limit(fe) < 100;
}

static bool has_left(const struct endpoint *ep)
{
	return ep->stage == ENDPOINT_LEAVING || entries()->ending;
}

static void judge_lost(struct endpoint *ep, void *arg)
{
	const struct mlistener *l = arg;

	if (ep->fd == l->fd && has_left(ep) && !is_limited(ep))
		sim_fail("an endpoint closes, and %u clients wait there", l->count);
}

/* A listener is closed with clients in its queue. Only a stop that does not wait may do that. */
static void on_lost(const struct mlistener *l)
{
	if (!l->deaf || l->failed || peers.stopped)
		return;
	for_each_endpoint(judge_lost, (void *)l);
}

/* ---- between two turns ---- */

static void judge_socket(struct endpoint *ep, void *arg)
{
	const struct mlistener *l = ep->fd >= 0 ? mfile_get(ep->fd)->listener : NULL;

	(void)arg;
	had_limit[ep->frontend->slot % JUDGED_SLOTS] |= ep->frontend->own_limit > 0;
	if (ep->claimed || ep->options != NULL)
		sim_fail("a takeover, or a stay, is neither committed nor undone");
	if (l == NULL || !l->tcp)
		return;
	if (l->shares)
		sim_fail("a socket shares its port with others, and nobody binds");
	if (ep->stage == ENDPOINT_OPEN && l->deaf)
		sim_fail("an endpoint is open, and its socket is deaf");
	if (ep->stage == ENDPOINT_DEAF && !l->deaf)
		sim_fail("an endpoint is deaf, and its socket hears");
}

void live_judge(void)
{
	if (entries()->is_open || !list_empty(&entries()->bound) || !list_empty(&entries()->lent))
		sim_fail("a transaction does not end");
	for_each_endpoint(judge_socket, NULL);
}

/* ---- workers ---- */

/* A worker begins at a socket that was taken over once it has left where it comes from. */
static bool is_held_back(const struct worker *w, const struct endpoint *ep)
{
	for (const struct endpoint *from = atomic_load(&ep->from); from != NULL;
	     from = atomic_load(&from->from))
		if (worker_listener(w, from->slot)->worker != NULL)
			return true;
	return false;
}

/* Mail that says so. */
static bool has_orders(const struct worker *w)
{
	return (atomic_load(&w->mailbox.signals) & MAIL_ENDPOINTS) != 0;
}

/* Each order at an endpoint is carried out, or the worker has mail that says so. */
static void judge_endpoints(const struct worker *w)
{
	const struct live *live = &rig.engine.live;

	for (uint32_t slot = 0; slot < slot_space_peak(&live->endpoints); slot++) {
		const struct endpoint *ep = entries_at(&rig.engine.entries, slot);
		const struct listener *l = worker_listener(w, slot);
		const bool listens = l->worker != NULL && !l->leaving;

		if (ep == NULL && l->worker != NULL)
			sim_fail("worker %u listens at an endpoint that has left", w->index);
		if (ep == NULL || w->draining || has_orders(w) ||
		    (l->worker != NULL && l->leaving))
			continue;
		if (is_held_back(w, ep)) {
			if (l->worker != NULL)
				sim_fail("worker %u begins at a socket before it has left the one that it "
					 "comes from", w->index);
			continue;
		}
		if (listens != (atomic_load(&ep->order) == ENDPOINT_LISTEN))
			sim_fail("worker %u does not follow an endpoint's order", w->index);
	}
}

/* Whoever ends the sessions of what has left has found them all. */
static bool must_be_over(const struct session *s)
{
	const struct server *server = s->server_counted ? s->at->server : NULL;

	if (server != NULL && server->closes && server->retired.stage == RETIRE_HELD &&
	    s->state == SESSION_FORWARDING)
		return true;
	if (s->backend_counted && atomic_load(&s->back->backend->closes))
		return true;
	return s->entry->frontend->closes && s->entry->endpoint->retired.stage == RETIRE_HELD;
}

static void judge_leavers(const struct worker *w)
{
	struct list *pos;
	struct list *tmp;

	if (evict_has_orders(w))
		return;
	list_foreach_safe(&w->live, pos, tmp)
	{
		const struct session *s = list_entry(pos, struct session, link);

		if (must_be_over(s))
			sim_fail("a session of worker %u goes on, and what it uses was removed", w->index);
	}
}

void live_judge_worker(const struct worker *w)
{
	judge_leavers(w);
	judge_endpoints(w);
}

/* ---- at rest ---- */

static void compare(const char *what, uint32_t taken, size_t there)
{
	if (taken != there)
		sim_fail("%u numbers of %s are taken, and %zu live", taken, what, there);
}

static void judge_owner(struct endpoint *ep, void *arg)
{
	(void)arg;
	if (ep->fd >= 0 && mfile_get(ep->fd)->listener->fds != 1)
		sim_fail("a socket has %u descriptors, and one endpoint", mfile_get(ep->fd)->listener->fds);
	if (ep->heir != NULL || atomic_load(&ep->from) != NULL)
		sim_fail("an endpoint does not forget whose socket it has taken over");
}

void live_check_rest(void)
{
	const struct live *live = &rig.engine.live;
	const size_t servers = rig_server_count();
	const size_t backends = rig.engine.backend_count;
	size_t frontends = 0;

	/* Workers that drain keep their listeners, whose endpoints are closed with all others. */
	if (peers.no_more)
		return;
	if (retire_count(&live->retire) > 0)
		sim_fail("%zu things have left, and are not freed: %s, %s", retire_count(&live->retire),
			 list_empty(&live->retire.held) ? "none in use" : "one in use",
			 live->retire.running ? "a round runs" : "no round runs");
	entries_foreach_frontend(entries(), fe)
		frontends++;
	compare("objects", live->objects.count, servers + backends + frontends);
	compare("endpoints", live->endpoints.count, entries()->endpoint_count);
	compare("versions", live->versions.count, servers + backends + entries()->endpoint_count);
	if (!list_empty(&entries()->leaving) || !list_empty(&entries()->deaf))
		sim_fail("an entry leaves, and does not retire");
	for_each_endpoint(judge_owner, NULL);
}

void live_judge_open(void)
{
	memset(had_limit, 0, sizeof(had_limit));
	model.on_lost = on_lost;
}

void live_judge_close(void)
{
	model.on_lost = NULL;
}
