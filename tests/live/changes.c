/* SPDX-License-Identifier: MIT
 *
 * changes.c - random changes of servers, backends and global settings, and the way back.
 *
 * Owns the list of what is there. Main thread.
 */
#include "changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "echo.h"
#include "objects.h"
#include "traffic.h"
#include "weir/balance/live_change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine_settings.h"

#define RETIRED_MAX 300u

struct objects objects;

static const char *const kinds[] = {
#define CHANGE(name) #name,
#include "changes.tbl.h"
#undef CHANGE
};
static unsigned long made[ARRAY_LEN(kinds)];

unsigned objects_draw(unsigned below)
{
	uint64_t x = objects.random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned)((x ^ (x >> 31)) % below);
}

static struct server_updates *updates(void)
{
	return &objects.rig->updates.updates;
}

struct live_backend *objects_backend(bool may_be_kept)
{
	for (unsigned tries = 0; tries < 4 * OBJECTS_BACKENDS; tries++) {
		struct live_backend *b = &objects.backends[objects_draw(OBJECTS_BACKENDS)];

		if (b->live != NULL && (may_be_kept || !b->kept))
			return b;
	}
	return may_be_kept ? &objects.backends[0] : NULL;
}

/* ---- servers ---- */

static void draw_server(struct config_server *c, bool is_first)
{
	const struct addr *a = echo_addr(objects_draw(ECHO_SERVERS));

	c->addr.addr = *a;
	c->addr.kind = addr_is_unix(a) ? ADDR_UNIX : ADDR_IP;
	c->addr.port = addr_port(a);
	c->weight = is_first ? 1 + objects_draw(4) : objects_draw(5);
	c->maxconn = is_first || objects_draw(3) > 0 ? 0 : 1 + objects_draw(8);
	c->maxqueue = 0;
	c->slowstart_ns = objects_draw(8) == 0 ? NS_PER_SEC : 0;
}

static void new_server(struct config_server *c, bool is_first)
{
	*c = objects.rig->config->backends[0].servers[0];
	(void)snprintf(c->name, sizeof(c->name), "s%u", ++objects.names); /* fits */
	draw_server(c, is_first);
}

static bool add_server(void)
{
	struct live_backend *b = objects_backend(true);
	struct config_server config;
	struct server *s;
	int err;

	if (b->count == OBJECTS_SERVERS)
		return false;
	new_server(&config, false);
	s = server_prepare(b->live, &config, &err);
	if (s == NULL)
		return false;
	if (objects_draw(10) == 0) {
		server_undo_add(s);
		return true;
	}
	server_commit_add(updates(), s);
	b->servers[b->count] = s;
	b->configs[b->count++] = config;
	return true;
}

static bool change_server(void)
{
	struct live_backend *b = objects_backend(true);
	const unsigned i = objects_draw(b->count);
	struct config_server config = b->configs[i];
	struct server_settings *v;
	int err;

	draw_server(&config, i == 0);
	v = server_prepare_change(b->servers[i], &config, &err);
	if (v == NULL)
		return false;
	if (objects_draw(10) == 0) {
		server_undo_change(v);
		return true;
	}
	server_commit_change(updates(), v);
	b->configs[i] = config;
	return true;
}

static bool remove_server(void)
{
	struct live_backend *b = objects_backend(true);
	unsigned i;

	if (b->count < 2)
		return false;
	i = 1 + objects_draw(b->count - 1);
	if (server_prepare_remove(b->servers[i]) != 0)
		return false;
	if (objects_draw(10) == 0) {
		server_undo_remove(b->servers[i]);
		return true;
	}
	server_remove(updates(), b->servers[i]);
	b->count--;
	memmove(&b->servers[i], &b->servers[i + 1], (b->count - i) * sizeof(b->servers[0]));
	memmove(&b->configs[i], &b->configs[i + 1], (b->count - i) * sizeof(b->configs[0]));
	return true;
}

static bool command_server(void)
{
	struct live_backend *b = objects_backend(true);
	struct server *s;
	unsigned i;

	if (b->count < 2)
		return false;
	i = 1 + objects_draw(b->count - 1);
	s = b->servers[i];
	switch (objects_draw(4)) {
	case 0:
		server_updates_set_health(updates(), s, objects_draw(2) == 0, "drawn by lot");
		return true;
	case 1:
		return server_updates_set_weight(updates(), s, objects_draw(5), "drawn by lot") == 0;
	case 2:
		return server_updates_set_maxconn(updates(), s, objects_draw(8), "drawn by lot") == 0;
	default:
		return server_updates_set_admin(updates(), s, (enum server_admin)objects_draw(3),
						"drawn by lot") == 0;
	}
}

