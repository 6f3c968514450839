/* SPDX-License-Identifier: MIT
 *
 * frontend_change.c - frontends and endpoints come, change and go at run time.
 *
 * A change is prepared, which may fail and changes nothing that anybody sees; then it is committed, which
 * cannot fail, or undone. Settings are found by content among the living versions, so that files in rotation
 * make no new ones. Control thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/net/source_table.h"
#include "weir/sys/sys.h"
#include "parts.h"

static void tell_workers(struct entries *e)
{
	if (e->changed != NULL)
		e->changed(e->changed_arg);
}

/* ---- endpoints ---- */

static struct endpoint *prepare_endpoint(struct entries *e, struct frontend_settings *front,
					 const struct config_bind *config, struct entry_error *error)
{
	struct endpoint *ep = endpoint_new(e, front, config);

	error->err = ep != NULL ? endpoint_bind(ep) : -ENOMEM;
	error->refused = ep != NULL ? ep->refused : SOCK_OPTION_NONE;
	if (error->err == 0)
		return ep;
	if (ep != NULL)
		endpoint_free(e, ep);
	return NULL;
}

struct endpoint *entries_prepare_endpoint(struct entries *e, struct frontend *fe,
					  const struct config_bind *config, struct entry_error *error)
{
	return prepare_endpoint(e, fe->settings, config, error);
}

struct endpoint *entries_prepare_endpoint_of(struct entries *e, const struct entry_change *c,
					     const struct config_bind *config, struct entry_error *error)
{
	return prepare_endpoint(e, c->front, config, error);
}

static unsigned last_number(const struct frontend *fe)
{
	unsigned last = 0;

	frontend_foreach_endpoint(fe, ep)
		last = ep->number > last ? ep->number : last;
	return last;
}

void entries_commit_endpoint(struct entries *e, struct endpoint *ep)
{
	ep->number = last_number(ep->frontend) + 1;
	ep->origin = NULL;
	entries_publish(e, ep, &ep->frontend->endpoints);
	tell_workers(e);
}

void entries_undo_endpoint(struct entries *e, struct endpoint *ep)
{
	endpoint_free(e, ep);
}

/* ---- frontends ---- */

/* Endpoints of a frontend that is prepared are in its list, but no worker finds them. */
static int prepare_endpoints(struct entries *e, struct frontend *fe, const struct config_frontend *config,
			     struct entry_error *error)
{
	for (size_t i = 0; i < config->bind_count; i++) {
		struct endpoint *ep = prepare_endpoint(e, fe->settings, &config->binds[i], error);

		error->bind = i;
		if (ep == NULL)
			return error->err;
		ep->number = (unsigned)i + 1;
		list_push_back(&fe->endpoints, &ep->link);
	}
	return 0;
}

void entries_undo_frontend(struct entries *e, struct frontend *fe)
{
	while (!list_empty(&fe->endpoints))
		endpoint_free(e, list_entry(fe->endpoints.next, struct endpoint, link));
	frontend_free(e, fe);
}

struct frontend *entries_prepare_frontend(struct entries *e, const struct entry_wish *wish,
					  struct entry_error *error)
{
	struct frontend *fe = frontend_new(e, wish->config, wish->backend, wish->routes);

	*error = (struct entry_error){.err = -ENOMEM};
	if (fe == NULL)
		return NULL;
	frontend_set_limit(fe, fe->own_limit);
	if (prepare_endpoints(e, fe, wish->config, error) == 0)
		return fe;
	entries_undo_frontend(e, fe);
	return NULL;
}

/* Whichever of a [listen]'s two comes first gets the number for both. */
static void number(struct frontend *fe)
{
	struct backend *b = fe->config->listen ? fe->settings->backend : NULL;

	fe->iid = b != NULL && b->iid != 0 ? b->iid : ++fe->entries->live->last_iid;
	if (b != NULL)
		b->iid = fe->iid;
}

