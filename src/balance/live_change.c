/* SPDX-License-Identifier: MIT
 *
 * live_change.c - backends and servers that come, change and go while clients are served.
 *
 * Takes all memory in the prepare step: numbers, settings, room in the array of servers, and a spare roster
 * for each backend with a prepared change. Control thread.
 */
#include "weir/balance/live_change.h"

#include <errno.h>
#include <string.h>

#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "live_parts.h"
#include "overrides.h"
#include "server_change.h"
#include "server_parts.h"
#include "settings_parts.h"

#define ID_WINDOW 2048u

/* ---- a server comes ---- */

/* The lowest number that no other server of the backend has, as HAProxy numbers them. A pass over the servers
 * for each ID_WINDOW numbers, so that many servers can come and go. */
static unsigned free_id(const struct backend *b)
{
	for (unsigned first = 1;; first += ID_WINDOW) {
		bool taken[ID_WINDOW] = {false};

		for (size_t i = 0; i < b->server_count; i++) {
			const unsigned id = b->servers[i]->id;

			if (id >= first && id - first < ID_WINDOW)
				taken[id - first] = true;
		}
		for (unsigned i = 0; i < ID_WINDOW; i++)
			if (!taken[i])
				return first + i;
	}
}

struct server *server_prepare(struct backend *b, const struct config_server *config, int *err)
{
	struct server *s = NULL;

	*err = backend_reserve(b, b->config, 1, config->weight);
	if (*err)
		return NULL;
	*err = server_new(b, config, &s);
	if (*err) {
		backend_unreserve(b);
		return NULL;
	}
	return s;
}

void server_commit_add(struct server_updates *u, struct server *s)
{
	struct backend *b = s->owner;

	check(b->server_count < b->server_room);
	updates_hold(u, b);
	backend_mark_features(b, s->config);
	s->backend = b->config; /* the one that it was prepared under may be gone */
	s->key = server_key_of(s);
	s->id = free_id(b);
	b->servers[b->server_count++] = s;
	atomic_store_explicit(&b->size, (uint32_t)b->server_count, memory_order_relaxed);
	server_joins(s);
	b->stale = true;
	backend_unreserve(b);
	TELL(u, server_added, s);
}

void server_undo_add(struct server *s)
{
	struct backend *b = s->owner;

	server_free(s);
	backend_unreserve(b);
}

/* ---- a server changes ---- */

struct server_settings *server_prepare_change(struct server *s, const struct config_server *config, int *err)
{
	struct server_settings *v;
	struct addr buf;

	*err = backend_reserve(s->owner, s->owner->config, 0, config->weight);
	if (*err)
		return NULL;
	/* It may get another address until the commit. */
	v = server_settings_open(s, config, overrides_address(s, config, &buf));
	if (v == NULL) {
		backend_unreserve(s->owner);
		*err = -ENOMEM;
	}
	return v;
}

void server_commit_change(struct server_updates *u, struct server_settings *v)
{
	struct server *s = v->server;
	struct addr buf;

	v = server_settings_settle(v, overrides_address(s, v->config, &buf));
	updates_hold(u, s->owner);
	backend_mark_features(s->owner, v->config);
	server_apply_settings(s, v);
	updates_wake_for_slowstart(u, s);
	backend_unreserve(s->owner);
	TELL(u, server_changed, s);
}

void server_undo_change(struct server_settings *v)
{
	struct backend *b = v->server->owner;

	server_settings_let_go(v);
	backend_unreserve(b);
}

/* ---- a server goes ---- */

static bool is_server_held(const struct retired *item)
{
	const struct server *s = container_of(item, struct server, retired);

	return atomic_load(&s->sessions) > 0 || atomic_load(&s->queued) > 0 || !list_empty(&s->versions);
}

static void server_held(const struct retired *item)
{
	const struct server *s = container_of(item, struct server, retired);

	live_end_sessions(s->owner->live, s->slot, !s->closes);
}

static void forget_server(const struct retired *item, void *worker)
{
	const struct server *s = container_of(item, struct server, retired);

	if (s->owner->live->forget != NULL)
		s->owner->live->forget(worker, s->slot);
}

static void settle_server(const struct retired *item)
{
	const struct server *s = container_of(item, struct server, retired);
	struct live *l = s->owner->live;

	if (l->keep != NULL)
		l->keep(l, s->slot, s->owner->slot);
}

static void free_server(struct retired *item)
{
	struct server *s = container_of(item, struct server, retired);
	struct backend *b = s->owner;

	server_add_totals(s, &b->gone);
	server_free(s);
	if (b->ended && list_empty(&b->left))
		backend_free(b);
}

static const struct retired_kind server_kind = {
	.is_held = is_server_held,
	.held = server_held,
	.settle = settle_server,
	.forget = forget_server,
	.free = free_server,
	.is_logged = true,
};

void servers_retire(struct backend *b)
{
	b->leaving = false;
	for (struct list *l = b->left.next; l != &b->left; l = l->next) {
		struct server *s = list_entry(l, struct server, link);

		if (s->retired.stage != RETIRE_NONE)
			continue;
		server_settings_leave(s);
		retire_add(&b->live->retire, &s->retired, &server_kind);
	}
}

int server_prepare_remove(struct server *s)
{
	return backend_reserve(s->owner, s->owner->config, 0, 0);
}

static void tell_leaves(struct server_updates *u, struct server *s)
{
	const uint64_t downs = server_probe_downs(s);

	TELL(u, server_leaves, s);
	s->probe = NULL; /* whoever checks it has been told */
	s->probe_downs = downs;
}

