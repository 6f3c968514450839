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
#include "weir/config/bind_range.h"
#include "weir/config/same.h"
#include "weir/entry/halt.h"
#include "weir/sys/sys.h"
#include "parts.h"

static void tell_workers(struct entries *e)
{
	if (e->changed != NULL)
		e->changed(e->changed_arg);
}

/* ---- endpoints ---- */

static struct endpoint *prepare_endpoint(struct entries *e, struct frontend_settings *front,
					 const struct config_bind *config, struct endpoint *from,
					 struct entry_error *error)
{
	struct endpoint *ep = endpoint_new(e, front, config);

	*error = (struct entry_error){.err = -ENOMEM};
	if (ep == NULL)
		return NULL;
	error->err = from != NULL ? endpoint_take(ep, from, error) : endpoint_bind_beside(e, ep, error);
	error->refused = ep->refused;
	error->holder = ep->path.holder;
	if (error->err == 0)
		return ep;
	endpoint_free(e, ep);
	return NULL;
}

/* One where nobody accepts until it returns. */
static struct endpoint *prepare_away(struct entries *e, struct frontend_settings *front,
				     const struct config_bind *config, struct endpoint *from,
				     struct entry_error *error)
{
	struct endpoint *ep;

	check(from == NULL || from->inherited);
	if (from != NULL) {
		ep = prepare_endpoint(e, front, config, from, error);
	} else {
		ep = endpoint_new(e, front, config);
		*error = (struct entry_error){.err = ep == NULL ? -ENOMEM : 0};
	}
	if (ep == NULL)
		return NULL;
	ep->away = true;
	ep->stage = ENDPOINT_AWAY;
	atomic_store(&ep->order, (int)ENDPOINT_LEAVE);
	return ep;
}

struct endpoint *entries_prepare_endpoint(struct entries *e, struct frontend *fe,
					  const struct entry_change *c, const struct config_bind *config,
					  struct endpoint *from, struct entry_error *error)
{
	const bool is_out = fe->admin != FRONTEND_ADMIN_READY && (c == NULL || !c->revives);
	struct frontend_settings *front = c != NULL ? c->front : fe->settings;

	check(c == NULL || c->frontend == fe);
	return is_out ? prepare_away(e, front, config, from, error)
		      : prepare_endpoint(e, front, config, from, error);
}

static unsigned last_number(const struct frontend *fe)
{
	unsigned last = 0;

	frontend_foreach_endpoint(fe, ep)
		last = ep->number > last ? ep->number : last;
	return last;
}

/* Open, or about to be: that it stays may be committed later than what is added. */
static bool will_be_open(const struct endpoint *ep)
{
	return ep->stage == ENDPOINT_OPEN || (ep->claimed && ep->heir == NULL);
}

/* The last endpoint of the same bind, but for `from`, which leaves; NULL = none. */
static struct endpoint *last_part(const struct frontend *fe, const struct config_bind *config,
				  const struct endpoint *from)
{
	struct endpoint *last = NULL;

	frontend_foreach_endpoint(fe, ep)
		if (ep != from && will_be_open(ep) && config_bind_same(ep->config, config))
			last = ep;
	return last;
}

/* Another port of its range, the last one; NULL = none. From the end, where its neighbour has just come. */
static struct endpoint *last_of_range(const struct endpoint *ep)
{
	const struct list *all = &ep->frontend->endpoints;

	for (struct list *l = all->prev; l != all && bind_is_in_range(ep->config); l = l->prev) {
		struct endpoint *other = list_entry(l, struct endpoint, link);

		if (bind_shares_line(other->config, ep->config))
			return other;
	}
	return NULL;
}

/* Gives it its number, and the place in the frontend that belongs to it; returns what is to be behind it. */
static struct list *number_endpoint(struct endpoint *ep)
{
	struct frontend *fe = ep->frontend;
	struct endpoint *from = atomic_load(&ep->from);
	struct endpoint *last = from != NULL ? last_part(fe, ep->config, from) : NULL;
	struct endpoint *range = last == NULL ? last_of_range(ep) : NULL;

	if (range != NULL) {
		ep->number = range->number;
		return range->link.next;
	}

	if (last == NULL) {
		ep->number = last_number(fe) + 1;
		return &fe->endpoints;
	}
	if (last->part == 0)
		last->part = 1;
	ep->number = last->number;
	ep->part = last->part + 1;
	return last->link.next;
}

void entries_commit_endpoint(struct entries *e, struct endpoint *ep)
{
	struct list *before = number_endpoint(ep);

	check(list_empty(&ep->bound_link)); /* it listens */
	ep->origin = NULL;
	endpoint_commit_take(ep);
	entries_publish(e, ep, before);
	if (e->ending)
		entries_leave(e, ep, 0); /* at once */
	tell_workers(e);
}

void entries_undo_endpoint(struct entries *e, struct endpoint *ep)
{
	endpoint_free(e, ep);
}

/* ---- frontends ---- */

/* Endpoints of a frontend that is prepared are in its list, but no worker finds them. */
static int prepare_endpoints(struct entries *e, struct frontend *fe, const struct entry_wish *wish,
			     struct entry_error *error)
{
	const struct config_bind *binds = wish->config->binds;
	unsigned lines = 0;

