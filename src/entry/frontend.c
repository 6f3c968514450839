/* SPDX-License-Identifier: MIT
 *
 * frontend.c - a frontend at run time: how many clients it has, and its settings.
 *
 * Owns the versions of its settings. Control thread.
 */
#include "weir/entry/frontend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/entry/entries.h"
#include "weir/entry/rules.h"
#include "weir/net/source_table.h"
#include "weir/sys/sys.h"
#include "parts.h"

static bool is_guarded(const struct config_frontend *c)
{
	return c->allow != NULL || c->deny != NULL || c->allow_uid_count > 0 || c->maxconn_per_source > 0 ||
	       c->source_rate.count > 0 || c->route_count > 0 || c->sniff.kind != CONFIG_SNIFF_OFF;
}

static bool is_choosy(const struct config_frontend *c)
{
	return c->allow != NULL || c->deny != NULL || c->allow_uid_count > 0 || c->trusted != NULL ||
	       c->source_rate.count > 0;
}

/* A backend lives as long as settings name it, one count for each place where they do. */
static void lead(const struct frontend_settings *s, bool there)
{
	unsigned *n = &s->backend->frontends;

	*n = there ? *n + 1 : *n - 1;
	for (size_t i = 0; s->routes != NULL && i < s->config->route_count; i++) {
		n = &s->routes[i]->frontends;
		*n = there ? *n + 1 : *n - 1;
	}
}

static void free_settings(struct frontend_settings *s)
{
	list_remove(&s->link);
	lead(s, false);
	free(s->routes);
	config_frontend_copy_free((struct config_frontend *)s->config);
	free(s);
}

struct frontend_settings *frontend_settings_new(struct frontend *fe, const struct config_frontend *config,
						struct backend *backend, struct backend *const *routes)
{
	struct frontend_settings *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	list_init(&s->link);
	s->config = config_frontend_copy(config);
	if (s->config == NULL) {
		free(s);
		return NULL;
	}
	s->frontend = fe;
	s->backend = backend;
	s->users = 1;
	s->source_rate = source_rate_of(config->source_rate.count, config->source_rate.period_ns,
					config->source_rate.burst);
	s->guarded = is_guarded(config);
	s->choosy = is_choosy(config);
	s->sniffs = config->sniff.kind != CONFIG_SNIFF_OFF;
	s->names = rules_use_names(config);
	if (config->route_count > 0) {
		s->routes = calloc(config->route_count, sizeof(struct backend *));
		if (s->routes == NULL) {
			config_frontend_copy_free((struct config_frontend *)s->config);
			free(s);
			return NULL;
		}
		memcpy(s->routes, routes, config->route_count * sizeof(struct backend *));
	}
	lead(s, true);
	list_push_back(&fe->versions, &s->link);
	return s;
}

void frontend_settings_put(struct frontend_settings *s)
{
	check(s->users > 0);
	if (--s->users == 0)
		free_settings(s);
}

static bool are_same_routes(const struct frontend_settings *s, struct backend *const *routes)
{
	for (size_t i = 0; i < s->config->route_count; i++)
		if (s->routes[i] != routes[i])
			return false;
	return true;
}

struct frontend_settings *frontend_settings_find(const struct frontend *fe,
						 const struct config_frontend *config,
						 const struct backend *backend,
						 struct backend *const *routes)
{
	for (const struct list *l = fe->versions.next; l != &fe->versions; l = l->next) {
		struct frontend_settings *s = list_entry(l, struct frontend_settings, link);

		if (s->backend == backend && config_frontend_same(s->config, config) &&
		    are_same_routes(s, routes))
			return s;
	}
	return NULL;
}

static struct frontend *frontend_alloc(void)
{
	const size_t bytes = (sizeof(struct frontend) + 63) / 64 * 64;
	struct frontend *fe = aligned_alloc(64, bytes);

	if (fe == NULL)
		return NULL;
	memset(fe, 0, bytes);
	list_init(&fe->link);
	list_init(&fe->versions);
	list_init(&fe->endpoints);
	paused_init(&fe->paused);
	paused_init(&fe->rate_paused);
	fe->changed_ns = sys_now_ns();
	return fe;
}

/* ---- tables of sources ---- */

int frontend_make_tables(const struct frontend *fe, const struct config_frontend *config,
			 struct frontend_tables *t)
{
	const bool needs_sources = config->maxconn_per_source > 0 && fe->sources == NULL;
	const bool needs_rates = config->source_rate.count > 0 && fe->source_rates == NULL;

	*t = (struct frontend_tables){0};
	if (needs_sources)
		t->sources = source_table_new();
	if (needs_rates)
		t->rates = source_rates_new(SOURCE_RATES_MAX);
	if ((t->sources != NULL) == needs_sources && (t->rates != NULL) == needs_rates)
		return 0;
	frontend_free_tables(t);
	return -ENOMEM;
}

void frontend_take_tables(struct frontend *fe, struct frontend_tables *t)
{
	if (fe->sources == NULL) {
		atomic_store(&fe->sources, t->sources);
		t->sources = NULL;
	}
	if (fe->source_rates == NULL) {
		atomic_store(&fe->source_rates, t->rates);
		t->rates = NULL;
	}
	frontend_free_tables(t);
}

void frontend_free_tables(struct frontend_tables *t)
{
	source_table_free(t->sources);
	source_rates_free(t->rates);
	*t = (struct frontend_tables){0};
}

struct frontend *frontend_new(struct entries *e, const struct config_frontend *config,
			      struct backend *backend, struct backend *const *routes)
{
	struct frontend *fe = frontend_alloc();
	struct frontend_tables tables;

	if (fe == NULL)
		return NULL;
	if (slot_space_take(&e->live->objects, &fe->slot) != 0) {
		free(fe);
		return NULL;
	}
	fe->entries = e;
	fe->own_limit = config->maxconn;
	fe->has_choice = config->route_count > 0;
	atomic_init(&fe->limit, config->maxconn);
	rate_init(&fe->rate, config->rate_limit);
	fe->settings = frontend_settings_new(fe, config, backend, routes);
	if (fe->settings != NULL && frontend_make_tables(fe, config, &tables) == 0) {
		frontend_take_tables(fe, &tables);
		fe->config = fe->settings->config;
		return fe;
	}
	frontend_free(e, fe);
	return NULL;
}

void frontend_free(struct entries *e, struct frontend *fe)
{
	check(list_empty(&fe->endpoints));
	check(atomic_load(&fe->sessions) == 0);
	check(paused_is_empty(&fe->paused) && paused_is_empty(&fe->rate_paused));
	list_remove(&fe->link);
	if (fe->settings != NULL)
		frontend_settings_put(fe->settings);
	check(list_empty(&fe->versions));
	slot_space_put(&e->live->objects, fe->slot);
	source_table_free(fe->sources);
	source_rates_free(fe->source_rates);
	free(fe);
}
