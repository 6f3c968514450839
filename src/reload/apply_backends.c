/* SPDX-License-Identifier: MIT
 *
 * apply_backends.c - backends and servers of a plan: prepared, and committed or undone.
 *
 * Owns none of them. Control thread.
 */
#include <errno.h>

#include "weir/balance/fallback.h"
#include "weir/base/check.h"
#include "weir/host/refusal.h"
#include "weir/host/socket_preflight.h"
#include "apply_work.h"

/* ---- steps ---- */

static void commit_added_backend(struct work *w, struct step *s)
{
	backend_commit_add(w->parts->updates, s->backend);
	engine_add_backend(w->parts->engine, s->backend);
}

static void undo_added_backend(struct work *w, struct step *s)
{
	(void)w;
	backend_undo_add(s->backend);
}

static const struct step_way added_backend = {STEP_ADD_BACKEND, commit_added_backend, undo_added_backend};

static void commit_changed_backend(struct work *w, struct step *s)
{
	backend_commit_change(w->parts->updates, s->backend_settings);
}

static void undo_changed_backend(struct work *w, struct step *s)
{
	(void)w;
	backend_undo_change(s->backend_settings);
}

static const struct step_way changed_backend = {STEP_CHANGE_BACKEND, commit_changed_backend,
						undo_changed_backend};

/* Those of a backend that is removed, too: what it led to may be removed as well, now or later. */
static void commit_fallbacks(struct work *w, struct step *s)
{
	(void)s;
	for (size_t i = 0; i < w->plan->backend_count; i++) {
		const struct plan_backend *p = &w->plan->backends[i];
		const bool leads = p->what != PLAN_REMOVED && p->config->fallback_backend != NULL;

		backend_set_fallback(w->backends[i], leads ? w->backends[p->config->fallback] : NULL);
	}
}

static const struct step_way fallbacks = {STEP_FALLBACKS, commit_fallbacks, NULL};

static void commit_removed_backend(struct work *w, struct step *s)
{
	engine_drop_backend(w->parts->engine, s->backend);
	backend_remove(w->parts->updates, s->backend);
}

static void undo_removed_backend(struct work *w, struct step *s)
{
	(void)w;
	backend_undo_remove(s->backend);
}

static const struct step_way removed_backend = {STEP_REMOVE_BACKEND, commit_removed_backend,
						undo_removed_backend};

static void commit_added_server(struct work *w, struct step *s)
{
	server_commit_add(w->parts->updates, s->server);
}

static void undo_added_server(struct work *w, struct step *s)
{
	(void)w;
	server_undo_add(s->server);
}

static const struct step_way added_server = {STEP_ADD_SERVER, commit_added_server, undo_added_server};

static void commit_changed_server(struct work *w, struct step *s)
{
	server_commit_change(w->parts->updates, s->server_settings);
}

static void undo_changed_server(struct work *w, struct step *s)
{
	(void)w;
	server_undo_change(s->server_settings);
}

static const struct step_way changed_server = {STEP_CHANGE_SERVER, commit_changed_server,
					       undo_changed_server};

static void commit_removed_server(struct work *w, struct step *s)
{
	server_remove(w->parts->updates, s->server);
}

static void undo_removed_server(struct work *w, struct step *s)
{
	(void)w;
	server_undo_remove(s->server);
}

static const struct step_way removed_server = {STEP_REMOVE_SERVER, commit_removed_server,
					       undo_removed_server};

static void commit_dropped_tombstone(struct work *w, struct step *s)
{
	(void)w;
	tombstone_free(s->tombstone);
}

static const struct step_way dropped_tombstone = {STEP_DROP_TOMBSTONE, commit_dropped_tombstone, NULL};

/* ---- servers ---- */

static int prepare_added_server(struct work *w, struct backend *b, const struct config_server *c)
{
	int err;
	struct server *s = server_prepare(b, c, &err);

	if (s == NULL)
		return work_refuse(w, err, "cannot add server '%s' to '%s' (%s:%u)", c->name, b->config->name,
				   c->place.file, c->place.line);
	work_add(w, &added_server)->server = s;
	return 0;
}

static int prepare_changed_server(struct work *w, struct server *s, const struct config_server *c)
{
	int err;
	struct server_settings *v = server_prepare_change(s, c, &err);

	if (v == NULL)
		return work_refuse(w, err, "cannot change server '%s' (%s:%u)", c->name, c->place.file,
				   c->place.line);
	work_add(w, &changed_server)->server_settings = v;
	return 0;
}

