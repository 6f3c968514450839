/* SPDX-License-Identifier: MIT
 *
 * steps.c - random changes of frontends, each in its steps: planned, prepared, and committed or undone.
 *
 * Owns those that lead away from a backend. Main thread.
 */
#include "objects.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/entry/entries.h"

static struct entries *entries(void)
{
	return &objects.rig->engine.entries;
}

/* ---- what a frontend is to be ---- */

static struct config_networks list_of(struct live_network *n)
{
	return (struct config_networks){&n->prefix, 1};
}

static void draw_routes(struct live_frontend *f)
{
	f->config.routes = f->routes;
	f->config.route_count = objects_draw(OBJECTS_ROUTES + 1);
	for (unsigned i = 0; i < f->config.route_count; i++) {
		struct config_route *r = &f->routes[i];
		const uint16_t first = (uint16_t)(1 + objects_draw(4) * 15000);

		*r = (struct config_route){.ports = &f->ports[i], .port_count = 1};
		f->ports[i] = (struct config_ports){.first = first, .last = (uint16_t)(first + 16000)};
		if (objects_draw(2) == 0) {
			r->src = objects.loopback.set;
			r->src_list = list_of(&objects.loopback);
		}
		f->routes_to[i] = objects_backend(true);
	}
}

void objects_draw_frontend(struct live_frontend *f)
{
	struct config_frontend *c = &f->config;

	c->timeouts.client_ns = (600 + objects_draw(3)) * NS_PER_SEC;
	objects_draw_tcp(&c->tcp);
	c->maxconn = objects_draw(3) == 0 ? 200 + objects_draw(200) : 0;
	c->maxconn_per_source = objects_draw(3) == 0 ? 3000 : 0;
	c->source_rate = (struct config_source_rate){0};
	if (objects_draw(3) == 0)
		c->source_rate = (struct config_source_rate){1000000, 1000000, NS_PER_SEC};
	c->deny = objects_draw(3) == 0 ? objects.elsewhere.set : NULL;
	c->deny_list = c->deny != NULL ? list_of(&objects.elsewhere) : (struct config_networks){0};
	f->to = objects_backend(true);
	draw_routes(f);
}

struct entry_wish objects_wish(const struct live_frontend *f, struct backend **routes)
{
	for (unsigned i = 0; i < f->config.route_count; i++)
		routes[i] = f->routes_to[i]->live;
	return (struct entry_wish){.config = &f->config, .backend = f->to->live, .routes = routes};
}

/* A structure that points into itself. */
void objects_copy_frontend(struct live_frontend *to, const struct live_frontend *from)
{
	*to = *from;
	to->config.routes = to->routes;
	for (unsigned i = 0; i < OBJECTS_ROUTES; i++)
		to->routes[i].ports = &to->ports[i];
}

/* ---- its steps ---- */

static struct live_place *place_of(const struct endpoint *ep)
{
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++)
		if (objects.places[i].live == ep)
			return &objects.places[i];
	return NULL;
}

/* Sockets keep their queues: only what is read later could notice. */
static void draw_binds(struct frontend_step *s)
{
	size_t n = 0;

	frontend_foreach_endpoint(s->of->live, ep) {
		if (ep->stage != ENDPOINT_OPEN)
			continue;
		s->binds[n] = place_of(ep)->config;
		s->binds[n].backlog = (int)objects_draw(3) * 1024;
		s->bind_list[n] = &s->binds[n];
		n++;
	}
}

static void note_binds(const struct frontend_step *s)
{
	size_t n = 0;

	frontend_foreach_endpoint(s->of->live, ep)
		if (ep->stage == ENDPOINT_OPEN)
			place_of(ep)->config = s->binds[n++];
}

bool objects_prepare(struct frontend_step *s)
{
	struct backend *routes[OBJECTS_ROUTES];
	struct entry_wish wish = objects_wish(&s->as, routes);

	if (s->has_binds)
		wish.binds = s->bind_list;
	return entries_prepare_change(entries(), s->of->live, &wish, &s->change) == 0;
}

void objects_commit(struct frontend_step *s)
{
	entries_commit_change(entries(), &s->change);
	if (s->has_binds)
		note_binds(s);
	objects_copy_frontend(s->of, &s->as);
}

void objects_undo(struct frontend_step *s)
{
	entries_undo_change(entries(), &s->change);
}

/* ---- plans ---- */

void objects_plan_change(struct frontend_step *s, struct live_frontend *f)
{
	s->of = f;
	objects_copy_frontend(&s->as, f);
	objects_draw_frontend(&s->as);
	s->has_binds = objects_draw(2) == 0;
	if (s->has_binds)
		draw_binds(s);
}

void objects_plan_rotation(struct frontend_step *s, unsigned i)
{
	s->of = &objects.frontends[0];
	s->has_binds = false;
	objects_copy_frontend(&s->as, s->of);
	s->as.config = objects.rig->config->frontends[0];
	s->as.config.timeouts.client_ns += i * NS_PER_SEC;
	s->as.to = &objects.backends[0];
}

/* ---- away from a backend ---- */

static struct frontend_step away[OBJECTS_FRONTENDS];
static unsigned away_count;

static bool leads(const struct live_frontend *f, const struct live_backend *b)
{
	bool found = f->live != NULL && f->to == b;

	for (unsigned i = 0; f->live != NULL && i < f->config.route_count; i++)
		found |= f->routes_to[i] == b;
	return found;
}

bool objects_prepare_lead_away(const struct live_backend *b)
{
	away_count = 0;
	for (unsigned i = 0; i < OBJECTS_FRONTENDS; i++) {
		struct frontend_step *s = &away[away_count];

		if (!leads(&objects.frontends[i], b))
			continue;
		s->of = &objects.frontends[i];
		s->has_binds = false;
		objects_copy_frontend(&s->as, s->of);
		s->as.to = &objects.backends[0];
		s->as.config.route_count = 0;
		if (!objects_prepare(s)) {
			objects_undo_lead_away();
			return false;
		}
		away_count++;
	}
	return true;
}

void objects_commit_lead_away(void)
{
	for (unsigned i = 0; i < away_count; i++)
		objects_commit(&away[i]);
	away_count = 0;
}

void objects_undo_lead_away(void)
{
	while (away_count > 0)
		objects_undo(&away[--away_count]);
}
