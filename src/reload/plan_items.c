/* SPDX-License-Identifier: MIT
 *
 * plan_items.c - a plan as a list of things, one after another, for those who show it.
 *
 * Owns the texts of one item at a time. Control thread.
 */
#include "plan_items.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plan_overrides.h"
#include "plan_parts.h"
#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/config/same.h"
#include "weir/host/limits.h"
#include "weir/settings/config_diff.h"
#include "weir/settings/config_lines.h"

static const enum plan_fate fate_of[] = {
	[PLAN_KEPT] = FATE_KEPT,
	[PLAN_CHANGED] = FATE_CHANGED,
	[PLAN_ADDED] = FATE_ADDED,
	[PLAN_REMOVED] = FATE_REMOVED,
};

const char *plan_kind_word(enum plan_kind kind)
{
	static const char *const words[ITEM_KINDS] = {
		[ITEM_FRONTEND] = "frontend", [ITEM_ADDRESS] = "address", [ITEM_BACKEND] = "backend",
		[ITEM_SERVER] = "server",     [ITEM_LOG] = "log",	      [ITEM_GLOBAL] = "global",
	};

	check(kind < ITEM_KINDS);
	return words[kind];
}

const char *plan_fate_word(enum plan_fate fate)
{
	static const char *const words[FATES] = {
		[FATE_KEPT] = "kept",	[FATE_ADDED] = "added",	    [FATE_CHANGED] = "changed",
		[FATE_MOVED] = "moved", [FATE_REMOVED] = "removed",
	};

	check(fate < FATES);
	return words[fate];
}

/* ---- one item ---- */

/* The plan as it is shown. */
struct show {
	const struct plan *plan;
	const struct plan_input *in;
	const struct plan_viewer *viewer;
	struct config_diff diff; /* goes to the viewer */
	int err;
};

/* One line of a file. */
union line {
	const struct config_bind *bind;
	const struct config_log *log;
	struct {
		const struct config_backend *backend;
		const struct config_server *server;
	};
};

static void print_line(enum plan_kind kind, const union line *line, FILE *out)
{
	if (kind == ITEM_ADDRESS)
		config_print_bind(line->bind, out);
	else if (kind == ITEM_SERVER)
		config_print_server(line->backend, line->server, out);
	else
		config_print_log(line->log, out);
}

/* The caller frees it; NULL when out of memory. */
static char *line_text(enum plan_kind kind, const union line *line)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool fine;

	if (out == NULL)
		return NULL;
	print_line(kind, line, out);
	fine = ferror(out) == 0;
	if (fclose(out) == 0 && fine)
		return text;
	free(text);
	return NULL;
}

static void begin(struct show *s, const struct plan_item *item)
{
	s->viewer->begin(s->viewer->arg, item);
}

static void end(struct show *s)
{
	s->viewer->end(s->viewer->arg);
}

/* An item that is shown with its whole line. */
static void begin_line(struct show *s, struct plan_item *item, const union line *line)
{
	char *text = line_text(item->kind, line);

	if (text == NULL)
		s->err = -ENOMEM;
	item->line = text;
	begin(s, item);
	item->line = NULL;
	free(text);
}

static void note(struct show *s, int err)
{
	if (err)
		s->err = err;
}

/* ---- frontends ---- */

static const char *next_backend(const void *from, size_t i)
{
	const struct show *s = ((const void *const *)from)[0];
	const struct config_frontend *f = ((const void *const *)from)[1];
	const size_t at = i == f->route_count ? f->backend : f->routes[i].backend;

	check(at < s->plan->next->backend_count);
	return s->plan->next->backends[at].name;
}

static const char *live_backend(const void *from, size_t i)
{
	const struct frontend_settings *s = from;

	return (i == s->config->route_count ? s->backend : s->routes[i])->config->name;
}

static void diff_frontend(struct show *s, const struct plan_frontend *pf)
{
	const void *const next[] = {s, pf->config};
	const struct config_front before = {pf->live->config, live_backend, pf->live->settings};
	const struct config_front after = {pf->config, next_backend, next};

	note(s, config_diff_frontend(&before, &after, &s->diff));
}

/* Do all of its clients go to backends that end a session once it is idle? */
static bool drains_idle(const struct frontend_settings *s)
{
	bool idle = s->backend->config->drain == CONFIG_DRAIN_IDLE;

	for (size_t i = 0; i < s->config->route_count; i++)
		idle = idle && s->routes[i]->config->drain == CONFIG_DRAIN_IDLE;
	return idle;
}

static enum plan_sessions sessions_after(const struct config_timeouts *t, bool idle)
{
	if (t->on_removed == CONFIG_ON_REMOVED_CLOSE)
		return SESSIONS_END;
	return idle ? SESSIONS_END_IDLE : SESSIONS_GO_ON;
}

