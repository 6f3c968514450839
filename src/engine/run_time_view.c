/* SPDX-License-Identifier: MIT
 *
 * run_time_view.c - what differs from the configuration in effect because somebody changed it at run time.
 *
 * By the marks that each change has left. Control thread.
 */
#include "weir/engine/run_time_view.h"

#include <stdio.h>
#include <string.h>

#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"
#include "weir/base/check.h"
#include "weir/base/wall_time.h"

const char *run_time_by(const struct mark *m, char buf[static RUN_TIME_BY_MAX])
{
	char who[MARK_WHO_MAX], when[WALL_TIME_MAX];

	(void)snprintf(buf, RUN_TIME_BY_MAX, "by %s at %s", mark_who(m, who),
		       wall_time_format(m->wall_ns, when)); /* fits */
	return buf;
}

/* ---- values ---- */

/* The texts of one value. */
struct pair {
	char now[ADDR_TEXT_MAX];
	char file[ADDR_TEXT_MAX]; /* "" = none */
};

/* Both always fit. */
static void put_words(struct pair *p, const char *now, const char *file)
{
	(void)snprintf(p->now, sizeof(p->now), "%s", now);
	(void)snprintf(p->file, sizeof(p->file), "%s", file);
}

static void put_numbers(struct pair *p, unsigned now, unsigned file)
{
	(void)snprintf(p->now, sizeof(p->now), "%u", now);
	(void)snprintf(p->file, sizeof(p->file), "%u", file);
}

/* A limit of the file that is 0 is "auto". */
static void put_limits(struct pair *p, unsigned now, unsigned file)
{
	put_numbers(p, now, file);
	if (file == 0)
		(void)snprintf(p->file, sizeof(p->file), "auto");
}

