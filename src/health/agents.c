/* SPDX-License-Identifier: MIT
 *
 * agents.c - agent checks: which servers have an agent, as they come, change and go.
 *
 * Owns one agent per server that has one, and memory for those of prepared changes. Main thread.
 */
#include "weir/health/agents.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/sys/low_fds.h"
#include "agent.h"

static struct agent *at(const struct list *link)
{
	return list_entry(link, struct agent, link);
}

/* ---- memory ---- */

static void trim(struct agents *p)
{
	for (; p->spare_count > p->reserved; p->spare_count--) {
		struct agent *a = at(p->spares.next);

		list_remove(&a->link);
		free(a);
	}
}

static int take_spares(struct agents *p, size_t count)
{
	while (p->spare_count < p->reserved + count) {
		struct agent *a = calloc(1, sizeof(*a));

		if (a == NULL) {
			trim(p);
			return -ENOMEM;
		}
		list_push_back(&p->spares, &a->link);
		p->spare_count++;
	}
	p->reserved += count;
	return 0;
}

/* No more descriptors are needed than there are agents, now and after the changes. */
static void unclaim(struct agents *p)
{
	const size_t needed = p->count + p->reserved;

	if (p->claimed <= needed)
		return;
	low_fds_unclaim((unsigned)(p->claimed - needed));
	p->claimed = needed;
}

int agents_prepare(struct agents *p, size_t count)
{
	int err = low_fds_claim((unsigned)count);

	if (err)
		return err;
	err = take_spares(p, count);
	if (err)
		low_fds_unclaim((unsigned)count);
	else
		p->claimed += count;
	return err;
}

void agents_settle(struct agents *p, size_t count)
{
	check(count <= p->reserved);
	p->reserved -= count;
	trim(p);
	unclaim(p);
}

/* ---- servers come, change and go ---- */

static void add(struct agents *p, struct server *s)
{
	struct agent *a = at(p->spares.next);

	check(!list_empty(&p->spares)); /* agents_prepare() comes first */
	list_remove(&a->link);
	p->spare_count--;
	agent_init(a, p, s);
	list_push_back(&p->list, &a->link);
	p->count++;
}

static void drop(struct agents *p, struct agent *a, bool server_stays)
{
	if (a->close)
		engine_close_sessions(p->engine, a->server);
	agent_end(a, server_stays);
	list_remove(&a->link);
	free(a);
	p->count--;
	unclaim(p);
}

static void on_server_added(void *arg, struct server *s)
{
	if (agent_is_wanted(s))
		add(arg, s);
}

static void on_server_changed(void *arg, struct server *s)
{
	struct agent *a = agent_of(s);

	if (a == NULL)
		on_server_added(arg, s);
	else if (agent_is_wanted(s))
		agent_change(a);
	else
		drop(arg, a, true);
}

static void on_backend_changed(void *arg, struct backend *b)
{
	for (size_t i = 0; i < b->server_count; i++)
		on_server_changed(arg, b->servers[i]);
}

static void on_server_leaves(void *arg, struct server *s)
{
	struct agent *a = agent_of(s);

	if (a != NULL)
		drop(arg, a, false);
}

static int on_prepare_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	return config->check_agent.port != 0 ? agents_prepare(arg, 1) : 0;
}

static void on_settle_add(void *arg, const struct backend *b, const struct config_server *config)
{
	(void)b;
	if (config->check_agent.port != 0)
		agents_settle(arg, 1);
}

static void on_agent_down(void *arg, struct server *s)
{
	struct agent *a = agent_of(s);

	(void)arg;
	if (a != NULL)
		agent_went_down(a);
}

/* The rosters without these servers are in effect: new clients no longer choose them. */
static void close_sessions(void *arg)
{
	struct agents *p = arg;

	if (!p->close)
		return;
	p->close = false;
	for (const struct list *l = p->list.next; l != &p->list; l = l->next) {
		if (at(l)->close)
			engine_close_sessions(p->engine, at(l)->server);
		at(l)->close = false;
	}
}

void agents_drain(struct agents *p)
{
	p->draining = true; /* a question in progress ends by itself */
}

/* ---- life ---- */

static int add_all(struct agents *p)
{
	size_t count = 0;
	int err;

	server_updates_foreach(p->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			count += agent_is_wanted(b->servers[i]);
	err = agents_prepare(p, count);
	if (err)
		return err;
	server_updates_foreach(p->updates, b)
		for (size_t i = 0; i < b->server_count; i++)
			on_server_added(p, b->servers[i]);
	agents_settle(p, count);
	return 0;
}

struct agents *agents_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err)
{
	struct agents *p = calloc(1, sizeof(*p));

	*err = -ENOMEM;
	if (p == NULL)
		return NULL;
	p->loop = loop;
	p->engine = e;
	p->updates = u;
	list_init(&p->list);
	list_init(&p->spares);
	p->observer = (struct server_observer){
		.agent_down = on_agent_down,
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
		agents_free(p);
		return NULL;
	}
	return p;
}

void agents_free(struct agents *p)
{
	if (p == NULL)
		return;
	server_updates_unobserve(&p->observer);
	while (!list_empty(&p->list)) {
		struct agent *a = at(p->list.next);

		agent_end(a, false);
		list_remove(&a->link);
		free(a);
	}
	p->reserved = 0;
	p->count = 0;
	trim(p);
	unclaim(p);
	free(p);
}