/* ---- backends ---- */

static void draw_tcp(struct config_tcp *c)
{
	c->nodelay = objects_draw(2) == 0;
	c->keepalive = objects_draw(2) == 0;
	c->keepalive_idle_s = 60 + (int)objects_draw(3);
	c->notsent_lowat = objects_draw(3) * 65536;
	c->user_timeout_ms = (int)objects_draw(3) * 60000;
	c->dscp = (int)objects_draw(3) * 8;
}

static void draw_backend(struct config_backend *c)
{
	c->balance.algorithm = (enum config_balance)objects_draw(CONFIG_BALANCE_MAGLEV + 1);
	c->balance.draws = 2;
	c->balance.hash = (enum config_hash)objects_draw(2);
	c->balance.hash_key = (enum config_hash_key)objects_draw(2);
	c->retries = 3 + objects_draw(3);
	c->redispatch = true;
	c->timeouts.server_ns = (600 + objects_draw(4)) * NS_PER_SEC;
	c->timeouts.queue_ns = 600 * NS_PER_SEC;
	c->timeouts.connect_ns = (60 + objects_draw(4)) * NS_PER_SEC;
	draw_tcp(&c->tcp);
}

static bool change_backend(void)
{
	struct live_backend *b = objects_backend(true);
	struct config_backend config = b->config;
	struct backend_settings *v;
	int err;

	draw_backend(&config);
	v = backend_prepare_change(b->live, &config, &err);
	if (v == NULL)
		return false;
	if (objects_draw(10) == 0) {
		backend_undo_change(v);
		return true;
	}
	backend_commit_change(updates(), v);
	b->config = config;
	return true;
}

static bool add_backend(void)
{
	struct engine *e = &objects.rig->engine;
	struct live_backend *b = objects.backends;
	struct backend *live;
	unsigned i;
	int err;

	while (b < objects.backends + OBJECTS_BACKENDS && b->live != NULL)
		b++;
	if (b == objects.backends + OBJECTS_BACKENDS)
		return false;
	b->config = objects.rig->config->backends[0];
	(void)snprintf(b->config.name, sizeof(b->config.name), "b%u", ++objects.names); /* fits */
	draw_backend(&b->config);
	b->count = 1 + objects_draw(4);
	for (i = 0; i < b->count; i++)
		new_server(&b->configs[i], i == 0);
	b->config.servers = b->configs;
	b->config.server_count = b->count;
	if (engine_prepare_backend(e, 1) != 0)
		return false;
	live = backend_prepare(&e->live, &b->config, &err);
	if (live == NULL)
		return false;
	if (objects_draw(10) == 0) {
		backend_undo_add(live);
		return true;
	}
	backend_commit_add(updates(), live);
	engine_add_backend(e, live);
	for (i = 0; i < b->count; i++)
		b->servers[i] = live->servers[i];
	b->live = live;
	return true;
}

static bool drop_backend(struct live_backend *b)
{
	if (!objects_lead_away(b))
		return false;
	if (backend_prepare_remove(b->live) != 0)
		return false;
	engine_drop_backend(&objects.rig->engine, b->live);
	backend_remove(updates(), b->live);
	b->live = NULL;
	b->count = 0;
	return true;
}

static bool remove_backend(void)
{
	struct live_backend *b = objects_backend(false);

	return b != NULL && drop_backend(b);
}

/* ---- of all ---- */

static bool change_engine(void)
{
	struct engine *e = &objects.rig->engine;

	switch (objects_draw(4)) {
	case 0:
		engine_set_maxconn(e, 1000 + objects_draw(3000));
		break;
	case 1:
		engine_set_splice(e, (enum config_splice)objects_draw(3));
		break;
	case 2:
		engine_set_pipe_cycle(e, (100 + objects_draw(3)) * NS_PER_MS);
		break;
	default:
		engine_set_rate_limit(e, objects.frontends[0].live, objects_draw(2) * 5000);
		break;
	}
	return true;
}