/* It stays in the roster until the next one. */
static void leave(struct server *s)
{
	struct backend *b = s->owner;
	size_t at = 0;

	while (b->servers[at] != s)
		at++;
	b->server_count--;
	memmove(&b->servers[at], &b->servers[at + 1], (b->server_count - at) * sizeof(struct server *));
	atomic_store_explicit(&b->size, (uint32_t)b->server_count, memory_order_relaxed);
	server_parts(s);
	s->closes = b->config->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE;
	atomic_store(&s->drains, true);
	list_push_back(&b->left, &s->link);
	b->leaving = true;
	b->stale = true;
	s->set = NULL; /* which it may outlive */
	queue_drop_server(s);
}

void server_remove(struct server_updates *u, struct server *s)
{
	updates_hold(u, s->owner);
	tell_leaves(u, s);
	leave(s);
	backend_unreserve(s->owner);
}

void server_undo_remove(struct server *s)
{
	backend_unreserve(s->owner);
}

/* ---- backends ---- */

struct backend *backend_prepare(struct live *live, const struct config_backend *config, int *err)
{
	struct backend *b = backend_new(live, config);

	*err = b != NULL ? 0 : -ENOMEM;
	return b;
}

void backend_commit_add(struct server_updates *u, struct backend *b)
{
	list_push_back(&u->backends, &b->link);
	if (b->iid == 0)
		b->iid = ++b->live->last_iid;
	TELL(u, backend_added, b);
	for (size_t i = 0; i < b->server_count; i++)
		TELL(u, server_added, b->servers[i]);
}

void backend_undo_add(struct backend *b)
{
	backend_free(b);
}

struct backend_settings *backend_prepare_change(struct backend *b, const struct config_backend *config,
						int *err)
{
	struct backend_settings *v;

	*err = backend_reserve(b, config, 0, 0);
	if (*err)
		return NULL;
	*err = backend_sticky_prepare(b, config);
	v = *err ? NULL : backend_settings_hold(b, config);
	if (v == NULL) {
		backend_sticky_undo(b);
		backend_unreserve(b);
		*err = -ENOMEM;
	}
	return v;
}

void backend_commit_change(struct server_updates *u, struct backend_settings *v)
{
	struct backend *b = v->backend;

	updates_hold(u, b);
	for (size_t i = 0; i < b->server_count; i++)
		overrides_meet_backend(b->servers[i], v->config);
	backend_settings_publish(v);
	backend_sticky_commit(b);
	if (backend_sticky_moves(b))
		updates_wake_at(u, clock_mono_ns());
	b->stale = true;
	for (size_t i = 0; i < b->server_count; i++)
		server_apply_backend(b->servers[i]);
	backend_unreserve(b);
	TELL(u, backend_changed, b);
}

void backend_undo_change(struct backend_settings *v)
{
	struct backend *b = v->backend;

	backend_settings_let_go(v);
	backend_sticky_undo(b);
	backend_unreserve(b);
}

static bool is_backend_held(const struct retired *item)
{
	const struct backend *b = container_of(item, struct backend, retired);

	return !list_empty(&b->left) || atomic_load(&b->queue.waiting) > 0 || !list_empty(&b->versions);
}

static void forget_backend(const struct retired *item, void *worker)
{
	const struct backend *b = container_of(item, struct backend, retired);

	if (b->live->forget != NULL)
		b->live->forget(worker, b->slot);
}

static void free_backend(struct retired *item)
{
	struct backend *b = container_of(item, struct backend, retired);

	/* At the end of all, it may come before its servers. */
	b->ended = true;
	if (list_empty(&b->left))
		backend_free(b);
}

static const struct retired_kind backend_kind = {
	.is_held = is_backend_held,
	.forget = forget_backend,
	.free = free_backend,
	.is_logged = true,
};

/* Clients who are on their way to it, or wait in its queue, came in by settings that name it. */
static bool is_backend_sought(const struct retired *item)
{
	struct backend *b = container_of(item, struct backend, retired);

	/* No frontend names the fallback of another backend. */
	return b->frontends > 0 || atomic_load_explicit(&b->queue.waiting, memory_order_relaxed) > 0;
}

static void empty_backend(struct retired *item)
{
	struct backend *b = container_of(item, struct backend, retired);
	int err;

	while (b->server_count > 0)
		leave(b->servers[b->server_count - 1]);
	b->stale = true;
	err = backend_refresh(b); /* from the spare */
	check(err == 0);
	backend_settings_leave(b);
	retire_add(&b->live->retire, &b->retired, &backend_kind);
}

/* Until then it has its servers. */
static const struct retired_kind sought_kind = {.is_held = is_backend_sought, .free = empty_backend};

int backend_prepare_remove(struct backend *b)
{
	return backend_reserve(b, b->config, 0, 0);
}

void backend_remove(struct server_updates *u, struct backend *b)
{
	const bool closes = b->config->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE;

	check(b->prepared == 1);
	TELL(u, backend_leaves, b);
	for (size_t i = b->server_count; i > 0; i--)
		tell_leaves(u, b->servers[i - 1]);
	b->stale = true; /* also without servers: the spare stays for the last roster */
	backend_unreserve(b);
	b->held = false;
	list_remove(&b->link);
	/* Settings under which clients came in lead here for as long as these clients stay: nobody may wait
	 * for that. Those who have not been admitted yet find the flags. */
	atomic_store(&b->closes, closes);
	atomic_store(&b->removed, true);
	live_end_sessions(b->live, b->slot, !closes);
	retire_add(&b->live->retire, &b->retired, &sought_kind);
}

void backend_undo_remove(struct backend *b)
{
	backend_unreserve(b);
}
