/* SPDX-License-Identifier: MIT
 *
 * backend.c - the servers of a backend at run time, and its current roster.
 *
 * Owns the servers, the roster and the queue. Opens no sockets. Control thread.
 */
#include "weir/balance/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/change_log.h"
#include "weir/balance/server_set.h"
#include "weir/balance/sticky.h"
#include "weir/balance/tombstone.h"
#include "weir/base/check.h"
#include "live_parts.h"
#include "server_change.h"
#include "server_parts.h"
#include "settings_parts.h"

/* Before workers see the server, or its new settings. */
void backend_mark_features(struct backend *b, const struct config_server *config)
{
	if (config->maxconn > 0)
		atomic_store(&b->limited, true);
	if (config->send_proxy != CONFIG_SEND_PROXY_V2)
		return;
	atomic_store_explicit(&b->sends_v2, true, memory_order_relaxed);
	if (config->proxy_pass)
		atomic_store_explicit(&b->passes_tlvs, true, memory_order_relaxed);
}

static int add_server(struct backend *b, const struct config_server *one)
{
	struct server *s;
	const int err = server_new(b, one, &s);

	if (err)
		return err;
	s->id = (unsigned)b->server_count + 1;
	b->servers[b->server_count++] = s;
	backend_mark_features(b, one);
	server_joins(s);
	return 0;
}

static int add_set(struct backend *b, const struct config_server *one)
{
	struct server_set *set = server_set_new(b, one);

	if (set == NULL)
		return -ENOMEM;
	list_push_back(&b->sets, &set->link);
	return 0;
}

static int add_servers(struct backend *b, const struct config_backend *config)
{
	int err = 0;

	/* One more than needed: no allocation is empty. */
	b->servers = calloc(config->server_count + 1, sizeof(struct server *));
	if (b->servers == NULL)
		return -ENOMEM;
	b->server_room = config->server_count;
	for (size_t i = 0; i < config->server_count && !err; i++) {
		const struct config_server *one = &config->servers[i];

		err = one->set != CONFIG_SET_NONE ? add_set(b, one) : add_server(b, one);
	}
	atomic_store(&b->size, (uint32_t)b->server_count);
	return err;
}

static int backend_init(struct backend *b, const struct config_backend *config)
{
	struct backend_settings *v = backend_settings_hold(b, config);
	int err;

	if (v == NULL)
		return -ENOMEM;
	backend_settings_publish(v);
	err = backend_sticky_prepare(b, config);
	if (err)
		return err;
	backend_sticky_commit(b);
	err = add_servers(b, config);
	if (err)
		return err;
	b->told_usable = b->usable; /* nothing has gone down yet */
	return backend_refresh(b);
}

struct backend *backend_new(struct live *live, const struct config_backend *config)
{
	/* The cache lines shared by workers are aligned, which malloc(3) does not guarantee. */
	struct backend *b = aligned_alloc(_Alignof(struct backend), sizeof(*b));

	if (b == NULL)
		return NULL;
	memset(b, 0, sizeof(*b));
	if (slot_space_take(&live->objects, &b->slot) != 0) {
		free(b);
		return NULL;
	}
	b->live = live;
	list_init(&b->versions);
	list_init(&b->link);
	list_init(&b->left);
	list_init(&b->tombstones);
	list_init(&b->sets);
	queue_init(&b->queue);
	if (backend_init(b, config) != 0) {
		backend_free(b);
		return NULL;
	}
	return b;
}

void backend_free(struct backend *b)
{
	if (b == NULL)
		return;
	check(atomic_load(&b->queue.waiting) == 0);
	while (!list_empty(&b->left)) {
		struct server *s = list_entry(b->left.next, struct server, link);

		check(s->retired.stage == RETIRE_NONE); /* retire_end() comes first */
		server_free(s);
	}
	for (size_t i = 0; i < b->server_count; i++)
		server_free(b->servers[i]);
	while (!list_empty(&b->tombstones))
		tombstone_free(tombstone_at(b->tombstones.next));
	while (!list_empty(&b->sets))
		server_set_free(server_set_at(b->sets.next));
	free(b->servers);
	roster_free(b->spare);
	roster_free(atomic_load(&b->roster));
	sticky_table_put(b->sticky);
	sticky_table_put(b->sticky_next);
	backend_settings_free_all(b);
	slot_space_put(&b->live->objects, b->slot);
	free(b);
}