static void show_frontend(struct show *s, const struct plan_frontend *pf)
{
	const struct frontend *live = pf->live;
	struct plan_item item = {
		.kind = ITEM_FRONTEND, .fate = fate_of[pf->what], .revives = pf->revives};

	item.name = pf->config != NULL ? pf->config->name : live->config->name;
	if (live != NULL)
		item.sessions = (uint64_t)atomic_load(&live->sessions);
	if (pf->what == PLAN_REMOVED)
		item.then = sessions_after(&live->config->timeouts, drains_idle(live->settings));
	begin(s, &item);
	if (pf->what == PLAN_CHANGED)
		diff_frontend(s, pf);
	plan_overrides_frontend(pf, s->viewer->stays, s->viewer->arg);
	end(s);
}

/* ---- addresses ---- */

/* An address as it was written until now is no longer; of a range, the ports up to `last`. */
static void show_left_address(struct show *s, const struct endpoint *ep, uint16_t last)
{
	const union line line = {.bind = ep->config};
	const unsigned count =
		bind_is_in_range(ep->config) ? (unsigned)(last - ep->config->addr.port) + 1 : 1;
	char name[ADDR_TEXT_MAX];
	struct plan_item item = {.kind = ITEM_ADDRESS,
				 .fate = FATE_REMOVED,
				 .owner = ep->frontend->config->name,
				 .name = bind_ports_address(ep->config, last, name)};

	if (ep->part > 1 || !endpoint_belongs(ep))
		return;
	if (count == bind_line_ports(ep->config))
		begin_line(s, &item, &line);
	else
		begin(s, &item); /* some of its ports stay */
	end(s);
}

/* The binds of `pf` from `k` on that stand for the sockets of one line: how many. */
static size_t count_sockets(const struct plan_frontend *pf, size_t k)
{
	size_t n = 1;

	while (k + n < pf->bind_count && plan_is_one_line(pf->binds[k + n].config, pf->binds[k].config))
		n++;
	return n;
}

/* Does one of its own sockets get other options, or stay after all? */
static bool is_any_changed(const struct plan_bind *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (b[i].what == PLAN_CHANGED)
			return true;
	return false;
}

/* Is it the socket of a bind that was written as this one? */
static bool is_from_same(const struct plan_bind *b)
{
	return b->from != NULL && config_addr_same(&b->from->config->addr, &b->config->addr);
}

static enum plan_fate fate_of_bind(const struct plan_bind *b, size_t count)
{
	if (b->live != NULL && endpoint_belongs(b->live))
		return is_any_changed(b, count) ? FATE_CHANGED : FATE_KEPT;
	return is_from_same(b) && endpoint_belongs(b->from) ? FATE_MOVED : FATE_ADDED;
}

/* A bind of the new configuration, with its `count` sockets. */
static void show_bind(struct show *s, const struct plan_frontend *pf, size_t k, size_t count)
{
	const struct plan_bind *b = &pf->binds[k];
	const struct config_bind *before = plan_bind_before(pf, k);
	const union line line = {.bind = b->config};
	char name[ADDR_TEXT_MAX], from[ADDR_TEXT_MAX];
	struct plan_item item = {.kind = ITEM_ADDRESS,
				 .fate = before != NULL ? FATE_CHANGED : fate_of_bind(b, count),
				 .owner = pf->config->name,
				 .name = bind_line_address(b->config, name),
				 .bound_anew = before != NULL};
	const bool comes = item.fate == FATE_ADDED || item.fate == FATE_MOVED;

	if (b->from != NULL) {
		item.from_frontend = b->from->frontend->config->name;
		item.from_address = bind_line_address(b->from->config, from);
	}
	if (comes && bind_is_in_range(b->config))
		item.sockets = bind_line_ports(b->config);
	if (comes && bind_is_in_range(b->config))
		item.memory = bind_line_memory(b->config, limits_count_workers(&s->plan->next->global));
	if (comes)
		begin_line(s, &item, &line);
	else
		begin(s, &item);
	if (item.fate == FATE_MOVED)
		before = b->from->config;
	else if (item.fate == FATE_CHANGED && before == NULL)
		before = b->live->config;
	if (before != NULL)
		note(s, config_diff_bind(before, b->config, &s->diff));
	end(s);
}

/* Addresses that the sockets of a bind had until now. */
static void show_covered(struct show *s, const struct plan_bind *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct config_bind *was = b[i].from != NULL ? b[i].from->config : NULL;

		if (was == NULL || is_from_same(&b[i]))
			continue;
		/* Wildcards cover whole ranges. */
		if (!bind_is_in_range(was) || was->addr.port == was->first_port)
			show_left_address(s, b[i].from, was->last_port);
	}
}

static void show_addresses(struct show *s, const struct plan_frontend *pf)
{
	size_t count, at;

	for (size_t k = 0; k < pf->bind_count; k += count) {
		const struct plan_bind *b = &pf->binds[k];

		if (b->what == PLAN_REMOVED) {
			count = plan_count_removed(pf, k);
			show_left_address(s, b->live, pf->binds[k + count - 1].live->config->addr.port);
			continue;
		}
		count = count_sockets(pf, k);
		at = plan_speaker(pf, k);
		show_bind(s, pf, at, k + count - at);
		show_covered(s, b, count);
	}
}

/* ---- backends ---- */

