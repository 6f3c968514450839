/* SPDX-License-Identifier: MIT
 *
 * settings.c - what sessions may still read of a backend or a server after it has changed: its versions.
 *
 * Owns every version from its making until it is freed. A version that is in effect, or that a change holds,
 * is not retired; any other is, if a worker may have seen it. Control thread.
 */
#include "weir/balance/settings.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/net/self_connect.h"
#include "settings_parts.h"

/* ---- what both have in common ---- */

/* 0, or with nothing taken: -ENOMEM, -ENOSPC. */
static int version_init(struct version *v, struct live *live, struct list *versions)
{
	const int err = slot_space_take(&live->versions, &v->counted.slot);

	if (err)
		return err;
	v->live = live;
	v->prepared = 1;
	list_push_back(versions, &v->link);
	return 0;
}

static void version_end(struct version *v)
{
	list_remove(&v->link);
	slot_space_put(&v->live->versions, v->counted.slot);
}

static bool is_held(const struct retired *item)
{
	const struct version *v = container_of(item, struct version, retired);

	/* Where no worker counts versions, they stay as long as their object. */
	if (list_empty(&v->live->versions.tables))
		return !v->orphaned;
	return counted_sum(&v->live->versions, &v->counted) > 0;
}

void version_hold(struct version *v)
{
	if (v->retired.stage != RETIRE_NONE)
		retire_take_back(&v->live->retire, &v->retired);
	atomic_store_explicit(&v->counted.leaving, false, memory_order_relaxed);
	v->prepared++;
}

static void version_retire(struct version *v, const struct retired_kind *kind)
{
	atomic_store_explicit(&v->counted.leaving, true, memory_order_relaxed);
	retire_add(&v->live->retire, &v->retired, kind);
}

/* One change fewer holds it. Neither in effect nor held: it goes, by itself if a worker may have seen it.
 * True when the caller must free it. */
static bool version_let_go(struct version *v, bool in_effect, const struct retired_kind *kind)
{
	check(v->prepared > 0);
	if (--v->prepared > 0 || (in_effect && !v->orphaned))
		return false;
	if (!v->published)
		return true;
	version_retire(v, kind);
	return false;
}

static void version_publish(struct version *v)
{
	check(v->prepared > 0);
	v->prepared--;
	v->published = true;
}

static void free_now(struct version *v, const struct retired_kind *kind)
{
	if (v->retired.stage != RETIRE_NONE)
		retire_take_back(&v->live->retire, &v->retired);
	kind->free(&v->retired);
}

static struct version *version_at(const struct list *node)
{
	return list_entry(node, struct version, link);
}

/* The version in effect leaves with its object, and the others wait no longer for it. */
static void all_leave(struct list *versions, struct version *current, const struct retired_kind *kind)
{
	for (struct list *l = versions->next; l != versions; l = l->next)
		version_at(l)->orphaned = true;
	if (current->prepared == 0)
		version_retire(current, kind);
}

/* ---- servers ---- */

static void free_server_settings(struct retired *item)
{
	struct server_settings *v = container_of(item, struct server_settings, version.retired);

	version_end(&v->version);
	config_server_copy_free((struct config_server *)v->config);
	free(v);
}

static const struct retired_kind server_kind = {
	.is_held = is_held,
	.free = free_server_settings,
	.is_logged = true,
};

/* Determined once per version; net/self_connect.h explains why. */
static bool meets_itself(const struct config_server *config, const struct addr *a)
{
	const struct config_sources *own = &config->source;
	const struct self_connect_sources sources = {own->list, own->count, own->client};

	return self_connect_possible(a, &sources);
}

/* Of the version in effect; all zero if the server never had one. */
static const struct addr *last_addr(const struct server *s)
{
	static const struct addr none;
	const struct server_settings *now = server_settings(s);

	return now != NULL ? &now->addr : &none;
}

static bool is_at(const struct server_settings *v, const struct addr *a)
{
	const struct addr *same = a != NULL ? a : last_addr(v->server);

	/* Another interface number is another address. */
	return v->has_addr == (a != NULL) && v->addr.len == same->len &&
	       memcmp(&v->addr.sa, &same->sa, same->len) == 0;
}

static bool is_same(const struct server_settings *v, const struct config_server *config, const struct addr *a)
{
	return !v->is_open && is_at(v, a) && config_server_same(v->config, config);
}

static struct server_settings *find(const struct server *s, const struct config_server *config,
				    const struct addr *a)
{
	for (struct list *l = s->versions.prev; l != &s->versions; l = l->prev) {
		struct server_settings *v = container_of(version_at(l), struct server_settings, version);

		if (is_same(v, config, a))
			return v;
	}
	return NULL;
}

static void set_addr(struct server_settings *v, const struct addr *a)
{
	const struct addr *last = a != NULL ? a : last_addr(v->server);

	/* A worker that has just chosen the server may still go to the address that it loses: it never finds
	 * none. */
	v->has_addr = a != NULL;
	v->addr = *last;
	v->takes_client_name = last->len != 0 && last->sa.sa_family == AF_UNSPEC;
	v->meets_itself = last->len != 0 && (v->takes_client_name || meets_itself(v->config, last));
	v->takes_client_port = v->takes_client_name ||
			       (last->len != 0 && !addr_is_unix(last) && addr_port(last) == 0);
}

