/* SPDX-License-Identifier: MIT
 *
 * live_reload.c - a new configuration takes effect: many changes as one, or none of them.
 *
 * Owns that configuration, which is the one in effect with some of it changed: addresses move from one
 * frontend to another, come back while they leave, or become a wildcard of the same port. It is planned and
 * applied as a reload does it (src/reload). Fails the seed when one that was refused leaves a trace. One
 * thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "cover.h"
#include "live.h"
#include "model.h"
#include "peers.h"
#include "rig.h"
#include "rig_config.h"
#include "weir/balance/tombstone.h"
#include "weir/base/hash.h"
#include "weir/config/same.h"
#include "weir/reload/apply.h"

#define NEXT_BINDS 4 /* of a frontend */
#define NEXT_SPARE 24
#define MOST_VERSIONS 120
#define WHY_MAX 1024

static struct next {
	struct config config;
	struct config_frontend frontends[LIVE_FRONTENDS + RIG_FRONTENDS];
	struct config_bind binds[LIVE_FRONTENDS + RIG_FRONTENDS][NEXT_BINDS];
	struct config_backend backends[LIVE_BACKENDS];
	struct config_server servers[LIVE_BACKENDS][LIVE_SERVERS];
	struct config_bind spare[NEXT_SPARE]; /* addresses that their frontends give up */
	size_t spare_count;
	size_t bind_count; /* of all frontends */
} next;

static bool coin(uint32_t percent)
{
	return prng_chance(&model.rng, percent);
}

static struct entries *entries(void)
{
	return &rig.engine.entries;
}

/* ---- backends ---- */

static void new_server(struct config_backend *b)
{
	struct config_server *s = &b->servers[b->server_count++];

	memset(s, 0, sizeof(*s));
	rig_make_server(s, prng_below(&model.rng, 20));
	live_name(s->name, 's');
}

static void copy_servers(struct config_backend *b, const struct backend *live)
{
	for (size_t i = 0; i < live->server_count && b->server_count < LIVE_SERVERS; i++) {
		struct config_server *s = &b->servers[b->server_count];

		if (coin(live->servers[i]->added ? 50 : 15))
			continue;
		*s = *live->servers[i]->config;
		if (live->servers[i]->moved != NULL && coin(50))
			s->addr.addr = live->servers[i]->moved->addr;
		if (coin(20))
			s->weight = 1 + prng_below(&model.rng, 3);
		b->server_count++;
	}
}

static bool has_line(const struct config_backend *b, const char *name)
{
	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i].name, name) == 0)
			return true;
	return false;
}

/* Most files go on to name what was deleted. */
static void copy_deleted(struct config_backend *b, const struct backend *live)
{
	for (const struct list *l = live->tombstones.next; l != &live->tombstones; l = l->next) {
		const struct config_server *was = tombstone_at(l)->config;

		if (b->server_count == LIVE_SERVERS || coin(20) || has_line(b, was->name))
			continue;
		b->servers[b->server_count] = *was;
		b->servers[b->server_count++].weight += coin(30);
	}
}

static struct config_backend *next_backend(const struct config_backend *like)
{
	const size_t i = next.config.backend_count++;

	next.backends[i] = *like;
	next.backends[i].servers = next.servers[i];
	next.backends[i].server_count = 0;
	return &next.backends[i];
}

static void copy_backend(const struct backend *live)
{
	static const enum config_balance algorithms[] = {CONFIG_BALANCE_ROUNDROBIN, CONFIG_BALANCE_LEASTCONN,
							 CONFIG_BALANCE_FIRST};
	struct config_backend *b = next_backend(live->config);

	if (coin(30))
		b->balance.algorithm = algorithms[prng_below(&model.rng, 3)];
	if (rig_has_sticky() && coin(20)) {
		rig_make_sticky(b);
		if (coin(30))
			b->sticky = (struct config_sticky){.by = CONFIG_STICKY_OFF};
		else
			b->sticky.size += coin(50); /* another table, with the same entries */
	}
	copy_servers(b, live);
	copy_deleted(b, live);
	if (b->server_count == 0 || (b->server_count < LIVE_SERVERS && coin(30)))
		new_server(b);
}

