/* SPDX-License-Identifier: MIT
 *
 * stuck.c - the server that a client had before, where `sticky` is in effect.
 *
 * A client is told apart by its address, or by the one that it connected to. An entry is made when a server
 * is chosen, not when it has answered: the connections that a client opens at once meet at one server,
 * whichever workers accept them. Two workers may still choose for one client at a time; the table takes the
 * first answer, and the other worker follows. A worker's thread.
 */
#include "stuck.h"

#include "weir/balance/roster.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "destination.h"
#include "worker.h"

/* How often a client's server may change under a choice before the choice stands. */
#define SETTLE_TIMES 4

static int64_t now_ns(const struct session *s)
{
	return s->worker->loop.now_ns;
}

/* NULL if the client is to leave it. */
static struct server *usable(const struct stuck *k, uint64_t id)
{
	struct server *server = id != 0 ? sticky_server(k->roster, id) : NULL;

	return server != NULL && server != k->avoid && sticky_may_take(server) ? server : NULL;
}

static bool find_key(const struct session *s, struct stuck *k)
{
	const enum sticky_keys kind = sticky_table_keys(k->roster->sticky);
	struct addr_brief to;

	if (kind == STICKY_CLIENTS)
		return sticky_key_of(kind, &s->client, &k->key);
	k->shared = destination_of(s, &to) && sticky_key_of(kind, &to, &k->key);
	return k->shared;
}

static bool begin(const struct session *s, const struct server *avoid, struct stuck *k)
{
	*k = (struct stuck){.roster = backend_roster(s->back->backend), .avoid = avoid};
	if (k->roster->sticky != NULL)
		k->has_key = find_key(s, k);
	return k->has_key;
}

struct server *stuck_look(const struct session *s, const struct server *avoid, struct stuck *k)
{
	if (!begin(s, avoid, k))
		return NULL;
	k->id = sticky_table_use(k->roster->sticky, &k->key, now_ns(s),
				 now_ns(s) + k->roster->sticky_expire_ns);
	return usable(k, k->id);
}

bool stuck_settle(const struct session *s, struct stuck *k, const struct server *server)
{
	struct sticky_change c = {
		.to = server->name_id,
		.now_ns = now_ns(s),
		.expires_ns = now_ns(s) + k->roster->sticky_expire_ns,
	};

	for (int i = 0; k->has_key && i < SETTLE_TIMES; i++) {
		bool evicted;

		c.from = k->id;
		k->id = sticky_table_set(k->roster->sticky, &k->key, &c, &evicted);
		if (evicted)
			counter_add(&s->worker->counters.sticky_evicted, 1);
		if (k->id == c.to)
			return true;
		if (usable(k, k->id) != NULL)
			return false;
	}
	return true;
}

void stuck_stay(const struct session *s)
{
	struct stuck k;

	if (stuck_look(s, NULL, &k) == NULL)
		(void)stuck_settle(s, &k, s->at->server);
}

bool stuck_has_server(const struct session *s)
{
	struct stuck k;

	return stuck_look(s, NULL, &k) != NULL;
}
