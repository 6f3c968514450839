/* SPDX-License-Identifier: MIT
 *
 * changes.c - random changes of backends and global settings, all kinds by lot, and the way back.
 *
 * Owns the list of what is there. Main thread.
 */
#include "changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "objects.h"
#include "traffic.h"
#include "weir/balance/live_change.h"
#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/same.h"
#include "weir/engine/engine_settings.h"

#define RETIRED_MAX 300u

struct objects objects;

static const char *const kinds[] = {
#define CHANGE(name, function) #name,
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

void objects_will_commit(void)
{
	if (objects.is_strict)
		memory_fail_all();
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

/* ---- backends ---- */

void objects_draw_tcp(struct config_tcp *c)
{
	c->nodelay = objects_draw(2) == 0;
	c->keepalive = objects_draw(2) == 0;
	c->keepalive_idle_s = 60 + (int)objects_draw(3);
	c->notsent_lowat = objects_draw(3) * 65536;
	c->user_timeout_ms = (int)objects_draw(3) * 60000;
	c->dscp = (int)objects_draw(3) * 8;
}

void objects_draw_backend(struct config_backend *c)
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
	objects_draw_tcp(&c->tcp);
}

static enum change_result change_backend(void)
{
	struct live_backend *b = objects_backend(true);
	struct config_backend config = b->config;
	struct backend_settings *v;
	int err;

	objects_draw_backend(&config);
	v = backend_prepare_change(b->live, &config, &err);
	if (v == NULL)
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		backend_undo_change(v);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	backend_commit_change(objects_updates(), v);
	b->config = config;
	return CHANGE_MADE;
}

static struct live_backend *free_backend(void)
{
	for (unsigned i = 0; i < OBJECTS_BACKENDS; i++)
		if (objects.backends[i].live == NULL)
			return &objects.backends[i];
	return NULL;
}

static enum change_result add_backend(void)
{
	struct engine *e = &objects.rig->engine;
	struct live_backend *b = free_backend();
	struct backend *live;
	int err;

	if (b == NULL)
		return CHANGE_IMPOSSIBLE;
	b->config = objects.rig->config->backends[0];
	(void)snprintf(b->config.name, sizeof(b->config.name), "b%u", ++objects.names); /* fits */
	objects_draw_backend(&b->config);
	b->count = 1 + objects_draw(4);
	for (unsigned i = 0; i < b->count; i++)
		objects_new_server(&b->configs[i], i == 0);
	b->config.servers = b->configs;
	b->config.server_count = b->count;
	if (engine_prepare_backend(e, 1) != 0)
		return CHANGE_REFUSED;
	live = backend_prepare(&e->live, &b->config, &err);
	if (live == NULL)
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		backend_undo_add(live);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	backend_commit_add(objects_updates(), live);
	engine_add_backend(e, live);
	for (unsigned i = 0; i < b->count; i++)
		b->servers[i] = live->servers[i];
	b->live = live;
	return CHANGE_MADE;
}

static enum change_result drop_backend(struct live_backend *b, bool undo)
{
	if (!objects_prepare_lead_away(b))
		return CHANGE_REFUSED;
	if (backend_prepare_remove(b->live) != 0) {
		objects_undo_lead_away();
		return CHANGE_REFUSED;
	}
	if (undo) {
		backend_undo_remove(b->live);
		objects_undo_lead_away();
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	objects_commit_lead_away();
	engine_drop_backend(&objects.rig->engine, b->live);
	backend_remove(objects_updates(), b->live);
	b->live = NULL;
	b->count = 0;
	return CHANGE_MADE;
}

static enum change_result remove_backend(void)
{
	struct live_backend *b = objects_backend(false);

	return b != NULL ? drop_backend(b, objects_draw(10) == 0) : CHANGE_IMPOSSIBLE;
}

/* ---- of all ---- */

static enum change_result change_engine(void)
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
		engine_set_process_rate(e, objects_draw(2) * 5000);
		break;
	}
	return CHANGE_MADE;
}