static const char *or_none(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

/* `v` has all but the texts and the mark. */
static void report_pair(struct run_time_value *v, const struct pair *p, const struct mark *mark,
			run_time_report *report, void *arg)
{
	v->now = or_none(p->now);
	v->file = or_none(p->file);
	v->mark = mark;
	report(arg, v);
}

/* ---- the process ---- */

static const char *const engine_words[] = {
#define ENGINE_MARK(name, word) [ENGINE_MARK_##name] = word,
#include "weir/engine/engine_marks.tbl.h"
#undef ENGINE_MARK
};

void run_time_view_global(const struct engine *e, run_time_report *report, void *arg)
{
	struct run_time_value v = {.kind = RUN_TIME_GLOBAL};
	struct pair p;

	for (v.what = 0; v.what < ENGINE_MARKS; v.what++) {
		if (!mark_is_set(&e->marks[v.what]))
			continue;
		v.word = engine_words[v.what];
		p = (struct pair){.now = ""};
		if (v.what == ENGINE_MARK_MAXCONN)
			put_limits(&p, e->maxconn_set, e->config->global.maxconn);
		else
			(void)snprintf(p.now, sizeof(p.now), "%u",
				       atomic_load_explicit(&e->settings.rate_limit, memory_order_relaxed));
		report_pair(&v, &p, &e->marks[v.what], report, arg);
	}
}

/* ---- frontends ---- */

static const char *const frontend_words[] = {
#define FRONTEND_MARK(name, word) [FRONTEND_MARK_##name] = word,
#include "weir/entry/frontend_marks.tbl.h"
#undef FRONTEND_MARK
};

static const char *frontend_admin_word(enum frontend_admin admin)
{
	static const char *const words[] = {
		[FRONTEND_ADMIN_READY] = "enabled",
		[FRONTEND_ADMIN_DISABLED] = "disabled",
		[FRONTEND_ADMIN_SHUT] = "shut-down",
	};

	return words[admin];
}

void run_time_view_frontend(const struct frontend *fe, run_time_report *report, void *arg)
{
	struct run_time_value v = {.kind = RUN_TIME_FRONTEND, .name = fe->config->name};
	struct pair p;

	for (v.what = 0; v.what < FRONTEND_MARKS; v.what++) {
		if (!mark_is_set(&fe->marks[v.what]))
			continue;
		v.word = frontend_words[v.what];
		p = (struct pair){.now = ""};
		if (v.what == FRONTEND_MARK_STATE)
			put_words(&p, frontend_admin_word(fe->admin), "enabled");
		else
			put_limits(&p, fe->set_limit, fe->own_limit);
		report_pair(&v, &p, &fe->marks[v.what], report, arg);
	}
}

/* ---- servers ---- */

const char *run_time_admin_word(enum server_admin admin)
{
	static const char *const words[] = {
		[SERVER_ADMIN_READY] = "ready",
		[SERVER_ADMIN_DRAIN] = "drain",
		[SERVER_ADMIN_MAINT] = "maint",
	};

	return words[admin];
}

/* Without its port, which does not count. */
static void put_host(char *text, const struct addr *a)
{
	char *colon;

	(void)addr_format(a, text);
	colon = addr_is_unix(a) ? NULL : strrchr(text, ':');
	if (colon != NULL)
		*colon = '\0';
}

static void put_port(struct pair *p, const struct server *s)
{
	put_numbers(p, s->check_port, s->config->check_port);
	if (s->config->check_port == 0)
		p->file[0] = '\0';
}

static void put_server(struct pair *p, const struct server *s, enum server_mark what)
{
	*p = (struct pair){.now = ""};
	switch (what) {
	case SERVER_MARK_STATE:
		put_words(p, run_time_admin_word(s->admin),
			  s->added              ? ""
			  : s->config->disabled ? "maint"
						: "ready");
		return;
	case SERVER_MARK_WEIGHT:
		put_numbers(p, s->weight, s->config->weight);
		return;
	case SERVER_MARK_MAXCONN:
		put_numbers(p, s->maxconn, s->config->maxconn);
		return;
	case SERVER_MARK_ADDR:
		if (s->moved != NULL)
			(void)addr_format(&s->moved->addr, p->now);
		(void)addr_spec_format(&s->config->addr, p->file);
		return;
	case SERVER_MARK_CHECK_ADDR:
		if (s->check_addr != NULL)
			put_host(p->now, s->check_addr);
		if (s->config->check_addr.len != 0)
			put_host(p->file, &s->config->check_addr);
		return;
	case SERVER_MARK_CHECK_PORT:
		put_port(p, s);
		return;
	case SERVER_MARK_HEALTH:
		put_words(p, s->stopping ? "stopping" : s->healthy ? "up" : "down", "");
		return;
	case SERVER_MARK_CHECKS:
	case SERVER_MARK_AGENT:
		put_words(p, "disabled", "enabled");
		return;
	case SERVER_MARK_ADDED:
	case SERVER_MARKS:
		break;
	}
}

void run_time_view_server(const struct server *s, run_time_report *report, void *arg)
{
	struct pair p;
	struct run_time_value v = {
		.kind = RUN_TIME_SERVER, .backend = s->owner->config->name, .name = s->config->name};

	for (int what = 0; what < SERVER_MARKS; what++) {
		if (!mark_is_set(&s->marks[what]))
			continue;
		put_server(&p, s, (enum server_mark)what);
		v.what = what;
		v.word = run_time_mark_word((enum server_mark)what);
		report_pair(&v, &p, &s->marks[what], report, arg);
	}
}

void run_time_view_deleted(const struct backend *b, const struct tombstone *t, run_time_report *report,
			   void *arg)
{
	const struct run_time_value v = {.kind = RUN_TIME_SERVER,
					 .backend = b->config->name,
					 .name = t->config->name,
					 .what = RUN_TIME_DELETED,
					 .word = "deleted",
					 .mark = &t->by};

	report(arg, &v);
}

static void view_backend(const struct backend *b, run_time_report *report, void *arg)
{
	for (size_t i = 0; i < b->server_count; i++)
		run_time_view_server(b->servers[i], report, arg);
	for (const struct list *l = b->tombstones.next; l != &b->tombstones; l = l->next)
		run_time_view_deleted(b, tombstone_at(l), report, arg);
}

void run_time_view(const struct engine *e, run_time_report *report, void *arg)
{
	run_time_view_global(e, report, arg);
	entries_foreach_frontend(&e->entries, fe)
		run_time_view_frontend(fe, report, arg);
	for (size_t i = 0; i < e->backend_count; i++)
		view_backend(e->backends[i], report, arg);
}
