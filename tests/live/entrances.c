/* SPDX-License-Identifier: MIT
 *
 * entrances.c - random changes of frontends and endpoints.
 *
 * Owns the places. Main thread.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/net/netset.h"

#define UNIX_PLACES (TRAFFIC_PLACES / 3)
#define BINDS_MAX 3u
#define PORTS 64u /* of a place */

static struct entries *entries(void)
{
	return &objects.rig->engine.entries;
}

/* ---- frontends ---- */

static struct live_frontend *some_frontend(bool may_be_kept)
{
	for (unsigned tries = 0; tries < 4 * OBJECTS_FRONTENDS; tries++) {
		struct live_frontend *f = &objects.frontends[objects_draw(OBJECTS_FRONTENDS)];

		if (f->live != NULL && (may_be_kept || !f->kept))
			return f;
	}
	return may_be_kept ? &objects.frontends[0] : NULL;
}

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

static void draw_frontend(struct live_frontend *f)
{
	struct config_frontend *c = &f->config;

	c->timeouts.client_ns = (600 + objects_draw(3)) * NS_PER_SEC;
	c->tcp.nodelay = objects_draw(2) == 0;
	c->tcp.keepalive_idle_s = 60 + (int)objects_draw(3);
	c->maxconn = objects_draw(3) == 0 ? 200 + objects_draw(200) : 0;
	c->maxconn_per_source = objects_draw(3) == 0 ? 3000 : 0;
	c->deny = objects_draw(3) == 0 ? objects.elsewhere.set : NULL;
	c->deny_list = c->deny != NULL ? list_of(&objects.elsewhere) : (struct config_networks){0};
	f->to = objects_backend(true);
	draw_routes(f);
}

static struct entry_wish wish_of(const struct live_frontend *f, struct backend **routes)
{
	for (unsigned i = 0; i < f->config.route_count; i++)
		routes[i] = f->routes_to[i]->live;
	return (struct entry_wish){.config = &f->config, .backend = f->to->live, .routes = routes};
}

/* A structure that points into itself. */
static void put(struct live_frontend *to, const struct live_frontend *from)
{
	*to = *from;
	to->config.routes = to->routes;
	for (unsigned i = 0; i < OBJECTS_ROUTES; i++)
		to->routes[i].ports = &to->ports[i];
}

static bool change_to(struct live_frontend *f, const struct live_frontend *as, bool undo)
{
	struct backend *routes[OBJECTS_ROUTES];
	const struct entry_wish wish = wish_of(as, routes);
	struct entry_change change;

	if (entries_prepare_change(entries(), f->live, &wish, &change) != 0)
		return false;
	if (undo) {
		entries_undo_change(entries(), &change);
		return true;
	}
	entries_commit_change(entries(), &change);
	put(f, as);
	return true;
}

bool objects_change_frontend(void)
{
	struct live_frontend *f = some_frontend(true);
	struct live_frontend as;

	put(&as, f);
	draw_frontend(&as);
	return change_to(f, &as, objects_draw(10) == 0);
}

void objects_rotate_frontend(unsigned i)
{
	struct live_frontend *f = &objects.frontends[0];
	struct live_frontend as;

	put(&as, f);
	as.config = objects.rig->config->frontends[0];
	as.config.timeouts.client_ns += i * NS_PER_SEC;
	as.to = &objects.backends[0];
	check(change_to(f, &as, false));
}

bool objects_lead_away(const struct live_backend *b)
{
	for (unsigned i = 0; i < OBJECTS_FRONTENDS; i++) {
		struct live_frontend *f = &objects.frontends[i];
		struct live_frontend as;
		bool leads = f->live != NULL && f->to == b;

		for (unsigned k = 0; f->live != NULL && k < f->config.route_count; k++)
			leads |= f->routes_to[k] == b;
		if (!leads)
			continue;
		put(&as, f);
		as.to = &objects.backends[0];
		as.config.route_count = 0;
		if (!change_to(f, &as, false))
			return false;
	}
	return true;
}

/* ---- places ---- */

static struct live_place *some_place(enum place_state state)
{
	const unsigned from = objects_draw(TRAFFIC_PLACES);

	for (unsigned i = 0; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[(from + i) % TRAFFIC_PLACES];

		if (p->state == state && p != &objects.places[0])
			return p;
	}
	return NULL;
}

/* The same address as before, or another port. */
static void bind_of(struct live_place *p)
{
	const unsigned number = (unsigned)(p - objects.places);
	char text[128];

	if (p->config.addr.kind != ADDR_NONE && (addr_is_unix(&p->config.addr.addr) || objects_draw(2) == 0))
		return;
	if (number >= TRAFFIC_PLACES - UNIX_PLACES)
		(void)snprintf(text, sizeof(text), "unix:%s/in%u", objects.folder, number); /* both fit */
	else
		(void)snprintf(text, sizeof(text), "%s:%u", objects.host,
			       20000 + number * PORTS + objects_draw(PORTS));
	p->config = objects.rig->config->frontends[0].binds[0];
	check(addr_parse(text, &p->config.addr, NULL, NULL) == 0);
	(void)snprintf(p->config.name, sizeof(p->config.name), "p%u", number); /* fits */
}

static void comes(struct live_place *p, struct endpoint *ep, struct live_frontend *f)
{
	/* Memory of one that has gone may be used again. */
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++)
		if (objects.places[i].live == ep)
			objects.places[i].live = NULL;
	p->live = ep;
	p->frontend = f;
	p->state = PLACE_OPEN;
	traffic_open_place((unsigned)(p - objects.places), &ep->addr);
}

static void leaves(struct live_place *p)
{
	traffic_leave_place((unsigned)(p - objects.places));
	p->state = PLACE_LEAVING;
}

