/* SPDX-License-Identifier: MIT
 *
 * plan_frontends.c - frontends of a new configuration beside those that live, by name.
 *
 * A frontend is kept if its settings are the same and its clients go to the same live backends, whatever
 * numbers these have in the two configurations. One that was shut down at run time is back in service if it
 * is not kept, or if its binds differ. Control thread.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"
#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"

struct found {
	struct frontend **list; /* owns; in the order of the engine */
	size_t count;
	struct hash_index by_name;
};

static uint64_t hash_of(const char *name)
{
	return hash_bytes(name, strlen(name), 0);
}

static int find_all(struct found *f, const struct entries *e)
{
	size_t n = 0;

	entries_foreach_frontend(e, fe)
		n++;
	f->list = calloc(n + 1, sizeof(struct frontend *));
	if (f->list == NULL || hash_index_init(&f->by_name, n) != 0)
		return -ENOMEM;
	entries_foreach_frontend(e, fe) {
		hash_index_add(&f->by_name, f->count, hash_of(fe->config->name));
		f->list[f->count++] = fe;
	}
	return 0;
}

static void forget_all(struct found *f)
{
	hash_index_free(&f->by_name);
	free(f->list);
}

/* Of two whose settings are the same. */
static bool is_way_same(const struct plan *p, const struct frontend *fe, const struct config_frontend *config)
{
	const struct frontend_settings *s = fe->settings;

	check(s->config->route_count == config->route_count);
	if (p->backends[config->backend].live != s->backend)
		return false;
	for (size_t i = 0; i < config->route_count; i++)
		if (p->backends[config->routes[i].backend].live != s->routes[i])
			return false;
	return true;
}

static bool has_bind(const struct frontend *fe, const struct config_bind *b)
{
	frontend_foreach_endpoint(fe, ep)
		if (endpoint_belongs(ep) && config_bind_same(ep->config, b))
			return true;
	return false;
}

/* Has it the binds of `config`, in whatever order? */
static bool are_binds_same(const struct frontend *fe, const struct config_frontend *config)
{
	size_t binds = 0;

	frontend_foreach_endpoint(fe, ep)
		binds += endpoint_belongs(ep) && ep->part <= 1;
	if (binds != config->bind_count)
		return false;
	for (size_t i = 0; i < config->bind_count; i++)
		if (!has_bind(fe, &config->binds[i]))
			return false;
	return true;
}

static struct plan_frontend frontend_of(const struct plan *p, struct found *f,
					const struct config_frontend *config)
{
	struct plan_frontend pf = {.what = PLAN_ADDED, .config = config, .backend = config->backend};
	size_t i = hash_index_first(&f->by_name, hash_of(config->name));

	check(config->backend < p->next->backend_count);
	while (i != HASH_INDEX_NONE && strcmp(f->list[i]->config->name, config->name) != 0)
		i = hash_index_next(&f->by_name, i);
	if (i == HASH_INDEX_NONE)
		return pf;
	check(!f->by_name.met[i]); /* no two frontends have one name */
	f->by_name.met[i] = true;
	pf.live = f->list[i];
	pf.what = config_frontend_same(pf.live->config, config) && is_way_same(p, pf.live, config)
			  ? PLAN_KEPT
			  : PLAN_CHANGED;
	pf.revives = pf.live->admin == FRONTEND_ADMIN_SHUT &&
		     (pf.what == PLAN_CHANGED || !are_binds_same(pf.live, config));
	if (pf.revives)
		pf.what = PLAN_CHANGED;
	return pf;
}

static int meet_frontends(struct plan *p, struct found *f)
{
	p->frontends = calloc(p->next->frontend_count + f->count + 1, sizeof(*p->frontends));
	if (p->frontends == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < p->next->frontend_count; i++)
		p->frontends[p->frontend_count++] = frontend_of(p, f, &p->next->frontends[i]);
	for (size_t i = 0; i < f->count; i++)
		if (!f->by_name.met[i])
			p->frontends[p->frontend_count++] = (struct plan_frontend){
				.what = PLAN_REMOVED, .live = f->list[i], .backend = SIZE_MAX};
	return 0;
}

int plan_frontends(struct plan *p, const struct engine *e)
{
	struct found f = {0};
	int err = find_all(&f, &e->entries);

	if (!err)
		err = meet_frontends(p, &f);
	forget_all(&f);
	return err;
}
