/* SPDX-License-Identifier: MIT
 *
 * apply_limits.c - settings of the process: limits planned anew, admin socket, HTTP endpoint, and the rest of
 * [global].
 *
 * Owns none of them. Control thread.
 */
#include <errno.h>

#include "weir/base/check.h"
#include "weir/host/refusal.h"
#include "apply_work.h"

/* ---- limits ---- */

static bool is_same(const struct engine_limits *a, const struct engine_limits *b)
{
	return a->maxconn == b->maxconn && a->maxpipes == b->maxpipes && a->pipe_bytes == b->pipe_bytes &&
	       a->pipe_budget_bytes == b->pipe_budget_bytes && a->buf_budget_bytes == b->buf_budget_bytes;
}

/* What was set at run time holds until the file says something else. */
static void commit_limits(struct work *w, struct step *s)
{
	struct engine *e = w->parts->engine;

	if (!engine_maxconn_stays(e, &w->plan->next->global))
		engine_forget_override(e);
	if (!is_same(&s->limits, &e->limits))
		engine_set_limits(e, &s->limits);
}

static const struct step_way limits = {STEP_LIMITS, commit_limits, NULL};

/* Addresses that stay when all that leaves has left. */
static unsigned count_endpoints(const struct plan *plan)
{
	unsigned n = 0;

	for (size_t i = 0; i < plan->frontend_count; i++)
		for (size_t k = 0; k < plan->frontends[i].bind_count; k++)
			n += plan->frontends[i].what != PLAN_REMOVED &&
			     plan->frontends[i].binds[k].what != PLAN_REMOVED;
	return n;
}

static int prepare_limits(struct work *w)
{
	const struct apply_parts *p = w->parts;
	const struct limits_wish wish =
		limits_wish_of(w->plan->next, count_endpoints(w->plan), p->engine->worker_count);
	struct limits_plan fitting;
	const int err = limits_plan(p->facts, &wish, &fitting);

	if (err)
		refusal_of_limits(p->facts, &wish, &fitting, w->why, w->why_room);
	else
		work_add(w, &limits)->limits = fitting.engine;
	return err;
}

/* ---- the admin socket ---- */

static void commit_admin(struct work *w, struct step *s)
{
	(void)s;
	w->parts->admin.commit(w->parts->admin.arg);
}

static void undo_admin(struct work *w, struct step *s)
{
	(void)s;
	w->parts->admin.undo(w->parts->admin.arg);
}

static const struct step_way admin = {STEP_ADMIN, commit_admin, undo_admin};

/* Even if nothing changes: it must not refer to the configuration that goes. */
static int prepare_admin(struct work *w)
{
	const struct apply_admin *a = &w->parts->admin;
	int err;

	if (a->prepare == NULL)
		return 0;
	err = a->prepare(a->arg, &w->plan->next->global, w->why, w->why_room);
	if (!err)
		work_add(w, &admin);
	return err;
}

/* ---- the HTTP endpoint ---- */

static void commit_web(struct work *w, struct step *s)
{
	(void)s;
	w->parts->web.commit(w->parts->web.arg);
}

static void undo_web(struct work *w, struct step *s)
{
	(void)s;
	w->parts->web.undo(w->parts->web.arg);
}

static const struct step_way web = {STEP_WEB, commit_web, undo_web};

/* As for the admin socket. */
static int prepare_web(struct work *w)
{
	const struct apply_admin *a = &w->parts->web;
	int err;

	if (a->prepare == NULL)
		return 0;
	err = a->prepare(a->arg, &w->plan->next->global, w->why, w->why_room);
	if (!err)
		work_add(w, &web);
	return err;
}

/* ---- the rest ---- */

static void commit_global(struct work *w, struct step *s)
{
	struct engine *e = w->parts->engine;
	const struct config_global *now = &e->config->global, *next = &w->plan->next->global;

	(void)s;
	if (next->splice != now->splice)
		engine_set_splice(e, next->splice);
	if (next->pipe_cycle_ns != now->pipe_cycle_ns)
		engine_set_pipe_cycle(e, next->pipe_cycle_ns);
	e->config = w->plan->next;
	if (w->parts->took_effect != NULL)
		w->parts->took_effect(w->parts->arg, w->plan->next);
}

static const struct step_way global = {STEP_GLOBAL, commit_global, NULL};

int work_prepare_limits(struct work *w)
{
	int err = prepare_limits(w);

	if (!err)
		err = prepare_admin(w);
	if (!err)
		err = prepare_web(w);
	if (!err)
		work_add(w, &global);
	return err;
}