void entries_commit_frontend(struct entries *e, struct frontend *fe)
{
	struct list endpoints;

	number(fe);
	frontend_set_limit(fe, fe->own_limit); /* that of the process may be another by now */
	list_init(&endpoints);
	while (!list_empty(&fe->endpoints)) {
		struct list *first = fe->endpoints.next;

		list_remove(first);
		list_push_back(&endpoints, first);
	}
	list_push_back(&e->frontends, &fe->link);
	while (!list_empty(&endpoints)) {
		struct endpoint *ep = list_entry(endpoints.next, struct endpoint, link);

		list_remove(&ep->link);
		ep->origin = NULL;
		entries_publish(e, ep, &fe->endpoints);
	}
	tell_workers(e);
}

static bool is_frontend_held(const struct retired *item)
{
	const struct frontend *fe = container_of(item, struct frontend, retired);

	return !list_empty(&fe->endpoints) || !list_empty(&fe->versions) || atomic_load(&fe->sessions) > 0;
}

static void forget_frontend(const struct retired *item, void *worker)
{
	const struct frontend *fe = container_of(item, struct frontend, retired);

	if (fe->entries->live->forget != NULL)
		fe->entries->live->forget(worker, fe->slot);
}

static void free_frontend(struct retired *item)
{
	struct frontend *fe = container_of(item, struct frontend, retired);

	frontend_free(fe->entries, fe);
}

static const struct retired_kind frontend_kind = {
	.is_held = is_frontend_held, .forget = forget_frontend, .free = free_frontend};

void entries_remove_frontend(struct entries *e, struct frontend *fe, int64_t now_ns)
{
	check(fe->settings != NULL);
	list_remove(&fe->link);
	list_push_back(&e->leaving, &fe->link);
	frontend_foreach_endpoint(fe, ep)
		entries_leave(e, ep, now_ns);
	frontend_settings_put(fe->settings);
	fe->settings = NULL;
	retire_add(&e->live->retire, &fe->retired, &frontend_kind);
}

/* ---- settings ---- */

static size_t count_endpoints(const struct frontend *fe)
{
	size_t n = 0;

	frontend_foreach_endpoint(fe, ep)
		n += ep->stage != ENDPOINT_CLOSED;
	return n;
}

/* What `ep` is to have; `*open` counts the endpoints that were open so far. */
static const struct config_bind *bind_for(const struct entry_wish *wish, const struct endpoint *ep,
					  size_t *open)
{
	if (wish->binds == NULL)
		return ep->config;
	if (wish->endpoints == NULL)
		return ep->stage == ENDPOINT_OPEN ? wish->binds[(*open)++] : ep->config;
	for (size_t i = 0; i < wish->bind_count; i++)
		if (wish->endpoints[i] == ep)
			return wish->binds[i];
	return ep->config;
}

static int prepare_versions(struct entries *e, const struct entry_wish *wish, struct entry_change *c)
{
	size_t open = 0;

	frontend_foreach_endpoint(c->frontend, ep) {
		const struct config_bind *config;
		struct endpoint_settings *s;

		if (ep->stage == ENDPOINT_CLOSED)
			continue; /* one that leaves may stay after all */
		config = bind_for(wish, ep, &open);
		s = endpoint_settings_find(ep, c->front, config);
		if (s == NULL)
			s = endpoint_settings_new(e, ep, c->front, config);
		if (s == NULL)
			return -ENOMEM;
		s->pins++;
		c->entries[c->count++] = s;
	}
	return 0;
}