static void show_server(struct show *s, const struct plan_backend *pb, const struct plan_server *ps)
{
	const struct config_backend *b = pb->config != NULL ? pb->config : pb->live->config;
	const struct server *live = ps->live;
	const struct config_server *before = live != NULL      ? live->config
					     : ps->set != NULL ? ps->set->config
							       : NULL;
	const struct config_server *config = ps->config != NULL ? ps->config : before;
	/* What a server that goes had inherited is in the configuration of its time. */
	const union line line = {.backend = before != NULL ? pb->live->config : b, .server = config};
	struct plan_item item = {
		.kind = ITEM_SERVER, .fate = fate_of[ps->what], .owner = b->name, .name = config->name,
		.adopted = ps->adopted};

	if (live != NULL)
		item.sessions = (uint64_t)atomic_load(&live->sessions);
	if (ps->what == PLAN_REMOVED)
		item.then = sessions_after(&b->timeouts, b->drain == CONFIG_DRAIN_IDLE);
	if (ps->what == PLAN_ADDED || ps->what == PLAN_REMOVED)
		begin_line(s, &item, &line);
	else
		begin(s, &item);
	if (ps->what == PLAN_CHANGED)
		note(s, config_diff_server(before, config, &s->diff));
	plan_overrides_server(pb, ps, s->viewer->stays, s->viewer->arg);
	end(s);
}

static void show_backend(struct show *s, const struct plan_backend *pb)
{
	const struct backend *live = pb->live;
	struct plan_item item = {.kind = ITEM_BACKEND, .fate = fate_of[pb->what]};

	item.name = pb->config != NULL ? pb->config->name : live->config->name;
	for (size_t i = 0; live != NULL && i < live->server_count; i++)
		item.sessions += (uint64_t)atomic_load(&live->servers[i]->sessions);
	if (pb->what == PLAN_REMOVED)
		item.then = sessions_after(&live->config->timeouts, live->config->drain == CONFIG_DRAIN_IDLE);
	begin(s, &item);
	if (pb->what == PLAN_CHANGED)
		note(s, config_diff_backend(live->config, pb->config, &s->diff));
	end(s);
	for (size_t i = 0; i < pb->server_count; i++)
		if (pb->servers[i].config != NULL || pb->servers[i].live != NULL ||
		    pb->servers[i].set != NULL)
			show_server(s, pb, &pb->servers[i]);
}

/* ---- targets of the log ---- */

/* The line of a target that is there; two that are alike have the same. */
static const struct config_log *line_of(const struct show *s, const struct log_outlet *o)
{
	const struct config_global *now = s->in->now;

	for (size_t i = 0; i < now->log_count; i++)
		if (logwriter_target_is(o, &now->logs[i]))
			return &now->logs[i];
	return NULL;
}

static void show_log(struct show *s, const struct plan_log *pl)
{
	const union line line = {.log = pl->config != NULL ? pl->config : line_of(s, pl->live)};
	struct plan_item item = {.kind = ITEM_LOG, .fate = fate_of[pl->what]};

	if (pl->what == PLAN_KEPT || line.log == NULL)
		begin(s, &item);
	else
		begin_line(s, &item, &line);
	end(s);
}

/* ---- [global] ---- */

/* One kind of option of [global], that only a restart changes or that a reload does. */
static void on_global(void *arg, const char *key, const char *before, const char *after)
{
	struct show *s = arg;

	if (!plan_needs_restart(key))
		s->viewer->option(s->viewer->arg, key, before, after);
}

static void on_restart(void *arg, const char *key, const char *before, const char *after)
{
	struct show *s = arg;

	if (plan_needs_restart(key))
		s->viewer->restart(s->viewer->arg, key, before, after);
}

static void show_global(struct show *s)
{
	const bool changes = s->plan->admin_changed || s->plan->stats_changed || s->plan->global_changed;
	const struct plan_item item = {.kind = ITEM_GLOBAL, .fate = changes ? FATE_CHANGED : FATE_KEPT};
	const struct config_diff reloads = {on_global, s}, restarts = {on_restart, s};
	const struct config_global *next = &s->plan->next->global;

	begin(s, &item);
	if (changes)
		note(s, config_diff_global(s->in->now, next, &reloads));
	plan_overrides_global(s->plan, s->in, s->viewer->stays, s->viewer->arg);
	end(s);
	if (s->plan->restart_count > 0)
		note(s, config_diff_global(s->in->started, next, &restarts));
}

int plan_items(const struct plan *p, const struct plan_input *in, const struct plan_viewer *v)
{
	struct show s = {.plan = p, .in = in, .viewer = v, .diff = {v->option, v->arg}};

	for (size_t i = 0; i < p->frontend_count; i++) {
		show_frontend(&s, &p->frontends[i]);
		show_addresses(&s, &p->frontends[i]);
	}
	for (size_t i = 0; i < p->backend_count; i++)
		show_backend(&s, &p->backends[i]);
	for (size_t i = 0; i < p->log_count; i++)
		show_log(&s, &p->logs[i]);
	show_global(&s);
	return s.err;
}
