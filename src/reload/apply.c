/* SPDX-License-Identifier: MIT
 *
 * apply.c - a plan takes effect: prepared step by step, then committed as a whole or undone.
 *
 * Owns the list of steps. What each step is, the other files say. Control thread.
 */
#include "weir/reload/apply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/low_fds.h"
#include "apply_work.h"

#define OTHER_STEPS 10u /* that are not for one object */

/* ---- steps ---- */

struct step *work_add(struct work *w, const struct step_way *way)
{
	struct step *s = &w->steps[w->count];

	check(w->count < w->room);
	w->count++;
	*s = (struct step){.way = way};
	return s;
}

void work_drop(struct work *w)
{
	check(w->count > 0);
	w->count--;
}

static void undo(struct work *w)
{
	while (w->count > 0) {
		struct step *s = &w->steps[--w->count];

		if (s->way->undo != NULL)
			s->way->undo(w, s);
	}
}

static void commit(struct work *w)
{
	for (int kind = 0; kind < STEP_KINDS; kind++)
		for (size_t i = 0; i < w->count; i++) {
			struct step *s = &w->steps[i];

			if ((int)s->way->kind == kind && s->way->commit != NULL)
				s->way->commit(w, s);
		}
}

/* ---- words ---- */

static const char *advice(int err)
{
	switch (err) {
	case -EAGAIN:
		return "raise the limit of tasks (TasksMax= of the unit)";
	case -ENOSPC:
		return "too many objects have come and gone; restart the daemon";
	case -EPERM:
	case -EACCES:
		return "restart the daemon";
	default:
		return low_fds_advice(err);
	}
}

int work_refuse(const struct work *w, int err, const char *fmt, ...)
{
	size_t len;
	va_list ap;

	check(err < 0);
	va_start(ap, fmt);
	(void)vsnprintf(w->why, w->why_room, fmt, ap); /* may be truncated, as below */
	va_end(ap);
	len = strlen(w->why);
	(void)snprintf(w->why + len, w->why_room - len, ": %s; %s", strerrordesc_np(-err), advice(err));
	return err;
}

/* ---- the work ---- */

static size_t more(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Each object is at most one step, and the tombstone of a server another; an address that is to stay after
 * all is none besides. */
static size_t count_steps(const struct plan *plan)
{
	size_t n = OTHER_STEPS + plan->backend_count + plan->frontend_count + plan->log_count;

	for (size_t i = 0; i < plan->backend_count; i++)
		n += 2 * plan->backends[i].server_count; /* with its tombstone, or those of a backend that is
							  * added, which are one step if there is a set */
	for (size_t i = 0; i < plan->frontend_count; i++)
		n += plan->frontends[i].bind_count;
	return n;
}

static void work_close(struct work *w)
{
	free(w->backends);
	free(w->steps);
	free(w->routes);
	free(w->binds);
	free(w->endpoints);
	free(w->from);
}

static int work_open(struct work *w)
{
	const struct plan *plan = w->plan;
	size_t routes = 0, binds = 0;

	for (size_t i = 0; i < plan->frontend_count; i++) {
		binds = more(binds, plan->frontends[i].bind_count);
		if (plan->frontends[i].config != NULL)
			routes = more(routes, plan->frontends[i].config->route_count);
	}
	w->room = count_steps(plan);
	w->steps = calloc(w->room, sizeof(*w->steps));
	w->backends = calloc(plan->backend_count + 1, sizeof(struct backend *));
	w->routes = calloc(routes + 1, sizeof(struct backend *));
	w->binds = calloc(binds + 1, sizeof(struct config_bind *));
	w->endpoints = calloc(binds + 1, sizeof(struct endpoint *));
	w->from = calloc(binds + 1, sizeof(struct endpoint *));
	if (w->steps != NULL && w->backends != NULL && w->routes != NULL && w->binds != NULL &&
	    w->endpoints != NULL && w->from != NULL)
		return 0;
	return work_refuse(w, -ENOMEM, "cannot prepare the change");
}

/* Sockets last: whoever connects to a new one waits for the commit. */
static int prepare(struct work *w)
{
	int err = work_open(w);

	if (!err)
		err = work_prepare_limits(w);
	if (!err)
		err = work_prepare_backends(w);
	if (!err)
		err = work_prepare_services(w);
	if (!err)
		err = work_prepare_logs(w);
	if (!err)
		err = work_prepare_frontends(w);
	return err;
}

/* Not at the end of the turn: whoever is told that a plan took effect may connect before that. */
static void put_in_force(struct work *w)
{
	commit(w);
	server_updates_publish(w->parts->updates);
}

int apply_plan(const struct apply_parts *parts, const struct plan *plan, const struct apply_logs *logs,
	       char *why, size_t room)
{
	struct work w = {.parts = parts,
			 .plan = plan,
			 .logs = logs,
			 .now_ns = clock_mono_ns(),
			 .why = why,
			 .why_room = room};
	int err;

	check(plan->next != NULL);
	check(room > 0);
	why[0] = '\0';
	err = prepare(&w);
	if (err)
		undo(&w);
	else
		put_in_force(&w);
	work_close(&w);
	return err;
}