/* The objects that are always there, with one of a few settings. */
static bool rotate_to(unsigned i)
{
	static struct frontend_step step;
	struct live_backend *b = &objects.backends[0];
	const struct config *base = objects.rig->config;
	struct config_backend back = base->backends[0];
	struct config_server server = base->backends[0].servers[0];
	struct backend_settings *bv;
	struct server_settings *sv;
	int err;

	back.timeouts.server_ns += (i % CHANGES_ROTATION) * NS_PER_SEC;
	server.weight = 1 + i % CHANGES_ROTATION;
	objects_plan_rotation(&step, i % CHANGES_ROTATION);
	bv = backend_prepare_change(b->live, &back, &err);
	sv = bv != NULL ? server_prepare_change(b->servers[0], &server, &err) : NULL;
	if (sv == NULL || !objects_prepare(&step)) {
		if (sv != NULL)
			server_undo_change(sv);
		if (bv != NULL)
			backend_undo_change(bv);
		return false;
	}
	objects_will_commit();
	objects_commit(&step);
	server_commit_change(objects_updates(), sv);
	backend_commit_change(objects_updates(), bv);
	b->config = back;
	b->configs[0] = server;
	return true;
}

void changes_rotate(unsigned i)
{
	check(rotate_to(i));
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

static enum change_result rotate(void)
{
	return rotate_to(objects_draw(CHANGES_ROTATION)) ? CHANGE_MADE : CHANGE_REFUSED;
}

static enum change_result (*const makers[])(void) = {
#define CHANGE(name, function) function,
#include "changes.tbl.h"
#undef CHANGE
};

enum change_result objects_change(unsigned kind)
{
	return makers[kind]();
}

void changes_make(void)
{
	enum change_result result;
	unsigned kind;

	/* Control waits for nothing, but a test that outruns the workers only fills memory. */
	if (!rig_settle(objects.rig, RETIRED_MAX, 60 * NS_PER_SEC)) {
		fprintf(stderr, "%zu things wait to be freed\n", rig_count_leaving(objects.rig));
		abort();
	}
	objects_look_at_places();
	do {
		kind = objects_draw(ARRAY_LEN(makers));
		result = makers[kind]();
	} while (result == CHANGE_IMPOSSIBLE);
	if (result == CHANGE_REFUSED) {
		fprintf(stderr, "refused: %s\n", kinds[kind]);
		abort();
	}
	made[kind]++;
	objects_check();
}

unsigned changes_kinds(void)
{
	return ARRAY_LEN(kinds);
}

const char *changes_name(unsigned kind)
{
	return kinds[kind];
}

void changes_add_server(void)
{
	struct live_backend *b = &objects.backends[0];
	struct config_server config;
	struct server *s;
	int err;

	objects_new_server(&config, true);
	s = server_prepare(b->live, &config, &err);
	check(s != NULL);
	server_commit_add(objects_updates(), s);
	objects_note_added(b, s, &config);
}

void changes_remove_server(void)
{
	struct live_backend *b = &objects.backends[0];

	check(b->count > 1);
	check(server_prepare_remove(b->servers[b->count - 1]) == 0);
	server_remove(objects_updates(), b->servers[--b->count]);
}

/* ---- what is noted, and what is there ---- */

static void check_backend(const struct live_backend *b)
{
	const struct engine *e = &objects.rig->engine;
	bool found = false;

	for (size_t i = 0; i < e->backend_count; i++)
		found |= e->backends[i] == b->live;
	check(found);
	check(config_backend_same(b->live->config, &b->config));
	check(backend_settings(b->live)->config == b->live->config);
	objects_check_servers(b);
}

void objects_check(void)
{
	size_t count = 0;

	for (unsigned i = 0; i < OBJECTS_BACKENDS; i++)
		if (objects.backends[i].live != NULL) {
			check_backend(&objects.backends[i]);
			count++;
		}
	check(objects.rig->engine.backend_count == count);
	objects_check_entrances();
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
	const struct mark nobody = {0};
	struct engine *e = &objects.rig->engine;

	objects_leave_all();
	changes_rotate(0);
	check(run_time_set_addr(objects_updates(), objects.backends[0].servers[0], NULL, &nobody) == 0);
	for (unsigned i = 0; i < OBJECTS_BACKENDS; i++) {
		struct live_backend *b = &objects.backends[i];

		if (b->live != NULL && !b->kept)
			check(drop_backend(b, false) == CHANGE_MADE);
	}
	while (objects.backends[0].count > 1)
		changes_remove_server();
	engine_set_maxconn(e, 4000);
	engine_set_splice(e, objects.rig->config->global.splice);
	engine_set_pipe_cycle(e, objects.rig->config->global.pipe_cycle_ns);
	engine_set_rate_limit(e, objects.frontends[0].live, 0);
	engine_set_process_rate(e, 0);
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
