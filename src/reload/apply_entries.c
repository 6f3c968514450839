/* SPDX-License-Identifier: MIT
 *
 * apply_entries.c - frontends and addresses of a plan: prepared, and committed or undone.
 *
 * Owns none of them. What is bound listens only when all of it is bound. Control thread.
 */
#include <errno.h>
#include <stdio.h>

#include "weir/base/check.h"
#include "weir/host/refusal.h"
#include "apply_work.h"

static struct entries *entries_of(const struct work *w)
{
	return &w->parts->engine->entries;
}

/* ---- steps ---- */

static void commit_changed_frontend(struct work *w, struct step *s)
{
	entries_commit_change(entries_of(w), &s->change);
}

static void undo_changed_frontend(struct work *w, struct step *s)
{
	entries_undo_change(entries_of(w), &s->change);
}

static const struct step_way changed_frontend = {STEP_CHANGE_FRONTEND, commit_changed_frontend,
						 undo_changed_frontend};

static void commit_added_frontend(struct work *w, struct step *s)
{
	entries_commit_frontend(entries_of(w), s->frontend);
}

static void undo_added_frontend(struct work *w, struct step *s)
{
	entries_undo_frontend(entries_of(w), s->frontend);
}

static const struct step_way added_frontend = {STEP_ADD_FRONTEND, commit_added_frontend, undo_added_frontend};

static void commit_removed_frontend(struct work *w, struct step *s)
{
	entries_remove_frontend(entries_of(w), s->frontend, w->now_ns);
}

static const struct step_way removed_frontend = {STEP_REMOVE_FRONTEND, commit_removed_frontend, NULL};

static void commit_added_endpoint(struct work *w, struct step *s)
{
	entries_commit_endpoint(entries_of(w), s->endpoint);
}

static void undo_added_endpoint(struct work *w, struct step *s)
{
	entries_undo_endpoint(entries_of(w), s->endpoint);
}

static const struct step_way added_endpoint = {STEP_ADD_ENDPOINT, commit_added_endpoint, undo_added_endpoint};

static void leave(struct work *w, struct step *s)
{
	entries_leave(entries_of(w), s->endpoint, w->now_ns);
}

static const struct step_way left_endpoint = {STEP_LEAVE_ENDPOINT, leave, NULL};

static void commit_stay(struct work *w, struct step *s)
{
	const int err = entries_stay(entries_of(w), s->endpoint);

	check(err == 0); /* all that can fail is done */
}

static void undo_stay(struct work *w, struct step *s)
{
	entries_undo_stay(entries_of(w), s->endpoint);
}

static const struct step_way stays_endpoint = {STEP_STAY_ENDPOINT, commit_stay, undo_stay};

static void commit_return(struct work *w, struct step *s)
{
	entries_commit_return(entries_of(w), s->endpoint);
}

static void undo_return(struct work *w, struct step *s)
{
	entries_undo_return(entries_of(w), s->endpoint);
}

static const struct step_way returned_endpoint = {STEP_STAY_ENDPOINT, commit_return, undo_return};

static void end_sockets(struct work *w, struct step *s)
{
	(void)s;
	entries_end(entries_of(w));
}

static const struct step_way sockets = {STEP_SOCKETS, end_sockets, end_sockets};

static void lower_rights(struct work *w, struct step *s)
{
	(void)s;
	privileges_lower_bind(w->parts->privileges);
}

static const struct step_way rights = {STEP_RIGHTS, lower_rights, lower_rights};

/* ---- addresses ---- */

/* Our own address that overlaps with that of `b`. */
static int refuse_overlap(const struct work *w, const struct config_bind *b, const struct entry_error *error)
{
	const struct endpoint *other = error->in_way;
	char address[ADDR_TEXT_MAX], taken[ADDR_TEXT_MAX];
	const bool is_prepared = !list_empty(&other->bound_link) && other->stage == ENDPOINT_OPEN;

	(void)snprintf(w->why, w->why_room, /* may be truncated */
		       "cannot listen on %s (%s:%u): address already in use; it overlaps with %s of frontend "
		       "'%s', %s",
		       addr_spec_format(&b->addr, address), b->place.file, b->place.line,
		       addr_format(&other->addr, taken), other->frontend->config->name,
		       other->inherited ? "which the service manager passed, and which is never shared; keep "
					  "that address, or restart the daemon"
		       : is_prepared	? "which is new, too; remove one of them"
					: "which belongs to another user, from before privileges were "
					  "dropped, or another process listens there; restart the daemon");
	return error->err;
}

