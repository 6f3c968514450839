/* SPDX-License-Identifier: MIT
 *
 * fin.c - how long a connection goes on after the FIN of one side.
 *
 * In HAProxy, the side that has not ended has a time of its own: after a FIN of the client that of the server
 * (server-fin, else tunnel, else server), after one of the server that of the client. weir has one
 * timeout-half-closed, of the frontend: the longest, so that no answer is cut off. Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"

/* What is known of a frontend's sides so far. */
struct ending {
	struct haproxy *h;
	struct haproxy_limit longest; /* the longest time after a FIN; no section = none yet */
	long long ms;
	long long idle_ms; /* the shortest time that weir lets a side be idle */
};

/* A side whose section says `fin`, and which may be idle for `whole`. */
static void take_side(struct ending *e, struct proxy *p, enum slot fin, struct haproxy_limit whole)
{
	const struct haproxy_limit limit = slot_on(p, fin) ? (struct haproxy_limit){p, fin} : whole;
	const long long ms = haproxy_time_of(e->h, limit.p, limit.slot);
	const long long idle_ms = haproxy_time_of(e->h, whole.p, whole.slot);

	if (idle_ms < e->idle_ms)
		e->idle_ms = idle_ms;
	if (e->longest.p != NULL && ms <= e->ms)
		return;
	e->longest = limit;
	e->ms = ms;
}

static void take_back(void *data, struct proxy *back)
{
	const enum slot whole = slot_on(back, SLOT_TUNNEL) ? SLOT_TUNNEL : SLOT_SERVER;

	take_side(data, back, SLOT_SERVER_FIN, (struct haproxy_limit){back, whole});
}

/* Says what became of a `-fin` line. */
static void settle(const struct ending *e, const struct proxy *p, enum slot fin)
{
	if (!slot_on(p, fin))
		return;
	if (haproxy_time_of(e->h, p, fin) == e->ms)
		old_set(e->h->arena, p->slots[fin].line, OLD_CARRIED, NULL);
	else
		old_set(e->h->arena, p->slots[fin].line, OLD_DIFFERENT,
			"one timeout-half-closed for both sides: the longer");
}

static void settle_back(void *data, struct proxy *back)
{
	settle(data, back, SLOT_SERVER_FIN);
}

void haproxy_fin(struct haproxy *h, struct proxy *p)
{
	struct ending e = {.h = h, .idle_ms = HAPROXY_FOREVER};
	const struct proxy *said;
	const char *value = NULL;

	take_side(&e, p, SLOT_CLIENT_FIN, haproxy_client_idle(h, p));
	haproxy_each_back(h, p, take_back, &e);
	settle(&e, p, SLOT_CLIENT_FIN);
	haproxy_each_back(h, p, settle_back, &e);
	said = e.longest.p;
	if (slot_on(said, e.longest.slot))
		value = haproxy_duration(h->arena, slot_word(said, e.longest.slot, 0));
	ini_add(h->ini, p->out, NULL, "timeout-half-closed", "%s", value != NULL ? value : "0")->from =
	    value != NULL && (e.longest.slot == SLOT_CLIENT_FIN || e.longest.slot == SLOT_SERVER_FIN)
		? said->slots[e.longest.slot].line
		: NULL;
	if (e.idle_ms < e.ms)
		work_note(h->work,
			  "'%s': after a FIN, HAProxy waits for the other side's timeout alone: weir ends "
			  "the connection at the shorter of timeout-client and timeout-server",
			  p->name);
}
