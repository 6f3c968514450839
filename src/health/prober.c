/* SPDX-License-Identifier: MIT
 *
 * prober.c - health checks: which servers are checked, as they come, change and go.
 *
 * Owns one target per checked server, and memory for those of prepared changes. Main thread.
 */
#include "weir/health/prober.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/low_fds.h"
#include "target.h"

/* ---- first checks ---- */

static struct target *at(const struct list *link)
{
	return list_entry(link, struct target, link);
}

/* As HAProxy at startup: the first checks are spread evenly over the smallest interval of all. */
static void spread(struct prober *p)
{
	int64_t smallest_ns = CLOCK_NEVER;
	int64_t count = 0, i = 0;

	for (const struct list *l = p->targets.next; l != &p->targets; l = l->next) {
		if (!at(l)->fresh)
			continue;
		count++;
		if (target_check(at(l)->server).interval_ns < smallest_ns)
			smallest_ns = target_check(at(l)->server).interval_ns;
	}
	for (const struct list *l = p->targets.next; l != &p->targets; l = l->next)
		if (at(l)->fresh)
			target_start(at(l), smallest_ns / count * i++);
}

static void on_spread_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	spread(timer->data);
}

/* Together with those of other servers that come in this turn. */
static void spread_soon(struct prober *p)
{
	if (ev_is_active(&p->spread))
		return;
	ev_timer_set(&p->spread, 0., 0.);
	ev_timer_start(p->loop, &p->spread);
}

/* ---- memory ---- */

static void trim(struct prober *p)
{
	for (; p->spare_count > p->reserved; p->spare_count--) {
		struct target *t = at(p->spares.next);

		list_remove(&t->link);
		free(t);
	}
}

/* Takes `servers` more spares. */
static int take_spares(struct prober *p, size_t servers)
{
	while (p->spare_count < p->reserved + servers) {
		struct target *t = calloc(1, sizeof(*t));

		if (t == NULL) {
			trim(p);
			return -ENOMEM;
		}
		list_push_back(&p->spares, &t->link);
		p->spare_count++;
	}
	p->reserved += servers;
	return 0;
}

/* No more descriptors are needed than there are targets, now and after the changes. */
static void unclaim(struct prober *p)
{
	const size_t needed = p->count + p->reserved;

	if (p->claimed <= needed)
		return;
	low_fds_unclaim((unsigned)(p->claimed - needed));
	p->claimed = needed;
}

int prober_prepare(struct prober *p, size_t servers)
{
	int err = low_fds_claim((unsigned)servers);

	if (err)
		return err;
	err = take_spares(p, servers);
	if (err)
		low_fds_unclaim((unsigned)servers);
	else
		p->claimed += servers;
	return err;
}

void prober_settle(struct prober *p, size_t servers)
{
	check(servers <= p->reserved);
	p->reserved -= servers;
	trim(p);
	unclaim(p);
}

/* ---- servers come, change and go ---- */

static void add(struct prober *p, struct server *s)
{
	struct target *t = at(p->spares.next);

	check(!list_empty(&p->spares)); /* prober_prepare() comes first */
	list_remove(&t->link);
	p->spare_count--;
	target_init(t, p, s);
	list_push_back(&p->targets, &t->link);
	p->count++;
}

static void drop(struct prober *p, struct target *t)
{
	if (t->close)
		engine_close_sessions(p->engine, t->server);
	target_end(t);
	list_remove(&t->link);
	free(t);
	p->count--;
	unclaim(p);
}

static void on_server_added(void *arg, struct server *s)
{
	struct prober *p = arg;

	if (!target_is_wanted(s))
		return;
	add(p, s);
	spread_soon(p);
}

static int on_prepare_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	return config->check ? prober_prepare(arg, 1) : 0;
}

static void on_settle_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	if (config->check)
		prober_settle(arg, 1);
}

static void on_server_changed(void *arg, struct server *s)
{
	struct prober *p = arg;
	struct target *t = target_of(s);

	if (t == NULL) {
		on_server_added(p, s);
	} else if (target_is_wanted(s)) {
		if (target_change(t))
			spread_soon(p);
	} else {
		drop(p, t);
		if (!s->healthy || s->stopping)
			server_updates_set_health(p->updates, s, true, "not checked any more");
	}
}

static void on_backend_changed(void *arg, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		on_server_changed(arg, b->servers[i]);
}