int entries_prepare_change(struct entries *e, struct frontend *fe, const struct entry_wish *wish,
			   struct entry_change *c)
{
	*c = (struct entry_change){.frontend = fe};
	c->front = frontend_settings_find(fe, wish->config, wish->backend, wish->routes);
	if (c->front != NULL)
		c->front->users++;
	else
		c->front = frontend_settings_new(fe, wish->config, wish->backend, wish->routes);
	c->entries = calloc(count_endpoints(fe) + 1, sizeof(struct endpoint_settings *));
	if (wish->config->maxconn_per_source > 0 && fe->sources == NULL)
		c->sources = source_table_new();
	if (c->front != NULL && c->entries != NULL &&
	    (wish->config->maxconn_per_source == 0 || fe->sources != NULL || c->sources != NULL) &&
	    prepare_versions(e, wish, c) == 0)
		return 0;
	entries_undo_change(e, c);
	return -ENOMEM;
}

/* One that nobody has seen goes at once. */
static void unpin(struct entries *e, struct endpoint_settings *s)
{
	const bool is_current = endpoint_settings(s->endpoint) == s;

	check(s->pins > 0);
	if (--s->pins > 0)
		return;
	if (!is_current && s->retired.stage == RETIRE_NONE)
		endpoint_settings_free(e, s);
	retire_want(&e->live->retire); /* it may have held itself, or its endpoint */
}

void entries_undo_change(struct entries *e, struct entry_change *c)
{
	while (c->count > 0)
		unpin(e, c->entries[--c->count]);
	free(c->entries);
	source_table_free(c->sources);
	if (c->front != NULL)
		frontend_settings_put(c->front);
	*c = (struct entry_change){0};
}

static void publish_version(struct entries *e, struct endpoint_settings *s)
{
	struct endpoint *ep = s->endpoint;
	struct endpoint_settings *before = endpoint_settings(ep);

	if (s == before || ep->stage == ENDPOINT_CLOSED) { /* it may have closed since the prepare */
		unpin(e, s);
		return;
	}
	check(s->pins > 0);
	s->pins--;
	if (s->retired.stage != RETIRE_NONE)
		retire_take_back(&e->live->retire, &s->retired);
	atomic_store_explicit(&s->counted.leaving, false, memory_order_relaxed);
	ep->config = s->config;
	atomic_store_explicit(&ep->settings, s, memory_order_release);
	endpoint_settings_retire(before);
}

/* A higher limit wakes those that wait for it. */
void frontend_set_limit(struct frontend *fe, unsigned own)
{
	const unsigned limit = own > 0 ? own : fe->entries->maxconn;

	fe->own_limit = own;
	if (atomic_exchange(&fe->limit, limit) < limit)
		paused_wake_all(&fe->paused);
}

/* Those that are paused for the old limit look at the new one. */
static void change_rate(struct frontend *fe, const struct config_frontend *next)
{
	if (next->rate_limit == fe->config->rate_limit)
		return; /* whatever was set since stays */
	rate_set_limit(&fe->rate, next->rate_limit, sys_now_ns());
	paused_wake_all(&fe->rate_paused);
}

void entries_commit_change(struct entries *e, struct entry_change *c)
{
	struct frontend *fe = c->frontend;

	if (fe->sources == NULL)
		atomic_store(&fe->sources, c->sources);
	else
		source_table_free(c->sources); /* another change has brought one meanwhile */
	while (c->count > 0)
		publish_version(e, c->entries[--c->count]);
	free(c->entries);
	if (c->front->backend != fe->settings->backend || c->front->config->route_count > 0)
		fe->has_choice = true;
	change_rate(fe, c->front->config);
	frontend_settings_put(fe->settings);
	fe->settings = c->front; /* with the user that the change was */
	fe->config = c->front->config;
	frontend_set_limit(fe, fe->config->maxconn);
	*c = (struct entry_change){0};
}

void entries_set_maxconn(struct entries *e, unsigned maxconn)
{
	e->maxconn = maxconn;
	entries_foreach_frontend(e, fe)
		frontend_set_limit(fe, fe->own_limit);
	for (struct list *l = e->leaving.next; l != &e->leaving; l = l->next) {
		struct frontend *fe = list_entry(l, struct frontend, link);

		frontend_set_limit(fe, fe->own_limit);
	}
}