static struct server_settings *server_settings_new(struct server *s, const struct config_server *config)
{
	struct server_settings *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->config = config_server_copy(config);
	if (v->config == NULL || version_init(&v->version, s->owner->live, &s->versions) != 0) {
		config_server_copy_free((struct config_server *)v->config);
		free(v);
		return NULL;
	}
	v->server = s;
	return v;
}

struct server_settings *server_settings_hold(struct server *s, const struct config_server *config,
					     const struct addr *a)
{
	struct server_settings *v = find(s, config, a);

	if (v != NULL) {
		version_hold(&v->version);
		return v;
	}
	v = server_settings_new(s, config);
	if (v != NULL)
		set_addr(v, a);
	return v;
}

/* Whether it meets itself is found out now, so that the commit need not ask. */
struct server_settings *server_settings_open(struct server *s, const struct config_server *config,
					     const struct addr *a)
{
	const struct server_settings *same = find(s, config, a);
	struct server_settings *v = server_settings_new(s, config);

	if (v == NULL)
		return NULL;
	v->is_open = true;
	if (same == NULL)
		set_addr(v, a);
	return v;
}

struct server_settings *server_settings_settle(struct server_settings *v, const struct addr *a)
{
	struct server_settings *same;

	check(v->is_open && !v->version.published);
	same = find(v->server, v->config, a);
	if (same == NULL) {
		v->is_open = false;
		if (!is_at(v, a))
			set_addr(v, a);
		return v;
	}
	version_hold(&same->version);
	server_settings_let_go(v);
	return same;
}

struct server_settings *server_settings_of_now(const struct server *s)
{
	return (struct server_settings *)(uintptr_t)atomic_load_explicit(&s->settings, memory_order_relaxed);
}

void server_settings_let_go(struct server_settings *v)
{
	if (version_let_go(&v->version, v == server_settings_of_now(v->server), &server_kind))
		free_now(&v->version, &server_kind);
}

void server_settings_publish(struct server_settings *v)
{
	struct server *s = v->server;
	struct server_settings *before = server_settings_of_now(s);

	version_publish(&v->version);
	s->config = v->config;
	atomic_store_explicit(&s->settings, v, memory_order_release);
	if (before != NULL && before != v && before->version.prepared == 0)
		version_retire(&before->version, &server_kind);
}

void server_settings_leave(struct server *s)
{
	all_leave(&s->versions, &server_settings_of_now(s)->version, &server_kind);
}

void server_settings_free_all(struct server *s)
{
	while (!list_empty(&s->versions))
		free_now(version_at(s->versions.next), &server_kind);
}

/* ---- backends ---- */

static void free_backend_settings(struct retired *item)
{
	struct backend_settings *v = container_of(item, struct backend_settings, version.retired);

	version_end(&v->version);
	config_backend_copy_free((struct config_backend *)v->config);
	free(v);
}

struct backend_settings *backend_settings_of_now(const struct backend *b)
{
	return (struct backend_settings *)(uintptr_t)atomic_load_explicit(&b->settings, memory_order_relaxed);
}

/* Settings of a frontend lead to the backend, not to its settings: those in effect stay as long. */
static bool is_backend_version_held(const struct retired *item)
{
	const struct backend_settings *v = container_of(item, struct backend_settings, version.retired);

	return (v->backend->frontends > 0 && v == backend_settings_of_now(v->backend)) || is_held(item);
}

static const struct retired_kind backend_kind = {
	.is_held = is_backend_version_held,
	.free = free_backend_settings,
	.is_logged = true,
};

struct backend_settings *backend_settings_hold(struct backend *b, const struct config_backend *config)
{
	struct backend_settings *v;

	for (struct list *l = b->versions.prev; l != &b->versions; l = l->prev) {
		v = container_of(version_at(l), struct backend_settings, version);
		if (config_backend_same(v->config, config)) {
			version_hold(&v->version);
			return v;
		}
	}
	v = calloc(1, sizeof(*v));
	if (v == NULL)
		return NULL;
	v->config = config_backend_copy(config);
	if (v->config == NULL || version_init(&v->version, b->live, &b->versions) != 0) {
		config_backend_copy_free((struct config_backend *)v->config);
		free(v);
		return NULL;
	}
	v->backend = b;
	return v;
}

void backend_settings_let_go(struct backend_settings *v)
{
	if (version_let_go(&v->version, v == backend_settings_of_now(v->backend), &backend_kind))
		free_now(&v->version, &backend_kind);
}

void backend_settings_publish(struct backend_settings *v)
{
	struct backend *b = v->backend;
	struct backend_settings *before = backend_settings_of_now(b);

	version_publish(&v->version);
	b->config = v->config;
	for (size_t i = 0; i < b->server_count; i++)
		b->servers[i]->backend = v->config;
	atomic_store_explicit(&b->settings, v, memory_order_release);
	atomic_store_explicit(&b->drains_idle, v->config->drain == CONFIG_DRAIN_IDLE, memory_order_relaxed);
	if (before != NULL && before != v && before->version.prepared == 0)
		version_retire(&before->version, &backend_kind);
}

void backend_settings_leave(struct backend *b)
{
	all_leave(&b->versions, &backend_settings_of_now(b)->version, &backend_kind);
}

void backend_settings_free_all(struct backend *b)
{
	while (!list_empty(&b->versions))
		free_now(version_at(b->versions.next), &backend_kind);
}