static int refuse_bind(const struct work *w, const struct config_frontend *fe, const struct config_bind *b,
		       const struct entry_error *error)
{
	const struct refusal_bind r = {.frontend = fe,
				       .bind = b,
				       .err = error->err,
				       .refused = error->refused,
				       .holder = error->holder};

	if (error->err == -ENOMEM || error->err == -EMFILE || error->err == -ENFILE)
		return work_refuse(w, error->err, "cannot listen for frontend '%s' (%s:%u)", fe->name,
				   b->place.file, b->place.line);
	if (error->in_way != NULL)
		return refuse_overlap(w, b, error);
	refusal_of_bind(&r, w->why, w->why_room);
	return error->err;
}

static int prepare_endpoint(struct work *w, struct frontend *fe, const struct entry_change *change,
			    const struct plan_frontend *p, const struct plan_bind *b)
{
	struct entry_error error = {0};
	struct endpoint *ep =
		entries_prepare_endpoint(entries_of(w), fe, change, b->config, b->from, &error);

	if (ep == NULL)
		return refuse_bind(w, p->config, b->config, &error);
	work_add(w, &added_endpoint)->endpoint = ep;
	return 0;
}

/* ---- frontends ---- */

static struct entry_wish wish_of(const struct work *w, const struct plan_frontend *p)
{
	const struct config_frontend *c = p->config;

	for (size_t i = 0; i < c->route_count; i++)
		w->routes[i] = w->backends[c->routes[i].backend];
	return (struct entry_wish){
		.config = c, .backend = w->backends[p->backend], .routes = w->routes};
}

/* A bind may be planned as several addresses, one after the other. The first belongs to the frontend as it is
 * made. */
static bool is_further(const struct plan_frontend *p, size_t i)
{
	return i > 0 && p->binds[i - 1].config == p->binds[i].config;
}

static int prepare_further(struct work *w, struct frontend *fe, const struct plan_frontend *p)
{
	int err = 0;

	for (size_t i = 0; i < p->bind_count && !err; i++)
		if (is_further(p, i))
			err = prepare_endpoint(w, fe, NULL, p, &p->binds[i]);
	return err;
}

static int prepare_added(struct work *w, const struct plan_frontend *p)
{
	const struct config_frontend *c = p->config;
	struct entry_wish wish = wish_of(w, p);
	struct entry_error error = {0};
	struct frontend *fe;

	wish.from = w->from;
	for (size_t i = 0; i < p->bind_count; i++) {
		check(p->binds[i].what == PLAN_ADDED);
		if (!is_further(p, i))
			w->from[p->binds[i].config - c->binds] = p->binds[i].from;
	}
	fe = entries_prepare_frontend(entries_of(w), &wish, &error);
	if (fe == NULL && error.err == -ENOMEM)
		return work_refuse(w, error.err, "cannot add frontend '%s' (%s:%u)", c->name, c->place.file,
				   c->place.line);
	if (fe == NULL)
		return refuse_bind(w, c, &c->binds[error.bind], &error);
	work_add(w, &added_frontend)->frontend = fe;
	return prepare_further(w, fe, p);
}

static bool stays(const struct plan_bind *b)
{
	return b->what == PLAN_KEPT || b->what == PLAN_CHANGED;
}

static void refuse_change(const struct work *w, const struct plan_frontend *p, int err,
			  const struct entry_change *c)
{
	const struct entry_error error = {.err = err, .refused = c->refused};

	for (size_t i = 0; i < p->bind_count && c->failed != NULL; i++)
		if (stays(&p->binds[i]) && p->binds[i].live == c->failed) {
			(void)refuse_bind(w, p->config, p->binds[i].config, &error);
			return;
		}
	(void)work_refuse(w, err, "cannot change frontend '%s' (%s:%u)", p->config->name,
			  p->config->place.file, p->config->place.line);
}

/* New settings for the frontend and those of its addresses that stay. NULL with *err. */
static struct entry_change *prepare_change(struct work *w, const struct plan_frontend *p, int *err)
{
	struct entry_wish wish = wish_of(w, p);
	struct step *s;

