/* SPDX-License-Identifier: MIT
 *
 * entrances.c - random changes of frontends and endpoints.
 *
 * Owns the places. Main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/same.h"
#include "weir/entry/halt.h"
#include "weir/net/netset.h"

#define UNIX_PLACES (TRAFFIC_PLACES / 3)
#define BINDS_MAX 3u
#define PORTS 64u /* of a place */

static struct entries *entries(void)
{
	return &objects.rig->engine.entries;
}

/* ---- frontends ---- */

static bool is_out(const struct live_frontend *f)
{
	return f->live->admin != FRONTEND_ADMIN_READY;
}

/* One that is in service. */
struct live_frontend *objects_frontend(bool may_be_kept)
{
	for (unsigned tries = 0; tries < 4 * OBJECTS_FRONTENDS; tries++) {
		struct live_frontend *f = &objects.frontends[objects_draw(OBJECTS_FRONTENDS)];

		if (f->live != NULL && !is_out(f) && (may_be_kept || !f->kept))
			return f;
	}
	return may_be_kept ? &objects.frontends[0] : NULL;
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

struct live_place *objects_free_place(void)
{
	return some_place(PLACE_FREE);
}

/* The same address as before, or another port. */
void objects_draw_bind(struct live_place *p)
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
	p->config.backlog = (int)objects_draw(3) * 1024;
	check(addr_parse(text, &p->config.addr, NULL, NULL) == 0);
	if (addr_is_unix(&p->config.addr.addr))
		p->config.owner.mode = (const int[]){-1, 0600, 0666}[objects_draw(3)];
	(void)snprintf(p->config.name, sizeof(p->config.name), "p%u", number); /* fits */
}

void objects_note_endpoint(struct live_place *p, struct endpoint *ep, struct live_frontend *f)
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

static enum change_result refused(const struct entry_error *error)
{
	check(error->err < 0);
	return CHANGE_REFUSED;
}

/* When it leaves: in haste, one that is deaf has been so for long enough. */
static int64_t leave_ns(void)
{
	return clock_mono_ns() - (objects.in_haste && objects_draw(4) > 0 ? NS_PER_SEC : 0);
}

enum change_result objects_change_frontend(void)
{
	static struct frontend_step step;

	objects_plan_change(&step, objects_frontend(true));
	if (!objects_prepare(&step))
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		objects_undo(&step);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	objects_commit(&step);
	return CHANGE_MADE;
}

enum change_result objects_add_endpoint(void)
{
	struct live_frontend *f = objects_frontend(true);
	struct live_place *p = some_place(PLACE_FREE);
	struct entry_error error;
	struct endpoint *ep;

	if (p == NULL)
		return CHANGE_IMPOSSIBLE;
	objects_draw_bind(p);
	ep = entries_prepare_endpoint(entries(), f->live, NULL, &p->config, NULL, &error);
	if (ep == NULL)
		return refused(&error);
	if (objects_draw(10) == 0) {
		entries_undo_endpoint(entries(), ep);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	entries_commit_endpoint(entries(), ep);
	objects_note_endpoint(p, ep, f);
	return CHANGE_MADE;
}

enum change_result objects_leave_endpoint(void)
{
	struct live_place *p = some_place(PLACE_OPEN);

	if (p == NULL)
		return CHANGE_IMPOSSIBLE;
	leaves(p);
	entries_leave(entries(), p->live, leave_ns());
	return CHANGE_MADE;
}

/* Only of a frontend that stays. */
enum change_result objects_stay_endpoint(void)
{
	struct live_place *p = some_place(PLACE_LEAVING);

	if (p == NULL || p->frontend == NULL || p->live == NULL || p->live->stage == ENDPOINT_CLOSED)
		return CHANGE_IMPOSSIBLE;
	if (entries_stay(entries(), p->live) != 0)
		return CHANGE_REFUSED;
	p->state = PLACE_OPEN;
	traffic_stay_place((unsigned)(p - objects.places));
	return CHANGE_MADE;
}

/* Its socket goes on with another frontend, or with the same one again; it may be on its way out. */
enum change_result objects_take_over_endpoint(void)
{
	struct live_frontend *f = objects_frontend(true);
	struct live_place *p = some_place(objects_draw(3) > 0 ? PLACE_OPEN : PLACE_LEAVING);
	struct entry_error error;
	struct endpoint *ep;