/* A backend leads to one that is written after it, or to none: there are no circles. */
static void write_fallbacks(void)
{
	const size_t count = next.config.backend_count;

	for (size_t i = 0; i < count; i++) {
		struct config_backend *b = &next.backends[i];

		b->fallback_backend = NULL;
		if (!rig_has_fallbacks() || i + 1 == count || coin(20))
			continue;
		b->fallback = i + 1 + prng_below(&model.rng, (uint32_t)(count - i - 1));
		b->fallback_backend = next.backends[b->fallback].name;
	}
}

static void write_backends(void)
{
	const struct engine *e = &rig.engine;

	for (size_t i = 0; i < e->backend_count; i++) {
		const size_t others = next.config.backend_count + e->backend_count - i - 1;

		if (!live_is_rough() || others == 0 || coin(75))
			copy_backend(e->backends[i]);
	}
	if (next.config.backend_count < LIVE_BACKENDS && coin(25)) {
		struct config_backend *b = next_backend(e->backends[0]->config);

		live_name(b->name, 'b');
		new_server(b);
	}
	write_fallbacks();
}

/* ---- addresses ---- */

static bool overlap(const struct config_bind *a, const struct config_bind *b)
{
	if (a->addr.kind != b->addr.kind)
		return false;
	if (a->addr.kind == ADDR_IP)
		return a->addr.port == b->addr.port;
	return addr_equal(&a->addr.addr, &b->addr.addr);
}

static bool is_taken(const struct config_bind *bind)
{
	for (size_t i = 0; i < next.config.frontend_count; i++)
		for (size_t k = 0; k < next.frontends[i].bind_count; k++)
			if (overlap(&next.frontends[i].binds[k], bind))
				return true;
	return false;
}

/* Now and then a wildcard becomes an address, or the other way round. */
static void vary(struct config_bind *bind)
{
	struct in_addr *a = &bind->addr.addr.in.sin_addr;

	if (bind->addr.kind == ADDR_IP && coin(20))
		a->s_addr = a->s_addr == htonl(INADDR_ANY) ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY);
}

static void give(size_t frontend, const struct config_bind *bind)
{
	struct config_frontend *f = &next.frontends[frontend];

	if (f->bind_count == NEXT_BINDS || next.bind_count == LIVE_ENDPOINTS || is_taken(bind))
		return;
	f->binds[f->bind_count] = *bind;
	vary(&f->binds[f->bind_count++]);
	next.bind_count++;
}

static void spare(const struct endpoint *ep)
{
	if (next.spare_count < NEXT_SPARE)
		next.spare[next.spare_count++] = *ep->config;
}

/* A frontend keeps most of its addresses, and takes some back that leave. */
static void copy_binds(size_t frontend, struct frontend *fe)
{
	frontend_foreach_endpoint(fe, ep) {
		if (!endpoint_has_socket(ep))
			continue;
		if (coin(ep->stage == ENDPOINT_OPEN ? 75 : 30))
			give(frontend, ep->config);
		else
			spare(ep);
	}
}

static void spare_all(struct list *frontends)
{
	for (struct list *l = frontends->next; l != frontends; l = l->next) {
		frontend_foreach_endpoint(list_entry(l, struct frontend, link), ep) {
			if (endpoint_has_socket(ep))
				spare(ep);
		}
	}
}

static void give_spare(void)
{
	struct config_bind fresh;

	for (size_t i = 0; i < next.spare_count; i++)
		if (coin(50))
			give(prng_below(&model.rng, (uint32_t)next.config.frontend_count), &next.spare[i]);
	if (coin(70))
		return;
	memset(&fresh, 0, sizeof(fresh));
	rig_make_bind(&fresh);
	give(prng_below(&model.rng, (uint32_t)next.config.frontend_count), &fresh);
}

/* ---- frontends ---- */

/* Where clients of `fe` go; the backend of that name may have gone. */
static size_t backend_for(const struct frontend *fe)
{
	const char *name = fe->settings->backend->config->name;

	for (size_t i = 0; i < next.config.backend_count; i++)
		if (coin(70) && strcmp(next.backends[i].name, name) == 0)
			return i;
	return prng_below(&model.rng, (uint32_t)next.config.backend_count);
}

static size_t next_frontend(const struct frontend *like)
{
	const size_t i = next.config.frontend_count++;

	next.frontends[i] = *like->config;
	next.frontends[i].binds = next.binds[i];
	next.frontends[i].bind_count = 0;
	next.frontends[i].backend = backend_for(like);
	return i;
}