	wish.revives = p->revives;
	wish.binds = w->binds;
	wish.endpoints = w->endpoints;
	for (size_t i = 0; i < p->bind_count; i++) {
		if (!stays(&p->binds[i]))
			continue;
		w->binds[wish.bind_count] = p->binds[i].config;
		w->endpoints[wish.bind_count++] = p->binds[i].live;
	}
	s = work_add(w, &changed_frontend);
	*err = entries_prepare_change(entries_of(w), p->live, &wish, &s->change);
	if (*err == 0)
		return &s->change;
	refuse_change(w, p, *err, &s->change);
	work_drop(w);
	return NULL;
}

/* The addresses of a frontend that is back in service; first, as they are bound with the options that they
 * had. */
static int prepare_returns(struct work *w, const struct plan_frontend *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		const struct plan_bind *b = &p->binds[i];
		struct entry_error error;

		if (!stays(b) || !b->live->away)
			continue;
		if (entries_prepare_return(entries_of(w), b->live, &error) != 0)
			return refuse_bind(w, p->config, b->config, &error);
		work_add(w, &returned_endpoint)->endpoint = b->live;
	}
	return 0;
}

/* One that is there, and stays. */
static int prepare_living(struct work *w, const struct plan_frontend *p)
{
	const struct entry_change *change = NULL;
	bool is_changed = p->what == PLAN_CHANGED;
	int err = 0;

	for (size_t i = 0; i < p->bind_count; i++)
		is_changed |= p->binds[i].what == PLAN_CHANGED;
	if (p->revives)
		err = prepare_returns(w, p);
	if (is_changed && !err)
		change = prepare_change(w, p, &err);
	for (size_t i = 0; i < p->bind_count && !err; i++)
		if (p->binds[i].what == PLAN_ADDED)
			err = prepare_endpoint(w, p->live, change, p, &p->binds[i]);
		else if (p->binds[i].what == PLAN_REMOVED)
			work_add(w, &left_endpoint)->endpoint = p->binds[i].live;
	return err;
}

static int prepare_frontend(struct work *w, const struct plan_frontend *p)
{
	if (p->what == PLAN_ADDED)
		return prepare_added(w, p);
	if (p->what != PLAN_REMOVED)
		return prepare_living(w, p);
	work_add(w, &removed_frontend)->frontend = p->live; /* its addresses leave with it */
	return 0;
}

/* ---- all ---- */

/* Addresses that were leaving: their sockets hear again at once. */
static int stay(struct work *w, const struct plan_frontend *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		const struct plan_bind *b = &p->binds[i];
		char address[ADDR_TEXT_MAX];
		int err;

		if (!stays(b) || endpoint_belongs(b->live))
			continue;
		err = entries_prepare_stay(entries_of(w), b->live);
		if (err)
			return work_refuse(w, err, "cannot keep listening on %s (%s:%u)",
					   addr_format(&b->live->addr, address), b->config->place.file,
					   b->config->place.line);
		work_add(w, &stays_endpoint)->endpoint = b->live;
	}
	return 0;
}

static int listen_all(struct work *w)
{
	struct endpoint *failed = NULL;
	struct entry_error error = {.err = entries_listen(entries_of(w), &failed)};

	if (error.err == 0)
		return 0;
	if (failed == NULL)
		return work_refuse(w, error.err, "cannot listen");
	error.refused = failed->refused;
	return refuse_bind(w, failed->frontend->config, failed->config, &error);
}

static int begin(struct work *w)
{
	const int err = privileges_raise_bind(w->parts->privileges);

	if (err)
		return work_refuse(w, err, "cannot use the right to bind addresses");
	work_add(w, &rights);
	entries_begin(entries_of(w));
	work_add(w, &sockets);
	return 0;
}

int work_prepare_frontends(struct work *w)
{
	const struct plan *plan = w->plan;
	int err = begin(w);

	for (size_t i = 0; i < plan->frontend_count && !err; i++)
		err = prepare_frontend(w, &plan->frontends[i]);
	if (!err)
		err = listen_all(w);
	for (size_t i = 0; i < plan->frontend_count && !err; i++)
		if (plan->frontends[i].what != PLAN_REMOVED)
			err = stay(w, &plan->frontends[i]);
	return err;
}