static int prepare_removed_server(struct work *w, struct server *s)
{
	const int err = server_prepare_remove(s);

	if (err)
		return work_refuse(w, err, "cannot remove server '%s' from '%s'", s->config->name,
				   s->owner->config->name);
	work_add(w, &removed_server)->server = s;
	return 0;
}

static bool is_set(const struct plan_server *s)
{
	return s->set != NULL || (s->config != NULL && s->config->set != CONFIG_SET_NONE);
}

/* ---- all of them ---- */

static int prepare_servers(struct work *w, const struct plan_backend *p)
{
	int err = 0;

	for (size_t i = 0; i < p->server_count && !err; i++) {
		const struct plan_server *s = &p->servers[i];

		if (is_set(s)) {
			err = work_prepare_set(w, p->live, s);
			continue;
		}
		switch (s->what) {
		case PLAN_KEPT:
			break;
		case PLAN_ADDED:
			err = prepare_added_server(w, p->live, s->config);
			break;
		case PLAN_CHANGED:
			err = prepare_changed_server(w, s->live, s->config);
			break;
		case PLAN_REMOVED:
			err = prepare_removed_server(w, s->live);
			break;
		}
		if (!err && s->tombstone != NULL && !plan_stays_deleted(s))
			work_add(w, &dropped_tombstone)->tombstone = s->tombstone;
	}
	return err;
}

/* ---- backends ---- */

static int prepare_added(struct work *w, size_t i)
{
	const struct config_backend *c = w->plan->backends[i].config;
	struct backend *b;
	int err;

	b = backend_prepare(&w->parts->engine->live, c, &err);
	if (b == NULL)
		return work_refuse(w, err, "cannot add backend '%s' (%s:%u)", c->name, c->place.file,
				   c->place.line);
	w->backends[i] = b;
	work_add(w, &added_backend)->backend = b;
	return list_empty(&b->sets) ? 0 : work_prepare_sets(w, b);
}

static int prepare_changed(struct work *w, const struct plan_backend *p)
{
	int err;
	struct backend_settings *v = backend_prepare_change(p->live, p->config, &err);

	if (v == NULL)
		return work_refuse(w, err, "cannot change backend '%s' (%s:%u)", p->config->name,
				   p->config->place.file, p->config->place.line);
	work_add(w, &changed_backend)->backend_settings = v;
	return 0;
}

static int prepare_removed(struct work *w, struct backend *b)
{
	const int err = backend_prepare_remove(b);

	if (err)
		return work_refuse(w, err, "cannot remove backend '%s'", b->config->name);
	work_add(w, &removed_backend)->backend = b;
	return 0;
}

/* Do sockets to its servers get their options? Asked only where an answer may be another than before. */
static int preflight(const struct work *w, const struct plan_backend *p)
{
	bool is_new = p->what != PLAN_KEPT;
	char reason[OPTION_ERROR_MAX];
	int err;

	for (size_t i = 0; i < p->server_count && !is_new; i++)
		is_new = p->servers[i].what == PLAN_ADDED || p->servers[i].what == PLAN_CHANGED;
	err = is_new ? socket_preflight_backend(p->config, reason, sizeof(reason)) : 0;
	if (err)
		refusal_of_servers(p->config, reason, w->why, w->why_room);
	return err;
}

static int prepare_one(struct work *w, size_t i)
{
	const struct plan_backend *p = &w->plan->backends[i];
	int err;

	w->backends[i] = p->live;
	if (p->what == PLAN_REMOVED)
		return prepare_removed(w, p->live); /* its servers go with it */
	err = preflight(w, p);
	if (err)
		return err;
	if (p->what == PLAN_ADDED)
		return prepare_added(w, i); /* and come with it */
	if (p->what == PLAN_CHANGED)
		err = prepare_changed(w, p);
	return err ? err : prepare_servers(w, p);
}

int work_prepare_backends(struct work *w)
{
	const struct plan *plan = w->plan;
	size_t more = 0;
	int err = work_validate_sets(w);

	if (err)
		return err;
	for (size_t i = 0; i < plan->backend_count; i++)
		more += plan->backends[i].what == PLAN_ADDED;
	err = engine_prepare_backend(w->parts->engine, more); /* room, which may stay */
	if (err)
		return work_refuse(w, err, "cannot add %zu backends", more);
	for (size_t i = 0; i < plan->backend_count && !err; i++)
		err = prepare_one(w, i);
	if (!err)
		work_add(w, &fallbacks);
	return err;
}
