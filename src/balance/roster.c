/* SPDX-License-Identifier: MIT
 *
 * roster.c - the servers that may be chosen now, in file order and sorted by key.
 *
 * Built and freed by control.
 */
#include "weir/balance/roster.h"

#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/net/sticky_table.h"
#include "roster_parts.h"

/* ---- members ---- */

static unsigned weight_of(const struct server *s)
{
	return atomic_load_explicit(&s->eweight, memory_order_relaxed);
}

static void add_entry(struct roster *r, struct server *s)
{
	const unsigned weight = weight_of(s);

	check(weight > 0);
	r->weight += weight;
	r->by_place[r->count++] = (struct roster_entry){
		.server = s,
		.weight = weight,
		.slot = s->slot,
		.weight_end = r->weight,
	};
}

static void add_usable(struct roster *r, const struct backend *b, bool backup, size_t max)
{
	for (size_t i = 0; i < b->server_count && r->count < max; i++) {
		struct server *s = b->servers[i];

		if (s->config->backup == backup && server_usable(s) && weight_of(s) > 0)
			add_entry(r, s);
	}
}

/* A server that may be down is better than none: health checks are more often wrong about all servers than
 * all servers are down. Servers that the administrator took out, or whose address has gone, stay out. */
static void add_all(struct roster *r, const struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (server_admin_now(s) == SERVER_ADMIN_READY && !s->leaves && weight_of(s) > 0 &&
		    server_addr(s) != NULL)
			add_entry(r, s);
	}
}

static void add_members(struct roster *r, const struct backend *b)
{
	add_usable(r, b, false, b->server_count);
	if (r->count == 0)
		add_usable(r, b, true, b->config->allbackups ? b->server_count : 1);
	/* A fallback that is up is better than a server that may be down; the last of the chain decides. */
	if (r->count == 0 && b->config->panic && b->config->fallback_backend == NULL)
		add_all(r, b);
}

/* ---- the same order on every machine ---- */

static int compare_keys(const void *left, const void *right)
{
	const struct server *a = ((const struct roster_entry *)left)->server;
	const struct server *b = ((const struct roster_entry *)right)->server;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return strcmp(a->config->name, b->config->name);
}

static void sort_by_key(struct roster *r)
{
	uint64_t end = 0;

	memcpy(r->by_key, r->by_place, r->count * sizeof(*r->by_key));
	qsort(r->by_key, r->count, sizeof(*r->by_key), compare_keys);
	for (size_t i = 0; i < r->count; i++) {
		end += r->by_key[i].weight;
		r->by_key[i].weight_end = end;
	}
}

unsigned roster_tables_of(const struct config_backend *config)
{
	const unsigned known = config->sticky.by != CONFIG_STICKY_OFF ? ROSTER_KNOWN : 0;
	const unsigned homes = config->persist != CONFIG_PERSIST_OFF ? ROSTER_HOMES : 0;
	const struct config_balancing *how = &config->balance;

	if (how->algorithm == CONFIG_BALANCE_MAGLEV)
		return known | homes | ROSTER_MAGLEV;
	if (how->algorithm == CONFIG_BALANCE_SOURCE && how->hash == CONFIG_HASH_CONSISTENT)
		return known | homes | ROSTER_RING;
	return known | homes;
}

static void make_tables(struct roster *r, const struct backend *b)
{
	const unsigned tables = roster_tables_of(b->config);

	if (tables & ROSTER_KNOWN)
		sticky_fill(r, b);
	if (tables & ROSTER_HOMES)
		roster_make_homes(r, b);
	if (r->count == 0)
		return;
	if (tables & ROSTER_MAGLEV)
		roster_make_maglev(r, r->scratch);
	else if (tables & ROSTER_RING)
		roster_make_ring(r, b, r->scratch);
}

static uint64_t checksum_of(const struct roster *r)
{
	uint64_t sum = hash_add(0, r->count);

	for (size_t i = 0; i < r->count; i++)
		sum = hash_add(hash_add(sum, r->by_key[i].server->key), r->by_key[i].weight);
	for (size_t i = 0; i < r->ring_count; i++)
		sum = hash_add(hash_add(sum, r->ring[i].hash), r->ring[i].entry);
	for (size_t i = 0; r->maglev != NULL && i < ROSTER_MAGLEV_SLOTS; i++)
		sum = hash_add(sum, r->maglev[i]);
	return sum;
}

/* ---- building and freeing ---- */

struct roster_room roster_room_of(const struct backend *b, unsigned tables, size_t more, size_t more_weight)
{
	struct roster_room room = {.servers = b->server_count + more};
	size_t points = more_weight * ROSTER_RING_POINTS + more;

	room.known = (tables & ROSTER_KNOWN) ? sticky_places_for(room.servers) : 0;
	room.maglev = (tables & ROSTER_MAGLEV) != 0;
	room.homes = (tables & ROSTER_HOMES) != 0;
	if (!(tables & ROSTER_RING))
		return room;
	for (size_t i = 0; i < b->server_count; i++)
		points += (size_t)server_weight_now(b->servers[i]) * ROSTER_RING_POINTS + 1;
	room.points = roster_points_max(points, room.servers) + 1;
	return room;
}

bool roster_has_room(const struct roster *r, const struct roster_room *room)
{
	return r->room.servers >= room->servers && r->room.points >= room->points &&
	       r->room.known >= room->known && (r->room.maglev || !room->maglev) &&
	       (r->room.homes || !room->homes);
}

static void scratch_free(struct roster *r)
{
	if (r->scratch == NULL)
		return;
	roster_scratch_free(r->scratch);
	free(r->scratch);
	r->scratch = NULL;
}

void roster_free(struct roster *r)
{
	if (r == NULL)
		return;
	scratch_free(r);
	sticky_table_put(r->sticky);
	free(r->known);
	free(r->by_place);
	free(r->by_key);
	free(r->maglev);
	free(r->ring);
	free(r->homes);
	free(r);
}

struct roster *roster_alloc(const struct roster_room *room)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->room = *room;
	r->by_place = calloc(room->servers + 1, sizeof(*r->by_place));
	r->by_key = calloc(room->servers + 1, sizeof(*r->by_key));
	r->scratch = calloc(1, sizeof(*r->scratch));
	if (room->known > 0)
		r->known = calloc(room->known, sizeof(*r->known));
	if (room->homes)
		r->homes = calloc(room->servers + 1, sizeof(*r->homes));
	if (r->by_place == NULL || r->by_key == NULL || r->scratch == NULL ||
	    (room->known > 0 && r->known == NULL) || (room->homes && r->homes == NULL) ||
	    roster_scratch_init(r->scratch, room) != 0) {
		roster_free(r);
		return NULL;
	}
	return r;
}

void roster_fill(struct roster *r, const struct backend *b, uint64_t number)
{
	check(r->scratch != NULL);
	r->number = number;
	r->how = b->config->balance;
	add_members(r, b);
	sort_by_key(r);
	make_tables(r, b);
	r->checksum = checksum_of(r);
	scratch_free(r);
}

static void free_retired(struct retired *item)
{
	roster_free(container_of(item, struct roster, retired));
}

static const struct retired_kind roster_kind = {.free = free_retired};

void roster_retire(struct roster *r, struct live *live)
{
	retire_add(&live->retire, &r->retired, &roster_kind);
}
