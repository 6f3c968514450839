/* SPDX-License-Identifier: MIT
 *
 * plan_rig.h - engines from a text, without workers, and plans for them as text.
 *
 * Sockets stand in for those of endpoints: they have a descriptor, but no address. An endpoint of fd@NAME is
 * inherited.
 */
#ifndef WEIR_TESTS_PLAN_RIG_H
#define WEIR_TESTS_PLAN_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <ev.h>

#include "entry/parts.h"
#include "weir/base/log.h"
#include "weir/reload/plan.h"
#include "weir/settings/config_reading.h"

struct plan_rig {
	struct config *now;
	struct config *next;
	struct engine engine;
	struct ev_loop *loop;
	struct logwriter *log;
	struct plan plan;
	char why[LOG_RECORD_MAX];
};

static inline struct config *rig_read(const char *text)
{
	struct config_input input = {0};
	struct config_reading r;
	struct config *c;

	assert_int_equal(config_input_set_text(&input, "t.ini", text), 0);
	config_read(&input, &r);
	config_reading_print(&r, stderr, CONFIG_STYLE_PLAIN);
	c = config_reading_take(&r);
	config_reading_free(&r);
	config_input_free(&input);
	assert_non_null(c);
	return c;
}

static inline void rig_no_news(void *arg)
{
	(void)arg;
}

static inline void rig_stand_in(struct endpoint *ep)
{
	const int family = addr_is_unix(&ep->addr) ? AF_UNIX : AF_INET;

	ep->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(ep->fd >= 0);
	ep->inherited = ep->config->addr.kind == ADDR_FD;
}

static inline void rig_open(struct plan_rig *r, const char *now)
{
	const struct config_log *failed;
	int err;

	memset(r, 0, sizeof(*r));
	r->now = rig_read(now);
	r->loop = ev_loop_new(EVFLAG_AUTO);
	assert_non_null(r->loop);
	r->log = logwriter_new(r->loop, &r->now->global, &failed, &err);
	assert_non_null(r->log);
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(engine_init(&r->engine, r->now, rig_no_news, NULL), 0);
	entries_foreach_frontend(&r->engine.entries, fe) {
		frontend_foreach_endpoint(fe, ep)
			rig_stand_in(ep);
	}
}

/* Plans for another configuration, in place of the plan before. */
static inline int rig_try(struct plan_rig *r, const char *next)
{
	struct plan_input in = {.engine = &r->engine,
				.log = r->log,
				.started = &r->now->global,
				.now = &r->now->global};

	plan_free(&r->plan);
	config_free(r->next);
	r->next = rig_read(next);
	in.next = r->next;
	return plan_make(&r->plan, &in, r->why, sizeof(r->why));
}

static inline void rig_plan(struct plan_rig *r, const char *next)
{
	assert_int_equal(rig_try(r, next), 0);
}

static inline void rig_close(struct plan_rig *r)
{
	plan_free(&r->plan);
	config_free(r->next);
	engine_free(&r->engine);
	logwriter_free(r->log);
	ev_loop_destroy(r->loop);
	config_free(r->now);
}

/* ---- what is there ---- */

static inline struct frontend *rig_frontend(const struct plan_rig *r, const char *name)
{
	struct frontend *fe = entries_find(&r->engine.entries, name);

	assert_non_null(fe);
	return fe;
}

/* The endpoint of this frontend at `index`, from 0. */
static inline struct endpoint *rig_endpoint(struct frontend *fe, unsigned index)
{
	frontend_foreach_endpoint(fe, ep) {
		if (index-- == 0)
			return ep;
	}
	fail_msg("no such endpoint");
	return NULL;
}

/* One more endpoint of `fe`, without a socket. */
static inline struct endpoint *rig_add(struct plan_rig *r, struct frontend *fe,
				       const struct config_bind *config)
{
	struct endpoint *ep = endpoint_new(&r->engine.entries, fe->settings, config);

	assert_non_null(ep);
	entries_publish(&r->engine.entries, ep, &fe->endpoints);
	return ep;
}

/* One more socket of the bind that `of` has, at another address. */
static inline struct endpoint *rig_add_part(struct plan_rig *r, struct endpoint *of, const char *address,
					    unsigned part)
{
	struct endpoint *ep = rig_add(r, of->frontend, of->config);
	struct addr_spec spec;

	assert_int_equal(addr_parse(address, &spec, NULL, NULL), 0);
	ep->addr = spec.addr;
	ep->number = of->number;
	ep->part = part;
	rig_stand_in(ep);
	return ep;
}