static void on_server_leaves(void *arg, struct server *s)
{
	struct target *t = target_of(s);

	if (t != NULL)
		drop(arg, t);
}

/* One in maintenance is up as soon as it leaves that (HAProxy's srv_update_status()). */
static void on_admin_set(void *arg, struct server *s)
{
	struct prober *p = arg;
	struct target *t = target_of(s);

	if (t != NULL)
		target_take_admin(t);
	if (server_admin_now(s) == SERVER_ADMIN_MAINT && (!s->healthy || s->stopping))
		server_updates_set_health(p->updates, s, true, "in maintenance");
}

static void on_health_set(void *arg, struct server *s)
{
	struct prober *p = arg;
	struct target *t = target_of(s);

	if (t != NULL)
		target_take_health(t);
	else if (!s->healthy && s->backend->on_marked_down == CONFIG_MARKED_DOWN_CLOSE)
		engine_close_sessions(p->engine, s);
}

/* The rosters without these servers are in effect: new clients no longer choose them. */
static void close_sessions(void *arg)
{
	struct prober *p = arg;

	if (!p->close)
		return;
	p->close = false;
	for (const struct list *l = p->targets.next; l != &p->targets; l = l->next) {
		if (at(l)->close)
			engine_close_sessions(p->engine, at(l)->server);
		at(l)->close = false;
	}
}

void prober_take_news(struct prober *p)
{
	if (p->observed == 0)
		return;
	for (const struct list *l = p->targets.next; l != &p->targets; l = l->next)
		target_take_news(at(l));
}

/* ---- programs ---- */

int prober_prepare_execs(struct prober *p, unsigned limit)
{
	return exec_runner_prepare(&p->execs, limit);
}

void prober_commit_execs(struct prober *p)
{
	exec_runner_commit(&p->execs);
}

void prober_undo_execs(struct prober *p)
{
	exec_runner_undo(&p->execs);
}

void prober_set_exec_files(struct prober *p, const struct rlimit *files)
{
	p->execs.files = *files;
}

void prober_drain(struct prober *p)
{
	p->draining = true; /* a check in progress ends by itself */
}

/* ---- life ---- */

static int add_all(struct prober *p)
{
	size_t count = 0;
	int err;

	server_updates_foreach(p->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			count += target_is_wanted(b->servers[i]);
	err = prober_prepare(p, count);
	if (err)
		return err;
	server_updates_foreach(p->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			if (target_is_wanted(b->servers[i]))
				add(p, b->servers[i]);
	prober_settle(p, count);
	return 0;
}

struct prober *prober_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err)
{
	struct prober *p = calloc(1, sizeof(*p));
	struct rlimit files = {0};

	*err = -ENOMEM;
	if (p == NULL)
		return NULL;
	p->loop = loop;
	p->engine = e;
	p->updates = u;
	list_init(&p->targets);
	list_init(&p->spares);
	for (size_t i = 0; i < ARRAY_LEN(p->places); i++)
		list_init(&p->places[i]);
	probe_gate_init(&p->gate);
	(void)getrlimit(RLIMIT_NOFILE, &files); /* fails only for a wrong argument */
	exec_runner_init(&p->execs, loop, &files);
	ev_init(&p->spread, on_spread_due);
	p->spread.data = p;
	p->observer = (struct server_observer){
		.admin_set = on_admin_set,
		.health_set = on_health_set,
		.prepare_add = on_prepare_add,
		.settle_add = on_settle_add,
		.server_added = on_server_added,
		.server_changed = on_server_changed,
		.server_leaves = on_server_leaves,
		.backend_changed = on_backend_changed,
		.in_force = close_sessions,
		.arg = p,
	};
	server_updates_observe(u, &p->observer);
	*err = add_all(p);
	if (*err) {
		prober_free(p);
		return NULL;
	}
	spread(p);
	return p;
}

void prober_free(struct prober *p)
{
	if (p == NULL)
		return;
	server_updates_unobserve(&p->observer);
	ev_timer_stop(p->loop, &p->spread);
	while (!list_empty(&p->targets)) {
		struct target *t = at(p->targets.next);

		target_end(t);
		list_remove(&t->link);
		free(t);
	}
	exec_runner_free(&p->execs);
	p->reserved = 0;
	p->count = 0;
	trim(p);
	unclaim(p);
	free(p);
}
