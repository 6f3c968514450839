/* SPDX-License-Identifier: MIT
 *
 * listeners.c - all listeners of a worker: they follow the orders that control gives at endpoints.
 *
 * Owns which endpoints the worker listens at. A worker's thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "listener.h"
#include "worker.h"

/* The first at this slot or a later one. */
static struct listener *listener_from(const struct worker *w, uint32_t slot)
{
	const uint32_t peak = slot_space_peak(&w->engine->live.endpoints);

	for (; slot < peak && chunks_has(&w->listeners, slot); slot++)
		if (worker_listener(w, slot)->worker != NULL)
			return worker_listener(w, slot);
	return NULL;
}

struct listener *listener_first(const struct worker *w)
{
	return listener_from(w, 0);
}

struct listener *listener_next(const struct listener *l)
{
	return listener_from(l->worker, l->endpoint->slot + 1);
}

static void begin(struct worker *w, struct listener *l, struct endpoint *ep)
{
	listener_init(l, w, ep);
	(void)listener_start(l); /* a failure has set a pause */
}

static void leave(struct worker *w, struct listener *l, enum endpoint_order order)
{
	const bool given = order == ENDPOINT_GIVE;

	if (l->leaving && l->given == given)
		return;
	w->leaving += !l->leaving;
	l->leaving = true;
	l->given = given;
	listener_stop(l);
}

static enum endpoint_order order_at(const struct endpoint *ep)
{
	return (enum endpoint_order)atomic_load(&ep->order);
}

/* Does this worker still listen where the socket of `ep` comes from? A wake-up for a client may have gone
 * there: who begins here only after that finds the client in the queue. */
static bool is_held_back(const struct worker *w, struct endpoint *ep)
{
	struct endpoint *from;

	for (from = atomic_load(&ep->from); from != NULL; from = atomic_load(&from->from))
		if (worker_listener(w, from->slot)->worker != NULL)
			return true;
	return false;
}

void listeners_follow(struct worker *w)
{
	const uint32_t peak = slot_space_peak(&w->engine->live.endpoints);

	for (uint32_t slot = 0; slot < peak && !w->draining; slot++) {
		struct endpoint *ep = entries_at(&w->engine->entries, slot);
		struct listener *l = worker_listener(w, slot);
		enum endpoint_order order;

		if (ep == NULL)
			continue;
		order = order_at(ep);
		if (l->worker != NULL && order != ENDPOINT_LISTEN)
			leave(w, l, order);
		else if (l->worker == NULL && order == ENDPOINT_LISTEN && !is_held_back(w, ep))
			begin(w, l, ep);
	}
}

/* Endpoints whose socket comes from one that this worker has left. One that drains takes who is queued. */
static void begin_heirs(struct worker *w)
{
	const uint32_t peak = slot_space_peak(&w->engine->live.endpoints);

	for (uint32_t slot = 0; slot < peak; slot++) {
		struct endpoint *ep = entries_at(&w->engine->entries, slot);
		struct listener *l = worker_listener(w, slot);

		if (ep == NULL || l->worker != NULL || atomic_load(&ep->from) == NULL ||
		    order_at(ep) != ENDPOINT_LISTEN || is_held_back(w, ep))
			continue;
		begin(w, l, ep);
		if (w->draining)
			listener_stop(l);
	}
}

/* True when it has left, and is none any more. */
static bool clear(struct worker *w, struct listener *l)
{
	struct endpoint *ep = l->endpoint;

	if (l->worker == NULL || !l->leaving || !listener_is_idle(l))
		return false;
	check(w->leaving > 0);
	w->leaving--;
	memset(l, 0, sizeof(*l));
	atomic_fetch_sub(&ep->listeners, 1); /* control may close the socket, once this worker has passed */
	if (order_at(ep) == ENDPOINT_LISTEN && !w->draining)
		begin(w, l, ep);
	return true;
}

void listeners_clear(struct worker *w)
{
	const uint32_t peak = slot_space_peak(&w->engine->live.endpoints);
	bool any = false;

	for (uint32_t slot = 0; slot < peak && chunks_has(&w->listeners, slot); slot++)
		any |= clear(w, worker_listener(w, slot));
	if (!any)
		return;
	begin_heirs(w);
	w->engine->notify(w->engine->notify_arg);
}