/* ---- plans as text ---- */

static inline const char *what_text(enum plan_what what)
{
	static const char *const texts[] = {
		[PLAN_KEPT] = "kept",
		[PLAN_CHANGED] = "changed",
		[PLAN_ADDED] = "added",
		[PLAN_REMOVED] = "removed",
	};

	return texts[what];
}

static inline void show_bind(const struct plan_bind *b, struct text *out)
{
	const struct addr_spec *spec = b->config != NULL ? &b->config->addr : &b->live->config->addr;
	char at[ADDR_TEXT_MAX], from[ADDR_TEXT_MAX];

	assert_true((b->live == NULL) == (b->what == PLAN_ADDED));
	assert_true((b->config == NULL) == (b->what == PLAN_REMOVED));
	text_printf(out, " %s %s", addr_spec_format(spec, at), what_text(b->what));
	if (b->live != NULL && b->live->part > 1)
		text_printf(out, " part %s", addr_format(&b->live->addr, from));
	if (b->live != NULL && b->live->stage != ENDPOINT_OPEN)
		text_printf(out, " (leaving)");
	if (b->from != NULL) {
		assert_int_equal(b->what, PLAN_ADDED);
		text_printf(out, " from %s %s%s", b->from->frontend->config->name,
			    addr_format(&b->from->addr, from),
			    b->from->stage != ENDPOINT_OPEN ? " (leaving)" : "");
	}
	text_printf(out, ";");
}

static inline void show_frontend(const struct plan_frontend *pf, struct text *out)
{
	text_printf(out, "%s %s:", pf->config != NULL ? pf->config->name : pf->live->config->name,
		    what_text(pf->what));
	for (size_t i = 0; i < pf->bind_count; i++)
		show_bind(&pf->binds[i], out);
	text_printf(out, "\n");
}

/* What has been added or deleted at run time. */
static inline const char *run_time_text(const struct plan_server *s)
{
	if (s->set != NULL)
		return " (set)";
	if (s->live != NULL && s->live->set != NULL)
		return " (member)";
	if (plan_stays_deleted(s))
		return " (deleted)";
	if (s->live == NULL && s->config == NULL)
		return " (forgotten)";
	if (s->what == PLAN_KEPT && s->config == NULL)
		return " (added)";
	return s->adopted ? " (adopted)" : "";
}

static inline void show_server(const struct plan_server *s, struct text *out)
{
	if (run_time_text(s)[0] == '\0') {
		assert_true((s->live == NULL) == (s->what == PLAN_ADDED));
		assert_true((s->config == NULL) == (s->what == PLAN_REMOVED));
	}
	assert_true(!s->adopted || (s->what == PLAN_CHANGED && s->live->added));
	text_printf(out, " %s %s%s%s;", plan_server_name(s), what_text(s->what), run_time_text(s),
		    s->tombstone != NULL && !plan_stays_deleted(s) ? " (dropped)" : "");
}

static inline void show_backend(const struct plan_backend *pb, struct text *out)
{
	text_printf(out, "%s %s:", pb->config != NULL ? pb->config->name : pb->live->config->name,
		    what_text(pb->what));
	for (size_t i = 0; i < pb->server_count; i++)
		show_server(&pb->servers[i], out);
	text_printf(out, "\n");
}

/* One line for each frontend, then for each backend. The caller frees it. */
static inline struct text show_plan(const struct plan *p)
{
	struct text out;

	text_init(&out);
	for (size_t i = 0; i < p->frontend_count; i++)
		show_frontend(&p->frontends[i], &out);
	for (size_t i = 0; i < p->backend_count; i++)
		show_backend(&p->backends[i], &out);
	assert_false(out.failed);
	return out;
}

static inline void assert_plan(const struct plan *p, const char *shown)
{
	struct text out = show_plan(p);

	assert_string_equal(out.bytes, shown);
	text_free(&out);
}

static inline void assert_described(const struct plan *p, const char *line)
{
	struct text out;

	text_init(&out);
	plan_describe(p, &out);
	assert_false(out.failed);
	assert_string_equal(out.bytes, line);
	text_free(&out);
	assert_int_equal(plan_is_empty(p), strcmp(line, "nothing has changed") == 0);
}

#endif
