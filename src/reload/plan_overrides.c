/* SPDX-License-Identifier: MIT
 *
 * plan_overrides.c - what was set at run time, and stays after the plan has taken effect.
 *
 * Control thread.
 */
#include "plan_overrides.h"

#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"
#include "weir/entry/halt.h"

/* Who sees what stays of one thing. */
struct filter {
	const struct plan_backend *backend;
	const struct plan_server *server;
	const struct plan_frontend *frontend;
	const struct engine *engine;
	const struct config_global *next;
	run_time_report *report;
	void *arg;
};

/* ---- servers ---- */

static void on_server(void *arg, const struct run_time_value *v)
{
	const struct filter *f = arg;
	const struct plan_server *ps = f->server;
	const enum server_mark what = (enum server_mark)v->what;

	if (ps->adopted && what == SERVER_MARK_STATE)
		return; /* report_adopted() */
	if (run_time_stays(ps->live, what, ps->config, f->backend->config))
		f->report(f->arg, v);
}

/* What an administrator wants of it counts on, and is now something else than a file says. */
static void report_adopted(const struct filter *f)
{
	const struct server *s = f->server->live;
	const bool is_marked = mark_is_set(&s->marks[SERVER_MARK_STATE]);
	const char *now = run_time_admin_word(s->admin);
	const char *next = run_time_admin_word(f->server->config->disabled ? SERVER_ADMIN_MAINT
									   : SERVER_ADMIN_READY);
	const struct run_time_value v = {
		.kind = RUN_TIME_SERVER,
		.backend = s->owner->config->name,
		.name = s->config->name,
		.what = SERVER_MARK_STATE,
		.word = run_time_mark_word(SERVER_MARK_STATE),
		.now = now,
		.file = next,
		.mark = &s->marks[is_marked ? SERVER_MARK_STATE : SERVER_MARK_ADDED],
	};

	if (now != next)
		f->report(f->arg, &v);
}

void plan_overrides_server(const struct plan_backend *pb, const struct plan_server *ps,
			   run_time_report *report, void *arg)
{
	struct filter f = {.backend = pb, .server = ps, .report = report, .arg = arg};

	if (plan_stays_deleted(ps))
		run_time_view_deleted(pb->live, ps->tombstone, report, arg);
	if (ps->adopted)
		report_adopted(&f);
	if (ps->live != NULL && ps->what != PLAN_REMOVED)
		run_time_view_server(ps->live, on_server, &f);
}

/* ---- frontends ---- */

static void on_frontend(void *arg, const struct run_time_value *v)
{
	const struct filter *f = arg;
	const struct plan_frontend *pf = f->frontend;

	if (v->what == FRONTEND_MARK_STATE && pf->revives)
		return;
	if (v->what == FRONTEND_MARK_MAXCONN && !frontend_limit_stays(pf->live, pf->config))
		return;
	f->report(f->arg, v);
}

void plan_overrides_frontend(const struct plan_frontend *pf, run_time_report *report, void *arg)
{
	struct filter f = {.frontend = pf, .report = report, .arg = arg};

	if (pf->live != NULL && pf->what != PLAN_REMOVED)
		run_time_view_frontend(pf->live, on_frontend, &f);
}

/* ---- the process ---- */

static void on_global(void *arg, const struct run_time_value *v)
{
	const struct filter *f = arg;

	if (v->what != ENGINE_MARK_MAXCONN || engine_maxconn_stays(f->engine, f->next))
		f->report(f->arg, v);
}

void plan_overrides_global(const struct plan *p, const struct plan_input *in, run_time_report *report,
			   void *arg)
{
	struct filter f = {.engine = in->engine, .next = &p->next->global, .report = report, .arg = arg};

	run_time_view_global(in->engine, on_global, &f);
}
