/* SPDX-License-Identifier: MIT
 *
 * preview.c - where a new client of a backend would go now, and why not to the other servers.
 *
 * Compares servers as the algorithms do, without their state in a worker. Control thread.
 */
#include "weir/balance/preview.h"

#include <string.h>

#include "weir/balance/client_key.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "picker_parts.h"

static const struct {
	const char *word;
	const char *text;
} fates[PREVIEW_FATES] = {
#define PREVIEW(name, word, text) [PREVIEW_##name] = {word, text},
#include "weir/balance/previews.tbl.h"
#undef PREVIEW
};

const char *preview_word(enum preview_fate fate)
{
	check(fate < PREVIEW_FATES);
	return fates[fate].word;
}

const char *preview_text(enum preview_fate fate)
{
	check(fate < PREVIEW_FATES);
	return fates[fate].text;
}

/* ---- by load, or in turn ---- */

/* What the servers of an algorithm compete by; the least wins, and equals are candidates. */
static uint64_t rank_of(const struct preview *p, const struct roster_entry *e, size_t place)
{
	switch (p->algorithm) {
	case CONFIG_BALANCE_LEASTCONN:
		return pick_load_key(e);
	case CONFIG_BALANCE_FIRST:
		return place;
	case CONFIG_BALANCE_RANDOM:
		return p->most != NULL && pick_is_less_loaded(p->most, e);
	case CONFIG_BALANCE_ROUNDROBIN:
	case CONFIG_BALANCE_SOURCE:
	case CONFIG_BALANCE_MAGLEV:
		break;
	}
	return 0;
}

/* The shares of the bound are those of the order by keys. */
static bool is_under_bound(const struct preview *p, const struct server *s)
{
	const struct pick_bound bound = {.slots = p->slots, .weight = p->roster->weight};

	for (size_t i = 0; bound.slots > 0 && i < p->roster->count; i++)
		if (p->roster->by_key[i].server == s)
			return pick_bound_admits(&bound, &p->roster->by_key[i]);
	return true;
}

/* In the order in which they compete; where there is a bound, that is the order by keys. */
static const struct roster_entry *competitors(const struct preview *p)
{
	return p->slots > 0 ? p->roster->by_key : p->roster->by_place;
}

/* `e` is one of the competitors. */
static bool may_take(const struct preview *p, const struct roster_entry *e)
{
	const struct pick_bound bound = {.slots = p->slots, .weight = p->roster->weight};

	return !pick_is_full(e->server) && pick_bound_admits(&bound, e);
}

static void find_candidates(struct preview *p)
{
	const struct roster_entry *list = competitors(p);

	p->rank = UINT64_MAX;
	p->candidates = 0;
	for (size_t i = 0; i < p->roster->count; i++) {
		const struct roster_entry *e = &list[i];
		const uint64_t rank = rank_of(p, e, i);

		if (!may_take(p, e) || rank > p->rank)
			continue;
		p->candidates = rank < p->rank ? 1 : p->candidates + 1;
		p->server = e->server;
		p->rank = rank;
	}
	if (p->candidates > 1)
		p->server = NULL;
}

/* Puts `e` among the `count` most loaded, the least loaded of them first; drops that one if there are more
 * than `max`. */
static size_t keep_loaded(const struct roster_entry **list, size_t count, size_t max,
			  const struct roster_entry *e)
{
	size_t at = 0;

	if (count == max && !pick_is_less_loaded(list[0], e))
		return count;
	if (count == max)
		memmove(list, list + 1, --count * sizeof(*list));
	while (at < count && pick_is_less_loaded(list[at], e))
		at++;
	memmove(list + at + 1, list + at, (count - at) * sizeof(*list));
	list[at] = e;
	return count + 1;
}

/* Of each draw the least loaded server wins. With `draws` of `count` servers, all of them different, a server
 * can win unless more than count - draws are less loaded and may take the client. */
static void find_losers(struct preview *p)
{
	const struct roster_entry *most[CONFIG_DRAWS_MAX], *list = competitors(p);
	const struct roster *r = p->roster;
	const size_t spared = r->count - (r->how.draws < r->count ? r->how.draws : r->count);
	size_t takers = 0, count = 0;

	for (size_t i = 0; i < r->count; i++)
		takers += may_take(p, &list[i]);
	if (takers <= spared)
		return;
	check(takers - spared <= ARRAY_LEN(most));
	for (size_t i = 0; i < r->count; i++)
		if (may_take(p, &list[i]))
			count = keep_loaded(most, count, takers - spared, &list[i]);
	if (count == takers - spared) /* the loads may change meanwhile */
		p->most = most[0];
}

static void by_load(struct preview *p, const struct pick_bound *bound)
{
	if (p->algorithm == CONFIG_BALANCE_RANDOM) {
		p->slots = bound->slots;
		find_losers(p);
	}
	find_candidates(p);
	if (p->candidates == 0 && p->algorithm == CONFIG_BALANCE_RANDOM) {
		/* All are full or over the bound: the least loaded that is not full, as in pick_random(). */
		p->slots = 0;
		p->algorithm = CONFIG_BALANCE_LEASTCONN;
		find_candidates(p);
	}
	p->pick = p->candidates > 0 ? PICK_SERVER : PICK_FULL;
}

/* ---- by the client's address ---- */

static void by_hash(struct preview *p, const struct picker *picker, const struct pick_bound *bound,
		    uint64_t key)
{
	const struct pick_bound none = {.weight = bound->weight};
	const struct roster_entry *e;

	p->slots = bound->slots;
	p->pick = PICK_FULL;
	e = pick_hash_look(picker, key, bound, &p->pick);
	if (e == NULL && bound->slots > 0) {
		p->slots = 0;
		e = pick_hash_look(picker, key, &none, &p->pick);
	}
	if (e == NULL)
		return;
	p->server = e->server;
	p->candidates = p->pick == PICK_SERVER;
}