static void spare_binds(struct frontend *fe)
{
	frontend_foreach_endpoint(fe, ep) {
		if (endpoint_has_socket(ep))
			spare(ep);
	}
}

static void write_frontends(void)
{
	size_t i;

	entries_foreach_frontend(entries(), fe) {
		if (next.config.frontend_count > 0 && coin(20)) {
			spare_binds(fe);
			continue;
		}
		i = next_frontend(fe);
		if (coin(30))
			next.frontends[i].maxconn = prng_below(&model.rng, 3) * 2;
		copy_binds(i, fe);
	}
	if (next.config.frontend_count < LIVE_FRONTENDS && coin(30)) {
		i = next_frontend(live_some_frontend());
		live_name(next.frontends[i].name, 'f');
	}
	spare_all(&entries()->leaving);
	give_spare();
}

static void write_next(void)
{
	memset(&next, 0, sizeof(next));
	next.config.backends = next.backends;
	next.config.frontends = next.frontends;
	write_backends();
	write_frontends();
}

/* ---- what is met ---- */

static void note_taken(const struct plan_frontend *p, const struct plan_bind *b)
{
	struct endpoint *from = b->from;

	if (from->frontend != p->live)
		cover(COVER_RELOAD_TAKEN);
	if (mfile_get(from->fd)->listener->count > 0)
		cover(COVER_RELOAD_TAKEN_QUEUED);
	if (from->stage == ENDPOINT_DEAF)
		cover(COVER_RELOAD_TAKEN_DEAF);
	if (from->stage == ENDPOINT_LEAVING)
		cover(COVER_RELOAD_TAKEN_LEFT);
	if (atomic_load_explicit(&from->from, memory_order_relaxed) != NULL)
		cover(COVER_RELOAD_TAKEN_AGAIN);
	if (!addr_equal(&from->addr, &b->config->addr.addr))
		cover(COVER_RELOAD_COVERED);
}

static void note_server(const struct plan_server *s)
{
	if (s->adopted)
		cover(COVER_RELOAD_ADOPTED);
	else if (plan_stays_deleted(s))
		cover(COVER_RELOAD_STAYS_DELETED);
	else if (s->what == PLAN_ADDED && s->tombstone != NULL)
		cover(COVER_RELOAD_LINE_CHANGED);
	else if (s->what == PLAN_KEPT && s->config == NULL)
		cover(s->live != NULL ? COVER_RELOAD_ADDED_STAYS : COVER_RELOAD_FORGOTTEN);
}

/* Before it is applied: the endpoints are then others. */
static void note(const struct plan *p)
{
	for (size_t i = 0; i < p->backend_count; i++)
		for (size_t k = 0; k < p->backends[i].server_count; k++)
			note_server(&p->backends[i].servers[k]);
	for (size_t i = 0; i < p->frontend_count; i++)
		for (size_t k = 0; k < p->frontends[i].bind_count; k++) {
			const struct plan_bind *b = &p->frontends[i].binds[k];

			trace("  frontend %zu: bind %d, endpoint %d, from %d", i, (int)b->what,
			      b->live != NULL ? (int)b->live->slot : -1,
			      b->from != NULL ? (int)b->from->slot : -1);
			if (b->from != NULL)
				note_taken(&p->frontends[i], b);
			if (b->what == PLAN_CHANGED && b->live->stage != ENDPOINT_OPEN)
				cover(COVER_RELOAD_STAYS);
		}
}

/* ---- nothing has changed ---- */

static uint64_t add_endpoints(uint64_t sum, const struct list *frontends)
{
	for (const struct list *l = frontends->next; l != frontends; l = l->next) {
		struct frontend *fe = list_entry(l, struct frontend, link);

		sum = hash_add(hash_add(sum, (uintptr_t)fe->settings), fe->own_limit);
		frontend_foreach_endpoint(fe, ep) {
			const bool deaf = ep->fd >= 0 && mfile_get(ep->fd)->listener->deaf;

			sum = hash_add(hash_add(sum, (uintptr_t)ep), (uint64_t)ep->fd);
			sum = hash_add(hash_add(sum, (uint64_t)ep->stage), deaf);
			sum = hash_add(sum, (uintptr_t)endpoint_settings(ep));
			sum = hash_add(sum, (uintptr_t)ep->heir);
		}
	}
	return sum;
}

