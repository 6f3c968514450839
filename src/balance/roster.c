/* SPDX-License-Identifier: MIT
 *
 * roster.c - the servers that may be chosen now, in file order and sorted by key.
 *
 * Built by control; shared and freed by any thread.
 */
#include "weir/balance/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
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
		.index = s->index,
		.weight_end = r->weight,
	};
}

static void add_usable(struct roster *r, const struct backend *b, bool backup, size_t max)
{
	for (size_t i = 0; i < b->server_count && r->count < max; i++) {
		struct server *s = &b->servers[i];

		if (s->config->backup == backup && server_usable(s) && weight_of(s) > 0)
			add_entry(r, s);
	}
}

/* A server that may be down is better than none: health checks are more often wrong about all servers than
 * all servers are down. Servers that the administrator took out stay out. */
static void add_all(struct roster *r, const struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];

		if (s->admin == SERVER_ADMIN_READY && weight_of(s) > 0 &&
		    atomic_load_explicit(&s->addr, memory_order_relaxed) != NULL)
			add_entry(r, s);
	}
}

static void add_members(struct roster *r, const struct backend *b)
{
	add_usable(r, b, false, b->server_count);
	if (r->count == 0)
		add_usable(r, b, true, b->config->allbackups ? b->server_count : 1);
	if (r->count == 0 && b->config->panic)
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

static int make_table(struct roster *r, const struct backend *b)
{
	const struct config_balancing *how = &b->config->balance;

	if (r->count == 0)
		return 0;
	if (how->algorithm == CONFIG_BALANCE_MAGLEV)
		return roster_make_maglev(r);
	if (how->algorithm == CONFIG_BALANCE_SOURCE && how->hash == CONFIG_HASH_CONSISTENT)
		return roster_make_ring(r, b);
	return 0;
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

static void roster_free(struct roster *r)
{
	free(r->by_place);
	free(r->by_key);
	free(r->maglev);
	free(r->ring);
	free(r);
}

static int fill(struct roster *r, const struct backend *b)
{
	int err;

	r->by_place = calloc(b->server_count + 1, sizeof(*r->by_place));
	r->by_key = calloc(b->server_count + 1, sizeof(*r->by_key));
	if (r->by_place == NULL || r->by_key == NULL)
		return -ENOMEM;
	add_members(r, b);
	sort_by_key(r);
	err = make_table(r, b);
	if (err)
		return err;
	r->checksum = checksum_of(r);
	return 0;
}

struct roster *roster_new(const struct backend *b, uint64_t number)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	atomic_init(&r->refs, 1);
	r->number = number;
	if (fill(r, b) != 0) {
		roster_free(r);
		return NULL;
	}
	return r;
}

struct roster *roster_ref(struct roster *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void roster_unref(struct roster *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1)
		roster_free(r);
}