/* ---- any algorithm ---- */

static bool is_hashed(const struct preview *p)
{
	return p->algorithm == CONFIG_BALANCE_SOURCE || p->algorithm == CONFIG_BALANCE_MAGLEV;
}

/* Clients that wait go first: choice.c. */
static void go_behind(struct preview *p, const struct backend *b)
{
	if (p->pick != PICK_SERVER)
		return;
	if (!queue_is_waiting(b) && (p->server == NULL ||
	    atomic_load_explicit(&p->server->queued, memory_order_relaxed) == 0))
		return;
	p->pick = PICK_FULL;
	p->behind = true;
	p->candidates = 0;
	if (!is_hashed(p) && p->stuck == NULL)
		p->server = NULL;
}

/* queueing.c: a new client whose server has a full queue waits for any server. */
static void find_queue(struct preview *p, const struct backend *b)
{
	if (p->pick != PICK_FULL || queue_has_room(b, p->server))
		return;
	p->refused = p->server == NULL || !backend_settings(b)->config->redispatch ||
		     !queue_has_room(b, NULL);
	p->server = NULL;
}

struct preview preview_client(const struct backend *b, uint64_t key)
{
	const struct roster *r = backend_roster(b);
	const struct picker picker = {.roster = r};
	struct preview p = {.pick = PICK_NONE, .roster = r, .algorithm = r->how.algorithm};
	struct pick_bound bound;

	if (r->count == 0)
		return p;
	bound = pick_bound_now(&picker);
	if (is_hashed(&p))
		by_hash(&p, &picker, &bound, key);
	else
		by_load(&p, &bound);
	go_behind(&p, b);
	find_queue(&p, b);
	return p;
}

/* ---- clients that keep their server ---- */

const struct server *preview_stuck(const struct backend *b, const struct addr_brief *client,
				   const struct addr_brief *to)
{
	const struct roster *r = backend_roster(b);
	const struct server *s;
	enum sticky_keys kind;
	struct sticky_key k;
	uint64_t id;

	if (r->sticky == NULL)
		return NULL;
	kind = sticky_table_keys(r->sticky);
	if (!sticky_key_of(kind, kind == STICKY_CLIENTS ? client : to, &k))
		return NULL;
	id = sticky_table_look(r->sticky, &k, clock_mono_ns());
	s = id != 0 ? sticky_server(r, id) : NULL;
	return s != NULL && sticky_may_take(s) ? s : NULL;
}

struct preview preview_of(const struct backend *b, const struct addr_brief *client,
			  const struct addr_brief *to)
{
	const struct server *s = preview_stuck(b, client, to);
	const struct roster *r = backend_roster(b);
	struct preview p = {.roster = r, .algorithm = r->how.algorithm, .candidates = 1};

	if (s == NULL)
		return preview_client(b, client_key(client));
	p.stuck = s;
	p.server = s;
	p.pick = pick_is_full(s) ? PICK_FULL : PICK_SERVER;
	if (atomic_load_explicit(&s->in_roster, memory_order_relaxed))
		go_behind(&p, b); /* no others wait for one that is drained */
	find_queue(&p, b);
	return p;
}

/* ---- the others ---- */

static enum preview_fate why_not_listed(const struct server *s)
{
	switch ((enum server_state)atomic_load_explicit(&s->state, memory_order_relaxed)) {
	case SERVER_UP:
		break;
	case SERVER_DRAIN:
	case SERVER_NOLB:
		return PREVIEW_DRAIN;
	case SERVER_DOWN:
		return PREVIEW_DOWN;
	case SERVER_UNRESOLVED:
		return PREVIEW_UNRESOLVED;
	case SERVER_MAINT:
		return PREVIEW_MAINT;
	}
	if (atomic_load_explicit(&s->eweight, memory_order_relaxed) == 0)
		return PREVIEW_NO_WEIGHT;
	return s->config->backup ? PREVIEW_BACKUP : PREVIEW_NOT_YET;
}

static enum preview_fate why_not_now(const struct preview *p, const struct server *s)
{
	const unsigned limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

	if (!pick_is_full(s))
		return is_under_bound(p, s) ? PREVIEW_CANDIDATE : PREVIEW_OVER_BOUND;
	return (unsigned)atomic_load_explicit(&s->sessions, memory_order_relaxed) >= limit ? PREVIEW_FULL
											    : PREVIEW_QUEUED;
}

/* It could take the client. */
static enum preview_fate why_another(const struct preview *p, const struct roster_entry *e, size_t place)
{
	if (p->stuck != NULL)
		return PREVIEW_LATER;
	if (p->pick != PICK_SERVER)
		return PREVIEW_BEHIND;
	if (is_hashed(p) || p->algorithm == CONFIG_BALANCE_FIRST)
		return PREVIEW_LATER;
	return rank_of(p, e, place) > p->rank ? PREVIEW_BUSIER : PREVIEW_CANDIDATE;
}

enum preview_fate preview_next(struct preview *p, const struct server *s)
{
	const struct roster *r = p->roster;
	enum preview_fate fate;

	if (p->next >= r->count || r->by_place[p->next].server != s) {
		if (p->server != s)
			return why_not_listed(s);
		return p->pick == PICK_SERVER ? PREVIEW_TAKEN : PREVIEW_AWAITED; /* drained */
	}
	p->next++;
	if (p->server == s)
		return p->pick == PICK_SERVER ? PREVIEW_TAKEN : PREVIEW_AWAITED;
	fate = why_not_now(p, s);
	return fate == PREVIEW_CANDIDATE ? why_another(p, &r->by_place[p->next - 1], p->next - 1) : fate;
}
