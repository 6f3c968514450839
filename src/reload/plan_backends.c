/* SPDX-License-Identifier: MIT
 *
 * plan_backends.c - backends of a new configuration beside those that live.
 *
 * A backend meets the one with its name; plan_servers.c has its servers. What has been removed is not in the
 * list of the engine, so it is never met again. Control thread.
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
