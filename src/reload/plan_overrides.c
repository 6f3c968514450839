/* SPDX-License-Identifier: MIT
 *
 * plan_overrides.c - what was set at run time, and stays after the plan has taken effect.
 *
 * Control thread.
 */
#include "plan_overrides.h"

#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"

/* Who sees what stays of one thing. */
struct filter {
	const struct plan_backend *backend;
	const struct plan_server *server;
	const struct plan_frontend *frontend;
	const struct config_global *now, *next;
	run_time_report *report;
	void *arg;
};

/* ---- servers ---- */

/* A port that is set counts in place of that of the server, or else of the backend. */
static bool is_check_port_same(const struct plan_backend *pb, const struct plan_server *ps)
{
	const struct config_server *was = ps->live->config;
	const struct config_server *now = ps->config != NULL ? ps->config : was;

	return now->check_port == was->check_port &&
	       (was->check_port != 0 || pb->live->config->check.port == pb->config->check.port);
}

/* Of a server that the configuration names, or comes to name. */
static bool does_server_keep(const struct filter *f, enum server_mark what)
{
	const struct plan_server *ps = f->server;
	const struct config_server *was = ps->live->config, *now = ps->config;

	switch (what) {
	case SERVER_MARK_STATE:
		return now->disabled == was->disabled;
	case SERVER_MARK_WEIGHT:
		return now->weight == was->weight;
	case SERVER_MARK_MAXCONN:
		return now->maxconn == was->maxconn;
	case SERVER_MARK_CHECK_PORT:
		return is_check_port_same(f->backend, ps);
	case SERVER_MARK_ADDR: /* they have met by it */
	case SERVER_MARK_CHECK_ADDR:
	case SERVER_MARK_HEALTH:
	case SERVER_MARK_CHECKS:
	case SERVER_MARK_AGENT:
	case SERVER_MARK_ADDED:
	case SERVER_MARKS:
		break;
	}
	return true;
}

/* Of one that was added at run time, and that no line means. */
static bool does_added_keep(const struct filter *f, enum server_mark what)
{
	return what != SERVER_MARK_CHECK_PORT || is_check_port_same(f->backend, f->server);
}

static void on_server(void *arg, const struct run_time_value *v)
{
	const struct filter *f = arg;
	const enum server_mark what = (enum server_mark)v->what;

	if (f->server->config != NULL ? does_server_keep(f, what) : does_added_keep(f, what))
		f->report(f->arg, v);
}

/* Health checks are as suspended as they were, and what an administrator wants of it counts on. */
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
	else if (ps->adopted)
		report_adopted(&f);
	else if (ps->live != NULL && ps->what != PLAN_REMOVED)
		run_time_view_server(ps->live, on_server, &f);
}

/* ---- frontends ---- */

static void on_frontend(void *arg, const struct run_time_value *v)
{
	const struct filter *f = arg;
	const struct plan_frontend *pf = f->frontend;

	if (v->what == FRONTEND_MARK_STATE && pf->revives)
		return;
	if (v->what == FRONTEND_MARK_MAXCONN && pf->config->maxconn != pf->live->config->maxconn)
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

	if (v->what != ENGINE_MARK_MAXCONN || f->now->maxconn == f->next->maxconn)
		f->report(f->arg, v);
}

void plan_overrides_global(const struct plan *p, const struct plan_input *in, run_time_report *report,
			   void *arg)
{
	struct filter f = {.now = in->now, .next = &p->next->global, .report = report, .arg = arg};

	run_time_view_global(in->engine, on_global, &f);
}