/* Servers that stay are not touched: a queue that looks meanwhile would skip them. */
static void mark_chosen(struct backend *b, const struct roster *r)
{
	size_t next = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];
		const bool chosen = next < r->count && r->by_place[next].server == s;

		next += chosen;
		if (atomic_load_explicit(&s->in_roster, memory_order_relaxed) != chosen)
			atomic_store(&s->in_roster, chosen);
	}
	check(next == r->count);
}

/* The spare belongs to changes that are committed: those that are only prepared may still need it. */
static struct roster *next_roster(struct backend *b)
{
	const struct roster_room room = roster_room_of(b, roster_tables_of(b->config), 0, 0);
	struct roster *r = b->spare;

	if (r == NULL || b->prepared > 0 || !roster_has_room(r, &room))
		return roster_alloc(&room);
	b->spare = NULL;
	return r;
}

/* Nobody comes to them any more. */
static void tell_drains(const struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];
		const bool ends = b->config->drain == CONFIG_DRAIN_IDLE &&
				  atomic_load_explicit(&s->drains, memory_order_relaxed);

		if (ends && !s->told_to_drain)
			live_end_sessions(b->live, s->slot, true);
		s->told_to_drain = ends;
	}
}

int backend_refresh(struct backend *b)
{
	struct roster *previous = atomic_load_explicit(&b->roster, memory_order_relaxed);
	struct roster *next = next_roster(b);

	if (next == NULL)
		return -ENOMEM;
	roster_fill(next, b, previous != NULL ? previous->number + 1 : 1);
	mark_chosen(b, next);
	atomic_store_explicit(&b->roster, next, memory_order_release);
	if (previous != NULL)
		roster_retire(previous, b->live);
	if (b->leaving)
		servers_retire(b); /* nobody can find them any more */
	tell_drains(b);
	/* Even when nobody waits: its lock orders these changes before any client that begins to wait now. */
	queue_rearrange(b);
	b->stale = false;
	return 0;
}

/* ---- what a change needs ---- */

static int widen(struct backend *b, size_t room)
{
	struct server **wider;

	if (room <= b->server_room)
		return 0;
	room += room / 2;
	wider = realloc(b->servers, (room + 1) * sizeof(struct server *));
	if (wider == NULL)
		return -ENOMEM;
	b->servers = wider;
	b->server_room = room;
	return 0;
}

int backend_reserve(struct backend *b, const struct config_backend *config, size_t more, size_t more_weight)
{
	const unsigned tables = b->tables | roster_tables_of(config);
	const struct roster_room room =
		roster_room_of(b, tables, b->more + more, b->more_weight + more_weight);
	struct roster *spare;

	if (widen(b, b->server_count + b->more + more) != 0)
		return -ENOMEM;
	if (b->spare == NULL || !roster_has_room(b->spare, &room)) {
		spare = roster_alloc(&room);
		if (spare == NULL)
			return -ENOMEM;
		roster_free(b->spare);
		b->spare = spare;
	}
	b->more += more;
	b->more_weight += more_weight;
	b->tables = tables;
	b->prepared++;
	return 0;
}

void backend_unreserve(struct backend *b)
{
	check(b->prepared > 0);
	if (--b->prepared > 0)
		return;
	b->more = 0;
	b->more_weight = 0;
	b->tables = 0;
	if (b->stale)
		return; /* others were committed */
	roster_free(b->spare);
	b->spare = NULL;
}

/* ---- rosters ---- */

int backend_changed(struct backend *b)
{
	if (!b->held)
		return backend_refresh(b);
	b->stale = true;
	return 0;
}

void backend_tell_last_one(struct backend *b)
{
	const size_t before = b->told_usable;
	const size_t used = backend_roster(b)->count;

	if (b->stale)
		return; /* logged with the pending roster */
	b->told_usable = b->usable;
	if (before == 0 || b->usable > 0)
		return;
	change_log_backend_down(b, used);
}

void backend_hold(struct backend *b)
{
	b->held = true;
}

int backend_release(struct backend *b)
{
	if (b->stale) {
		const int err = backend_refresh(b);

		if (err)
			return err;
		backend_tell_last_one(b);
	}
	b->held = false;
	return 0;
}

struct server_totals backend_totals(const struct backend *b)
{
	struct server_totals sum = b->gone;

	for (size_t i = 0; i < b->server_count; i++)
		server_add_totals(b->servers[i], &sum);
	for (const struct list *l = b->left.next; l != &b->left; l = l->next)
		server_add_totals(list_entry(l, struct server, link), &sum);
	return sum;
}
