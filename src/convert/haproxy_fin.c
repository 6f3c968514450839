/* SPDX-License-Identifier: MIT
 *
 * haproxy_fin.c - how long a connection goes on after the FIN of one side.
 *
 * In HAProxy, the side that has not ended has a time of its own: after a FIN of the client that of the server
 * (server-fin, else tunnel, else server), after one of the server that of the client. weir has one
 * timeout-half-closed, of the frontend: the longest, so that no answer is cut off. Main thread.
 */
#include <limits.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"

#define FOREVER LLONG_MAX

/* What is known of a frontend's sides so far. */
struct ending {
	struct haproxy *h;
	struct proxy *longest; /* whose `slot` has the longest time after a FIN; NULL = none yet */
	enum slot slot;
	long long ms;
	long long idle_ms; /* the shortest time that weir lets a side be idle */
};

static long long time_of(struct haproxy *h, const struct proxy *p, enum slot slot)
{
	const long long ms = slot_ms(h, p, slot);

	return ms > 0 ? ms : FOREVER;
}

static void take_side(struct ending *e, struct proxy *p, enum slot fin, enum slot idle)
{
	const enum slot whole = slot_on(p, SLOT_TUNNEL) ? SLOT_TUNNEL : idle;
	const enum slot slot = slot_on(p, fin) ? fin : whole;
	const long long ms = time_of(e->h, p, slot), idle_ms = time_of(e->h, p, whole);

	if (idle_ms < e->idle_ms)
		e->idle_ms = idle_ms;
	if (e->longest != NULL && ms <= e->ms)
		return;
	e->longest = p;
	e->slot = slot;
	e->ms = ms;
}

/* Says what became of a `-fin` line. */
static void settle(const struct ending *e, const struct proxy *p, enum slot fin)
{
	if (!slot_on(p, fin))
		return;
	if (time_of(e->h, p, fin) == e->ms)
		old_set(e->h->arena, p->slots[fin].line, OLD_CARRIED, NULL);
	else
		old_set(e->h->arena, p->slots[fin].line, OLD_DIFFERENT,
			"one timeout-half-closed for both sides: the longer");
}

/* Calls one of the two for each backend of a frontend; all, if HAProxy computes a name. */
static void each_back(struct ending *e, struct proxy *front, bool take)
{
	bool all = front->kind == PROXY_LISTEN;
	const char *name;

	for (size_t i = 0; (name = haproxy_target(front, i)) != NULL; i++)
		all = all || haproxy_find(e->h, 1u << PROXY_BACKEND | 1u << PROXY_LISTEN, name) == NULL;
	for (size_t b = 0; b < e->h->count; b++) {
		struct proxy *p = e->h->proxies[b];
		bool used = front->kind == PROXY_LISTEN ? p == front : all;

		for (size_t i = 0; !used && (name = haproxy_target(front, i)) != NULL; i++)
			used = strcmp(p->name, name) == 0;
		if (!used || !IS_BACK(p) || p->out == NULL)
			continue;
		if (take)
			take_side(e, p, SLOT_SERVER_FIN, SLOT_SERVER);
		else
			settle(e, p, SLOT_SERVER_FIN);
	}
}

void haproxy_fin(struct haproxy *h, struct proxy *p)
{
	struct ending e = {.h = h, .idle_ms = FOREVER};
	const char *value = NULL;

	take_side(&e, p, SLOT_CLIENT_FIN, SLOT_CLIENT);
	each_back(&e, p, true);
	settle(&e, p, SLOT_CLIENT_FIN);
	each_back(&e, p, false);
	if (slot_on(e.longest, e.slot))
		value = haproxy_duration(h->arena, slot_word(e.longest, e.slot, 0));
	ini_add(h->ini, p->out, NULL, "timeout-half-closed", "%s", value != NULL ? value : "0")->from =
	    value != NULL && (e.slot == SLOT_CLIENT_FIN || e.slot == SLOT_SERVER_FIN)
		? e.longest->slots[e.slot].line
		: NULL;
	if (e.idle_ms < e.ms)
		work_note(h->work,
			  "'%s': after a FIN, HAProxy waits for the other side's timeout alone: weir ends "
			  "the connection at the shorter of timeout-client and timeout-server",
			  p->name);
}