/* Of all that a reload may change and workers do not. */
static uint64_t picture(void)
{
	const struct live *live = &rig.engine.live;
	uint64_t sum = add_endpoints(1, &entries()->frontends);

	sum = add_endpoints(sum, &entries()->leaving);
	for (size_t i = 0; i < rig.engine.backend_count; i++) {
		const struct backend *b = rig.engine.backends[i];

		sum = hash_add(hash_add(sum, (uintptr_t)b), (uintptr_t)b->config);
		for (size_t k = 0; k < b->server_count; k++)
			sum = hash_add(hash_add(sum, (uintptr_t)b->servers[k]),
				       (uintptr_t)b->servers[k]->config);
	}
	sum = hash_add(hash_add(sum, live->objects.count), live->versions.count);
	sum = hash_add(sum, live->endpoints.count);
	for (int i = 0; i < model.listener_top; i++)
		sum = hash_add(hash_add(sum, model.listeners[i].fds), model.listeners[i].shares);
	return sum;
}

/* ---- servers, as the new configuration says ---- */

static const struct server *find_server(const struct backend *b, const char *name)
{
	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	return NULL;
}

/* Each line has its server, or was deleted. */
static void judge_line(const struct backend *b, const struct config_server *line)
{
	const struct server *s = find_server(b, line->name);
	const struct tombstone *t = tombstone_find(b, line->name);

	if (t != NULL && !config_server_same(t->config, line))
		sim_fail("server %s stays deleted, and its line has changed", line->name);
	if (t == NULL && (s == NULL || s->added || !config_server_same(s->config, line)))
		sim_fail("server %s is not as its line says", line->name);
	if (t != NULL && s != NULL && !s->added)
		sim_fail("server %s was deleted, and is there", line->name);
}

static void judge_backend(const struct backend *b, const struct config_backend *next_b)
{
	for (size_t i = 0; i < next_b->server_count; i++)
		judge_line(b, &next_b->servers[i]);
	for (size_t i = 0; i < b->server_count; i++)
		if (!b->servers[i]->added && !has_line(next_b, b->servers[i]->config->name))
			sim_fail("server %s has no line", b->servers[i]->config->name);
	for (const struct list *l = b->tombstones.next; l != &b->tombstones; l = l->next)
		if (!has_line(next_b, tombstone_at(l)->config->name))
			sim_fail("deleted server %s has no line", tombstone_at(l)->config->name);
}

static void judge_servers(void)
{
	for (size_t i = 0; i < rig.engine.backend_count; i++)
		for (size_t k = 0; k < next.config.backend_count; k++)
			if (strcmp(rig.engine.backends[i]->config->name, next.backends[k].name) == 0)
				judge_backend(rig.engine.backends[i], &next.backends[k]);
}

/* ---- all of it ---- */

static void apply(const struct plan *p)
{
	const struct apply_parts parts = {.engine = &rig.engine, .updates = live_updates()};
	const int listeners = model.listener_top;
	const uint64_t before = picture();
	char why[WHY_MAX];
	const int err = apply_plan(&parts, p, NULL, why, sizeof(why));

	if (!err) {
		cover(COVER_RELOAD_DONE);
		judge_servers();
		return;
	}
	trace("  the new configuration is refused: %s", why);
	cover(err == -EADDRINUSE ? COVER_RELOAD_UNDONE_LISTEN : COVER_RELOAD_UNDONE);
	model.listener_top = listeners; /* what was bound is closed */
	if (picture() != before)
		sim_fail("a new configuration was refused, and something is not as before");
}

void live_reload(void)
{
	const struct plan_input in = {.next = &next.config, .engine = &rig.engine};
	struct plan p;
	char why[WHY_MAX];

	if (peers.no_more)
		return; /* a daemon that stops refuses */
	if (rig.engine.live.versions.count > MOST_VERSIONS)
		return; /* so much is about to leave, for almost a second, that the judge would lose count */
	write_next();
	if (plan_make(&p, &in, why, sizeof(why)) != 0)
		sim_fail("a new configuration cannot be planned: %s", why);
	note(&p);
	apply(&p);
	plan_free(&p);
}