bool objects_add_endpoint(void)
{
	struct live_frontend *f = some_frontend(true);
	struct live_place *p = some_place(PLACE_FREE);
	struct entry_error error;
	struct endpoint *ep;

	if (p == NULL)
		return false;
	bind_of(p);
	ep = entries_prepare_endpoint(entries(), f->live, &p->config, &error);
	if (ep == NULL) {
		fprintf(stderr, "cannot make an endpoint: %s\n", strerror(-error.err));
		abort();
	}
	if (objects_draw(10) == 0) {
		entries_undo_endpoint(entries(), ep);
		return true;
	}
	entries_commit_endpoint(entries(), ep);
	comes(p, ep, f);
	return true;
}

bool objects_leave_endpoint(void)
{
	struct live_place *p = some_place(PLACE_OPEN);

	if (p == NULL)
		return false;
	leaves(p);
	entries_leave(entries(), p->live, clock_mono_ns());
	return true;
}

/* Only of a frontend that stays. */
bool objects_stay_endpoint(void)
{
	struct live_place *p = some_place(PLACE_LEAVING);

	if (p == NULL || p->frontend == NULL || p->live == NULL)
		return false;
	if (entries_stay(entries(), p->live) != 0)
		return false;
	p->state = PLACE_OPEN;
	traffic_stay_place((unsigned)(p - objects.places));
	return true;
}

static bool is_there(const struct list *frontends, const struct endpoint *ep)
{
	for (const struct list *l = frontends->next; l != frontends; l = l->next) {
		const struct frontend *fe = list_entry(l, struct frontend, link);

		frontend_foreach_endpoint(fe, other)
			if (other == ep)
				return ep->stage != ENDPOINT_CLOSED;
	}
	return false;
}

static bool is_anywhere(const struct endpoint *ep)
{
	return ep != NULL && (is_there(&entries()->frontends, ep) || is_there(&entries()->leaving, ep));
}

void objects_look_at_places(void)
{
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[i];

		if (p->state != PLACE_LEAVING || is_anywhere(p->live))
			continue;
		p->state = PLACE_FREE;
		p->live = NULL;
	}
}

/* ---- frontends come and go ---- */

bool objects_add_frontend(void)
{
	struct live_frontend *f = objects.frontends;
	struct live_place *places[BINDS_MAX];
	struct config_bind binds[BINDS_MAX];
	struct backend *routes[OBJECTS_ROUTES];
	struct entry_error error;
	struct entry_wish wish;
	unsigned count = 0;

	while (f < objects.frontends + OBJECTS_FRONTENDS && f->live != NULL)
		f++;
	if (f == objects.frontends + OBJECTS_FRONTENDS)
		return false;
	*f = (struct live_frontend){.config = objects.rig->config->frontends[0]};
	(void)snprintf(f->config.name, sizeof(f->config.name), "f%u", ++objects.names); /* fits */
	draw_frontend(f);
	for (unsigned wanted = objects_draw(BINDS_MAX + 1); count < wanted; count++) {
		struct live_place *p = places[count] = some_place(PLACE_FREE);

		if (p == NULL)
			break;
		bind_of(p);
		binds[count] = p->config;
		p->state = PLACE_OPEN;
	}
	f->config.binds = binds;
	f->config.bind_count = count;
	wish = wish_of(f, routes);
	f->live = entries_prepare_frontend(entries(), &wish, &error);
	for (unsigned i = 0; i < count; i++)
		places[i]->state = PLACE_FREE;
	if (f->live == NULL) {
		fprintf(stderr, "cannot make a frontend: %s\n", strerror(-error.err));
		abort();
	}
	if (objects_draw(10) == 0) {
		entries_undo_frontend(entries(), f->live);
		f->live = NULL;
		return true;
	}
	entries_commit_frontend(entries(), f->live);
	count = 0;
	frontend_foreach_endpoint(f->live, ep)
		comes(places[count++], ep, f);
	return true;
}

static void remove_frontend(struct live_frontend *f)
{
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[i];

		if (p->frontend != f)
			continue;
		p->frontend = NULL;
		if (p->state == PLACE_OPEN)
			leaves(p);
	}
	entries_remove_frontend(entries(), f->live, clock_mono_ns());
	f->live = NULL;
}

bool objects_remove_frontend(void)
{
	struct live_frontend *f = some_frontend(false);

	if (f == NULL)
		return false;
	remove_frontend(f);
	return true;
}

/* ---- the beginning and the end ---- */

static void make_network(struct live_network *n, const char *text)
{
	const char *why;

	check(net_prefix_parse(text, &n->prefix, &why) == 0);
	n->set = netset_new(&n->prefix, 1);
	check(n->set != NULL);
}

void objects_end(void)
{
	netset_free(objects.loopback.set);
	netset_free(objects.elsewhere.set);
}

void objects_begin(void)
{
	struct live_frontend *f = &objects.frontends[0];

	make_network(&objects.loopback, "127.0.0.0/8");
	make_network(&objects.elsewhere, "10.0.0.0/8");
	f->live = list_entry(entries()->frontends.next, struct frontend, link);
	f->config = objects.rig->config->frontends[0];
	f->to = &objects.backends[0];
	f->kept = true;
	objects.places[0].config = f->config.binds[0];
	comes(&objects.places[0], list_entry(f->live->endpoints.next, struct endpoint, link), f);
}

void objects_leave_all(void)
{
	for (unsigned i = 1; i < OBJECTS_FRONTENDS; i++)
		if (objects.frontends[i].live != NULL)
			remove_frontend(&objects.frontends[i]);
	for (unsigned i = 1; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[i];

		if (p->state != PLACE_OPEN)
			continue;
		leaves(p);
		entries_leave(entries(), p->live, clock_mono_ns());
	}
}