/* The objects that are always there, with one of a few settings. */
void changes_rotate(unsigned i)
{
	struct live_backend *b = &objects.backends[0];
	const struct config *base = objects.rig->config;
	struct config_backend back = base->backends[0];
	struct config_server server = base->backends[0].servers[0];
	struct backend_settings *bv;
	struct server_settings *sv;
	int err;

	back.timeouts.server_ns += (i % CHANGES_ROTATION) * NS_PER_SEC;
	server.weight = 1 + i % CHANGES_ROTATION;
	bv = backend_prepare_change(b->live, &back, &err);
	check(bv != NULL);
	sv = server_prepare_change(b->servers[0], &server, &err);
	check(sv != NULL);
	objects_rotate_frontend(i % CHANGES_ROTATION);
	server_commit_change(updates(), sv);
	backend_commit_change(updates(), bv);
	b->config = back;
	b->configs[0] = server;
}

static unsigned count_list(const struct list *list)
{
	unsigned n = 0;

	for (const struct list *l = list->next; l != list; l = l->next)
		n++;
	return n;
}

struct changes_versions changes_count_versions(void)
{
	return (struct changes_versions){
		.frontend = count_list(&objects.frontends[0].live->versions),
		.endpoint = count_list(&objects.places[0].live->versions),
		.backend = count_list(&objects.backends[0].live->versions),
		.server = count_list(&objects.backends[0].servers[0]->versions),
	};
}

static bool rotate(void)
{
	changes_rotate(objects_draw(CHANGES_ROTATION));
	return true;
}

static bool add_frontend(void)
{
	return objects_add_frontend();
}

static bool change_frontend(void)
{
	return objects_change_frontend();
}

static bool remove_frontend(void)
{
	return objects_remove_frontend();
}

static bool add_endpoint(void)
{
	return objects_add_endpoint();
}

static bool leave_endpoint(void)
{
	return objects_leave_endpoint();
}

static bool stay_endpoint(void)
{
	return objects_stay_endpoint();
}

static bool (*const makers[])(void) = {
#define CHANGE(name) name,
#include "changes.tbl.h"
#undef CHANGE
};

void changes_make(void)
{
	unsigned kind;

	/* Control waits for nothing, but a test that outruns the workers only fills memory. */
	if (!rig_settle(objects.rig, RETIRED_MAX, 60 * NS_PER_SEC)) {
		fprintf(stderr, "%zu things wait to be freed\n", rig_count_leaving(objects.rig));
		abort();
	}
	objects_look_at_places();
	do
		kind = objects_draw(ARRAY_LEN(makers));
	while (!makers[kind]());
	made[kind]++;
}

void changes_add_server(void)
{
	struct live_backend *b = &objects.backends[0];
	struct config_server config;
	struct server *s;
	int err;

	new_server(&config, true);
	s = server_prepare(b->live, &config, &err);
	check(s != NULL);
	server_commit_add(updates(), s);
	b->servers[b->count] = s;
	b->configs[b->count++] = config;
}

void changes_remove_server(void)
{
	struct live_backend *b = &objects.backends[0];

	check(b->count > 1);
	check(server_prepare_remove(b->servers[b->count - 1]) == 0);
	server_remove(updates(), b->servers[--b->count]);
}

/* ---- the beginning and the end ---- */

void changes_begin(struct rig *r, uint64_t seed, const char *folder, const char *host)
{
	struct live_backend *b = &objects.backends[0];

	memset(&objects, 0, sizeof(objects));
	objects.rig = r;
	objects.random = seed;
	objects.folder = folder;
	objects.host = host;
	b->live = r->engine.backends[0];
	b->config = r->config->backends[0];
	b->kept = true;
	b->servers[0] = b->live->servers[0];
	b->configs[0] = b->config.servers[0];
	b->count = 1;
	objects_begin();
}

void changes_take_back(void)
{
	struct engine *e = &objects.rig->engine;

	objects_leave_all();
	changes_rotate(0);
	for (unsigned i = 0; i < OBJECTS_BACKENDS; i++) {
		struct live_backend *b = &objects.backends[i];

		if (b->live != NULL && !b->kept)
			check(drop_backend(b));
	}
	while (objects.backends[0].count > 1)
		changes_remove_server();
	engine_set_maxconn(e, 4000);
	engine_set_splice(e, objects.rig->config->global.splice);
	engine_set_pipe_cycle(e, objects.rig->config->global.pipe_cycle_ns);
	engine_set_rate_limit(e, objects.frontends[0].live, 0);
}

void changes_look_at_places(void)
{
	objects_look_at_places();
}

void changes_end(void)
{
	objects_end();
}

void changes_print(void)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		printf("%s%s %lu", i == 0 ? "changes: " : ", ", kinds[i], made[i]);
	printf("\n");
}