	if (p == NULL || p->live == NULL || !endpoint_has_socket(p->live))
		return CHANGE_IMPOSSIBLE;
	p->config.backlog = (int)objects_draw(3) * 1024;
	ep = entries_prepare_endpoint(entries(), f->live, NULL, &p->config, p->live, &error);
	if (ep == NULL || objects_draw(10) == 0) {
		p->config.backlog = p->live->config->backlog;
		if (ep == NULL)
			return refused(&error);
		entries_undo_endpoint(entries(), ep);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	entries_commit_endpoint(entries(), ep);
	p->live = ep;
	p->frontend = f;
	if (p->state == PLACE_LEAVING)
		traffic_stay_place((unsigned)(p - objects.places));
	p->state = PLACE_OPEN;
	return CHANGE_MADE;
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

static struct live_frontend *free_frontend(void)
{
	for (unsigned i = 0; i < OBJECTS_FRONTENDS; i++)
		if (objects.frontends[i].live == NULL)
			return &objects.frontends[i];
	return NULL;
}

/* Up to BINDS_MAX places that are free; returns how many. */
static unsigned draw_binds(struct live_place **places, struct config_bind *binds)
{
	const unsigned wanted = objects_draw(BINDS_MAX + 1);
	unsigned count = 0;

	for (; count < wanted; count++) {
		struct live_place *p = places[count] = some_place(PLACE_FREE);

		if (p == NULL)
			break;
		objects_draw_bind(p);
		binds[count] = p->config;
		p->state = PLACE_OPEN;
	}
	for (unsigned i = 0; i < count; i++)
		places[i]->state = PLACE_FREE;
	return count;
}

enum change_result objects_add_frontend(void)
{
	struct live_frontend *f = free_frontend();
	struct live_place *places[BINDS_MAX];
	struct config_bind binds[BINDS_MAX];
	struct backend *routes[OBJECTS_ROUTES];
	struct entry_error error;
	struct entry_wish wish;
	struct frontend *live;
	unsigned n = 0;

	if (f == NULL)
		return CHANGE_IMPOSSIBLE;
	*f = (struct live_frontend){.config = objects.rig->config->frontends[0]};
	(void)snprintf(f->config.name, sizeof(f->config.name), "f%u", ++objects.names); /* fits */
	objects_draw_frontend(f);
	f->config.binds = binds;
	f->config.bind_count = draw_binds(places, binds);
	wish = objects_wish(f, routes);
	live = entries_prepare_frontend(entries(), &wish, &error);
	f->config.binds = NULL;
	f->config.bind_count = 0;
	if (live == NULL)
		return refused(&error);
	if (objects_draw(10) == 0) {
		entries_undo_frontend(entries(), live);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	entries_commit_frontend(entries(), live);
	f->live = live;
	frontend_foreach_endpoint(live, ep)
		objects_note_endpoint(places[n++], ep, f);
	return CHANGE_MADE;
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
		else if (p->state == PLACE_AWAY)
			p->state = PLACE_LEAVING;
	}
	entries_remove_frontend(entries(), f->live, leave_ns());
	f->live = NULL;
}

/* ---- out of service, and back ---- */

static struct live_frontend *halted_frontend(void)
{
	for (unsigned i = 0; i < OBJECTS_FRONTENDS; i++)
		if (objects.frontends[i].live != NULL && is_out(&objects.frontends[i]))
			return &objects.frontends[i];
	return NULL;
}

static void disable(struct live_frontend *f)
{
	const struct mark by = {.wall_ns = 1};

	for (unsigned i = 0; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[i];

		if (p->frontend != f || p->state != PLACE_OPEN)
			continue;
		leaves(p);
		p->state = PLACE_AWAY;
	}
	entries_disable(entries(), f->live, &by, leave_ns());
}

static enum change_result enable(struct live_frontend *f)
{
	const struct unlisten_rights none = {.raise = NULL};
	const struct endpoint *failed;

	if (entries_enable(entries(), f->live, &none, &failed) != 0)
		return CHANGE_REFUSED;
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++) {
		struct live_place *p = &objects.places[i];

		if (p->frontend != f || p->state != PLACE_AWAY)
			continue;
		p->state = PLACE_OPEN;
		traffic_open_place(i, &p->live->addr);
	}
	return CHANGE_MADE;
}

/* One at a time is out. */
enum change_result objects_halt_frontend(void)
{
	struct live_frontend *f = halted_frontend();

	if (f != NULL)
		return enable(f);
	f = objects_frontend(false);
	if (f == NULL)
		return CHANGE_IMPOSSIBLE;
	disable(f);
	return CHANGE_MADE;
}

enum change_result objects_remove_frontend(void)
{
	struct live_frontend *out = objects_draw(2) == 0 ? halted_frontend() : NULL;
	struct live_frontend *f = out != NULL ? out : objects_frontend(false);

	if (f == NULL)
		return CHANGE_IMPOSSIBLE;
	remove_frontend(f);
	return CHANGE_MADE;
}

/* ---- what is noted, and what is there ---- */

static void check_frontend(const struct live_frontend *f)
{
	const struct frontend *fe = f->live;

	check(entries_find(entries(), f->config.name) == fe);
	check(config_frontend_same(fe->config, &f->config));
	check(fe->settings->config == fe->config);
	check(fe->settings->backend == f->to->live);
	for (size_t i = 0; i < f->config.route_count; i++)
		check(fe->settings->routes[i] == f->routes_to[i]->live);
	check(f->config.maxconn_per_source == 0 || fe->sources != NULL);
	check(f->config.source_rate.count == 0 || fe->source_rates != NULL);
}

/* One that has left, or is about to, keeps the settings that it had. */
static void check_place(const struct live_place *p)
{
	const struct endpoint *ep = p->live;
	bool found = false;

	if (p->state != PLACE_OPEN)
		return;
	frontend_foreach_endpoint(p->frontend->live, other)
		found |= other == ep;
	check(found);
	check(ep->stage == ENDPOINT_OPEN);
	check(ep->fd >= 0);
	check(entries_at(entries(), ep->slot) == ep);
	check(config_bind_same(ep->config, &p->config));
	check(ep->settings->front == p->frontend->live->settings);
}

void objects_check_entrances(void)
{
	unsigned noted = 0, there = 0;

	for (unsigned i = 0; i < OBJECTS_FRONTENDS; i++)
		if (objects.frontends[i].live != NULL) {
			check_frontend(&objects.frontends[i]);
			noted++;
		}
	entries_foreach_frontend(entries(), fe)
		there++;
	check(there == noted);
	for (unsigned i = 0; i < TRAFFIC_PLACES; i++)
		check_place(&objects.places[i]);
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
	objects_note_endpoint(&objects.places[0], list_entry(f->live->endpoints.next, struct endpoint, link),
			      f);
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
		entries_leave(entries(), p->live, leave_ns());
	}
}
