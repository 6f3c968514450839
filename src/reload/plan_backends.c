/* SPDX-License-Identifier: MIT
 *
 * plan_backends.c - backends of a new configuration and their servers beside those that live.
 *
 * A backend meets the one with its name, a server the one with its name and address in that backend. What has
 * been removed is in neither list of the engine, so it is never met again. Control thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"
#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

/* ---- servers ---- */

/* The live server that `config` means; HASH_INDEX_NONE = none. */
static size_t meet_server(const struct hash_index *x, const struct backend *b,
			  const struct config_server *config)
{
	size_t i = hash_index_first(x, hash_of(config->name));

	while (i != HASH_INDEX_NONE && (strcmp(b->servers[i]->config->name, config->name) != 0 ||
					!config_addr_same(&b->servers[i]->config->addr, &config->addr)))
		i = hash_index_next(x, i);
	return i;
}

static struct plan_server server_of(struct hash_index *x, const struct backend *b,
				    const struct config_server *config)
{
	const size_t i = meet_server(x, b, config);
	struct plan_server s = {.what = PLAN_ADDED, .config = config};

	if (i == HASH_INDEX_NONE)
		return s;
	check(!x->met[i]); /* no two servers of a backend have one name */
	x->met[i] = true;
	s.live = b->servers[i];
	s.what = config_server_same(s.live->config, config) ? PLAN_KEPT : PLAN_CHANGED;
	return s;
}

/* All servers of a backend that comes. */
static void add_servers(struct plan_backend *pb)
{
	for (size_t i = 0; i < pb->config->server_count; i++)
		pb->servers[pb->server_count++] =
			(struct plan_server){.what = PLAN_ADDED, .config = &pb->config->servers[i]};
}

static void remove_servers(struct plan_backend *pb, const bool *met)
{
	for (size_t i = 0; i < pb->live->server_count; i++)
		if (met == NULL || !met[i])
			pb->servers[pb->server_count++] =
				(struct plan_server){.what = PLAN_REMOVED, .live = pb->live->servers[i]};
}

static int compare_servers(struct plan_backend *pb)
{
	const struct backend *b = pb->live;
	struct hash_index x;

	if (hash_index_init(&x, b->server_count) != 0)
		return -ENOMEM;
	for (size_t i = b->server_count; i-- > 0;)
		hash_index_add(&x, i, hash_of(b->servers[i]->config->name));
	for (size_t i = 0; i < pb->config->server_count; i++)
		pb->servers[pb->server_count++] = server_of(&x, b, &pb->config->servers[i]);
	remove_servers(pb, x.met);
	hash_index_free(&x);
	return 0;
}

static int plan_servers(struct plan_backend *pb)
{
	const size_t live = pb->live != NULL ? pb->live->server_count : 0;
	const size_t next = pb->config != NULL ? pb->config->server_count : 0;

	pb->servers = calloc(live + next + 1, sizeof(*pb->servers));
	if (pb->servers == NULL)
		return -ENOMEM;
	if (pb->live == NULL)
		add_servers(pb);
	else if (pb->config == NULL)
		remove_servers(pb, NULL);
	else
		return compare_servers(pb);
	return 0;
}

/* ---- backends ---- */

static struct plan_backend backend_of(struct hash_index *x, const struct engine *e,
				      const struct config_backend *config)
{
	struct plan_backend pb = {.what = PLAN_ADDED, .config = config};
	size_t i = hash_index_first(x, hash_of(config->name));

	while (i != HASH_INDEX_NONE && strcmp(e->backends[i]->config->name, config->name) != 0)
		i = hash_index_next(x, i);
	if (i == HASH_INDEX_NONE)
		return pb;
	check(!x->met[i]); /* no two backends have one name */
	x->met[i] = true;
	pb.live = e->backends[i];
	pb.what = config_backend_same(pb.live->config, config) ? PLAN_KEPT : PLAN_CHANGED;
	return pb;
}

static void meet_backends(struct plan *p, struct hash_index *x, const struct engine *e)
{
	for (size_t i = e->backend_count; i-- > 0;)
		hash_index_add(x, i, hash_of(e->backends[i]->config->name));
	for (size_t i = 0; i < p->next->backend_count; i++)
		p->backends[p->backend_count++] = backend_of(x, e, &p->next->backends[i]);
	for (size_t i = 0; i < e->backend_count; i++)
		if (!x->met[i])
			p->backends[p->backend_count++] =
				(struct plan_backend){.what = PLAN_REMOVED, .live = e->backends[i]};
}

int plan_backends(struct plan *p, const struct engine *e)
{
	struct hash_index x;

	p->backends = calloc(p->next->backend_count + e->backend_count + 1, sizeof(*p->backends));
	if (p->backends == NULL || hash_index_init(&x, e->backend_count) != 0)
		return -ENOMEM;
	meet_backends(p, &x, e);
	hash_index_free(&x);
	for (size_t i = 0; i < p->backend_count; i++)
		if (plan_servers(&p->backends[i]) != 0)
			return -ENOMEM;
	return 0;
}