	for (size_t i = 0; i < wish->config->bind_count; i++) {
		struct endpoint *from = wish->from != NULL ? wish->from[i] : NULL;
		struct endpoint *ep =
			prepare_endpoint(e, fe->settings, &wish->config->binds[i], from, error);

		error->bind = i;
		if (ep == NULL)
			return error->err;
		lines += i == 0 || !bind_shares_line(&binds[i - 1], &binds[i]);
		ep->number = lines;
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
	if (prepare_endpoints(e, fe, wish, error) == 0)
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

		check(list_empty(&ep->bound_link));
		list_remove(&ep->link);
		ep->origin = NULL;
		endpoint_commit_take(ep);
		entries_publish(e, ep, &fe->endpoints);
		if (e->ending)
			entries_leave(e, ep, 0); /* at once */
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
	fe->closes = fe->config->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE;
	atomic_store(&fe->removed, true);
	live_end_sessions(e->live, fe->slot, !fe->closes);
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
		return endpoint_belongs(ep) ? wish->binds[(*open)++] : ep->config;
	for (size_t i = 0; i < wish->bind_count; i++)
		if (wish->endpoints[i] == ep)
			return wish->binds[i];
	return ep->config;
}

/* The settings of `ep` in a change, pinned, and what is to be set on its socket. */
static int prepare_version(struct entries *e, struct endpoint *ep, const struct config_bind *config,
			   struct entry_change *c)
{
	struct endpoint_settings *s = endpoint_settings_find(ep, c->front, config);
	int err;

	if (s == NULL)
		s = endpoint_settings_new(e, ep, c->front, config);
	if (s == NULL)
		return -ENOMEM;
	s->pins++;
	c->options[c->count] = NULL;
	c->entries[c->count++] = s;
	err = endpoint_plan_options(&c->options[c->count - 1], ep, c->front->config, s->config, &c->refused);
	if (err)
		c->failed = ep;
	return err;
}

static int prepare_versions(struct entries *e, const struct entry_wish *wish, struct entry_change *c)
{
	size_t open = 0;
	int err = 0;

	frontend_foreach_endpoint(c->frontend, ep) {
		if (!err && ep->stage != ENDPOINT_CLOSED) /* one that leaves may stay after all */
			err = prepare_version(e, ep, bind_for(wish, ep, &open), c);
	}
	return err;
}

static int fill_change(struct entries *e, const struct entry_wish *wish, struct entry_change *c)
{
	struct frontend *fe = c->frontend;
	const size_t room = count_endpoints(fe) + 1;

	c->front = frontend_settings_find(fe, wish->config, wish->backend, wish->routes);
	if (c->front != NULL)
		c->front->users++;
	else
		c->front = frontend_settings_new(fe, wish->config, wish->backend, wish->routes);
	c->entries = calloc(room, sizeof(struct endpoint_settings *));
	c->options = calloc(room, sizeof(struct endpoint_options *));
	if (c->front == NULL || c->entries == NULL || c->options == NULL ||
	    frontend_make_tables(fe, wish->config, &c->tables) != 0)
		return -ENOMEM;
	return prepare_versions(e, wish, c);
}

int entries_prepare_change(struct entries *e, struct frontend *fe, const struct entry_wish *wish,
			   struct entry_change *c)
{
	const struct endpoint *failed;
	enum sock_option refused;
	int err;

	check(!wish->revives || fe->admin == FRONTEND_ADMIN_SHUT);
	*c = (struct entry_change){.frontend = fe, .revives = wish->revives, .changes = fe->changes};
	err = fill_change(e, wish, c);
	if (!err)
		return 0;
	failed = c->failed;
	refused = c->refused;
	entries_undo_change(e, c);
	c->failed = failed;
	c->refused = refused;
	return err;
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
	while (c->count > 0) {
		free(c->options[--c->count]);
		unpin(e, c->entries[c->count]);
	}
	free(c->options);
	free(c->entries);
	frontend_free_tables(&c->tables);
	if (c->front != NULL)
		frontend_settings_put(c->front);
	*c = (struct entry_change){0};
}

/* Sockets that others have taken over, or are about to, have their options from these. What was tried before
 * another change is tried again. */
static void set_options(const struct entry_change *c, size_t at)
{
	struct endpoint *ep = c->entries[at]->endpoint;
	struct endpoint_options *o = c->options[at];
	enum sock_option refused;

	if (c->changes != c->frontend->changes) {
		free(o);
		o = NULL;
		(void)endpoint_plan_options(&o, ep, c->front->config, c->entries[at]->config, &refused);
	}
	if (ep->heir == NULL && endpoint_has_socket(ep))
		endpoint_set_options(ep, o);
	else
		free(o);
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

/* Those that are paused for the old limit look at the new one. */
static void change_rate(struct frontend *fe, const struct config_frontend *next)
{
	if (next->rate_limit == fe->config->rate_limit)
		return; /* whatever was set since stays */
	rate_set_limit(&fe->rate, next->rate_limit, sys_now_ns());
	paused_wake_all(&fe->rate_paused);
}

static void revive(struct frontend *fe)
{
	fe->admin = FRONTEND_ADMIN_READY;
	fe->changed_ns = sys_now_ns();
	fe->is_away = false;
	fe->is_shut = false;
	mark_clear(&fe->marks[FRONTEND_MARK_STATE]);
}

void entries_commit_change(struct entries *e, struct entry_change *c)
{
	struct frontend *fe = c->frontend;

	frontend_take_tables(fe, &c->tables);
	while (c->count > 0) {
		set_options(c, --c->count);
		publish_version(e, c->entries[c->count]);
	}
	fe->changes++;
	free(c->options);
	free(c->entries);
	if (c->front->backend != fe->settings->backend || c->front->config->route_count > 0)
		fe->has_choice = true;
	change_rate(fe, c->front->config);
	if (!frontend_limit_stays(fe, c->front->config))
		frontend_forget_override(fe);
	if (c->revives)
		revive(fe);
	frontend_settings_put(fe->settings);
	fe->settings = c->front; /* with the user that the change was */
	fe->config = c->front->config;
	frontend_set_limit(fe, fe->config->maxconn);
	*c = (struct entry_change){0};
}
