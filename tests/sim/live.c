/* SPDX-License-Identifier: MIT
 *
 * live.c - servers, backends, frontends and endpoints come, change and go, one at a time.
 *
 * Owns the variants that settings take in rotation. One thread. Tests only.
 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cover.h"
#include "live_log.h"
#include "model.h"
#include "peers.h"
#include "rig.h"
#include "rig_config.h"
#include "weir/balance/fallback.h"
#include "weir/balance/live_change.h"
#include "weir/base/clock.h"

#define LIVE_UNDONE 15 /* percent of what is prepared */

static struct live_changes {
	struct server_updates *updates;
	unsigned names; /* given so far */
} changes;

struct server_updates *live_updates(void)
{
	return changes.updates;
}

static bool is_undone(void)
{
	return prng_chance(&model.rng, LIVE_UNDONE);
}

static void prepared(const void *what, int err)
{
	if (what == NULL || err)
		sim_fail("a change cannot be prepared: %d", err);
}

bool live_is_rough(void)
{
	return sim_seed % 4 == 3;
}

void live_name(char *name, char kind)
{
	(void)snprintf(name, CONFIG_NAME_MAX, "%c%u", kind, changes.names++ % 1000); /* fits */
}

static struct entries *entries(void)
{
	return &rig.engine.entries;
}

struct backend *live_some_backend(void)
{
	return rig.engine.backends[prng_below(&model.rng, (uint32_t)rig.engine.backend_count)];
}

struct frontend *live_some_frontend(void)
{
	uint32_t left = 0;

	entries_foreach_frontend(entries(), fe)
		left++;
	left = prng_below(&model.rng, left);
	entries_foreach_frontend(entries(), fe) {
		if (left-- == 0)
			return fe;
	}
	sim_fail("there is no frontend");
}

static void check_zero(const struct chunks *table, uint32_t slot)
{
	const unsigned char *entry = chunks_at(table, slot);

	for (size_t i = 0; i < table->size; i++)
		if (entry[i] != 0)
			sim_fail("a worker keeps something under number %u, which is free", slot);
}

/* Workers have cleared all that they kept of who had its number before. */
void live_check_new(uint32_t slot)
{
	for (unsigned i = 0; i < rig.worker_count; i++) {
		const struct worker *w = rig.engine.workers[i];

		check_zero(&w->tallies, slot);
		check_zero(&w->line_limits, slot);
		check_zero(&w->pickers, slot);
		check_zero(&w->marks, slot);
	}
}

/* ---- servers ---- */

static void add_server(struct backend *b)
{
	struct config_server config;
	struct server *s;
	int err;

	memset(&config, 0, sizeof(config));
	rig_make_server(&config, prng_below(&model.rng, 20));
	live_name(config.name, 's');
	s = server_prepare(b, &config, &err);
	prepared(s, err);
	live_check_new(s->slot);
	if (is_undone()) {
		server_undo_add(s);
		return;
	}
	server_commit_add(changes.updates, s);
	cover(COVER_LIVE_SERVER_CAME);
}

static void remove_server(struct server *s)
{
	if (server_prepare_remove(s) != 0)
		sim_fail("a server cannot leave");
	if (is_undone()) {
		server_undo_remove(s);
		return;
	}
	if (atomic_load(&s->sessions) > 0)
		cover(s->backend->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE
			      ? COVER_LIVE_SERVER_CLOSED
			      : COVER_LIVE_SERVER_IN_USE);
	server_remove(changes.updates, s);
	cover(COVER_LIVE_SERVER_WENT);
}

/* A few variants, so that one that lives is found again. */
static void vary_server(struct server *s)
{
	struct config_server config = *s->config;
	const uint32_t variant = prng_below(&model.rng, 3);
	struct server_settings *v;
	int err;

	config.weight = 1 + variant;
	if (!addr_is_unix(&config.addr.addr))
		config.addr.addr.in.sin_port = htons((uint16_t)(2000 + variant));
	v = server_prepare_change(s, &config, &err);
	prepared(v, err);
	if (is_undone()) {
		server_undo_change(v);
		return;
	}
	server_commit_change(changes.updates, v);
	cover(COVER_LIVE_SERVER_CHANGED);
}

void live_change_server(void)
{
	struct backend *b = live_some_backend();
	const uint32_t dice = prng_below(&model.rng, 3);
	const size_t least = live_is_rough() ? 1 : 2;

	if (b->server_count == 0 || (dice == 0 && b->server_count < LIVE_SERVERS))
		add_server(b);
	else if (dice == 1 && b->server_count >= least)
		remove_server(b->servers[prng_below(&model.rng, (uint32_t)b->server_count)]);
	else
		vary_server(b->servers[prng_below(&model.rng, (uint32_t)b->server_count)]);
}

/* ---- frontends ---- */

static struct entry_wish wish_of(const struct config_frontend *config, struct backend *b)
{
	return (struct entry_wish){.config = config, .backend = b};
}

/* What a change keeps of it, but for its backend. */
static void lead_to(struct frontend *fe, struct backend *b, bool may_undo)
{
	struct config_frontend config = *fe->config;
	const struct entry_wish wish = wish_of(&config, b);
	struct entry_change change;

	config.maxconn = may_undo ? prng_below(&model.rng, 3) * 2 : config.maxconn;
	if (entries_prepare_change(entries(), fe, &wish, &change) != 0)
		sim_fail("a frontend cannot change");
	if (may_undo && is_undone()) {
		entries_undo_change(entries(), &change);
		return;
	}
	for (size_t i = 0; i < change.count; i++)
		if (change.entries[i]->retired.stage != RETIRE_NONE)
			cover(COVER_LIVE_VERSION_AGAIN);
	entries_commit_change(entries(), &change);
	cover(COVER_LIVE_FRONTEND_CHANGED);
}

static unsigned count_frontends(void)
{
	unsigned n = 0;

	entries_foreach_frontend(entries(), fe)
		n++;
	return n;
}

static void add_frontend(void)
{
	struct config_frontend config = *live_some_frontend()->config; /* without binds */
	struct config_bind binds[2];
	const struct entry_wish wish = wish_of(&config, live_some_backend());
	struct entry_error error;
	struct frontend *fe;

	memset(binds, 0, sizeof(binds));
	config.binds = binds;
	config.bind_count = prng_range(&model.rng, 1, 2);
	for (size_t i = 0; i < config.bind_count; i++)
		rig_make_bind(&binds[i]);
	live_name(config.name, 'f');
	fe = entries_prepare_frontend(entries(), &wish, &error);
	prepared(fe, error.err);
	live_check_new(fe->slot);
	if (is_undone()) {
		entries_undo_frontend(entries(), fe);
		return;
	}
	entries_commit_frontend(entries(), fe);
	cover(COVER_LIVE_FRONTEND_CAME);
}

static void remove_frontend(struct frontend *fe)
{
	if (atomic_load(&fe->sessions) > 0 && fe->config->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE)
		cover(COVER_LIVE_FRONTEND_CLOSED);
	entries_remove_frontend(entries(), fe, model.now_ns);
	cover(COVER_LIVE_FRONTEND_WENT);
}

void live_change_frontend(void)
{
	const uint32_t dice = prng_below(&model.rng, 3);

	if (dice == 0 && count_frontends() < LIVE_FRONTENDS && entries()->endpoint_count < LIVE_ENDPOINTS) {
		add_frontend();
	} else if (dice == 1 && count_frontends() > 1) {
		remove_frontend(live_some_frontend());
	} else {
		lead_to(live_some_frontend(), live_some_backend(), true);
	}
}

/* ---- endpoints ---- */

static struct endpoint *some_endpoint(struct frontend *fe)
{
	uint32_t left = 0;

	frontend_foreach_endpoint(fe, ep)
		left++;
	if (left == 0)
		return NULL;
	left = prng_below(&model.rng, left);
	frontend_foreach_endpoint(fe, ep) {
		if (left-- == 0)
			return ep;
	}
	return NULL;
}

static void add_endpoint(struct frontend *fe)
{
	struct entry_error error;
	struct config_bind bind;
	struct endpoint *ep;

	memset(&bind, 0, sizeof(bind));
	rig_make_bind(&bind);
	ep = entries_prepare_endpoint(entries(), fe, NULL, &bind, NULL, &error);
	prepared(ep, error.err);
	if (is_undone()) {
		entries_undo_endpoint(entries(), ep);
		return;
	}
	entries_commit_endpoint(entries(), ep);
	cover(COVER_LIVE_ENDPOINT_CAME);
}

static void stay(struct endpoint *ep)
{
	/* A process that drains closes it, or another endpoint has it. */
	const int wanted = endpoint_has_socket(ep) && !entries()->ending ? 0 : -EBADF;
	const enum endpoint_stage stage = ep->stage;
	const int err = entries_stay(entries(), ep);

	if (err == -ENOBUFS)
		return; /* it leaves on */
	cover(stage == ENDPOINT_DEAF ? COVER_LIVE_STAYS_DEAF : COVER_LIVE_STAYS_LEAVING);
	if (err != wanted)
		sim_fail("an endpoint cannot stay");
}

void live_change_endpoint(void)
{
	struct frontend *fe = live_some_frontend();
	struct endpoint *ep = some_endpoint(fe);

	if (ep == NULL || (prng_chance(&model.rng, 30) && entries()->endpoint_count < LIVE_ENDPOINTS)) {
		add_endpoint(fe);
	} else if (ep->stage == ENDPOINT_OPEN) {
		entries_leave(entries(), ep, model.now_ns);
		cover(COVER_LIVE_ENDPOINT_LEFT);
	} else if (ep->stage != ENDPOINT_CLOSED) {
		stay(ep);
	}
}

/* ---- backends ---- */

static void add_backend(void)
{
	struct config_backend config = *rig.engine.backends[0]->config;
	struct config_server servers[2];
	struct backend *b;
	int err;

	memset(servers, 0, sizeof(servers));
	config.servers = servers;
	config.server_count = prng_range(&model.rng, 1, 2);
	for (size_t i = 0; i < config.server_count; i++) {
		rig_make_server(&servers[i], prng_below(&model.rng, 20));
		live_name(servers[i].name, 's');
	}
	live_name(config.name, 'b');
	if (engine_prepare_backend(&rig.engine, 1) != 0)
		sim_fail("there is no room for a backend");
	b = backend_prepare(&rig.engine.live, &config, &err);
	prepared(b, err);
	live_check_new(b->slot);
	if (is_undone()) {
		backend_undo_add(b);
		return;
	}
	backend_commit_add(changes.updates, b);
	engine_add_backend(&rig.engine, b);
	lead_to(live_some_frontend(), b, false);
	cover(COVER_LIVE_BACKEND_CAME);
}

static void vary_backend(struct backend *b)
{
	static const enum config_balance algorithms[] = {CONFIG_BALANCE_ROUNDROBIN, CONFIG_BALANCE_LEASTCONN,
							 CONFIG_BALANCE_FIRST};
	struct config_backend config = *b->config;
	struct backend_settings *v;
	int err;

	config.balance.algorithm = algorithms[prng_below(&model.rng, 3)];
	v = backend_prepare_change(b, &config, &err);
	prepared(v, err);
	if (is_undone()) {
		backend_undo_change(v);
		return;
	}
	if (v->version.retired.stage != RETIRE_NONE)
		cover(COVER_LIVE_VERSION_AGAIN);
	backend_commit_change(changes.updates, v);
	cover(COVER_LIVE_BACKEND_CHANGED);
}

static void remove_backend(struct backend *b)
{
	struct backend *other = b;

	while (other == b)
		other = live_some_backend();
	if (backend_prepare_remove(b) != 0)
		sim_fail("a backend cannot leave");
	if (is_undone()) {
		backend_undo_remove(b);
		return;
	}
	entries_foreach_frontend(entries(), fe) {
		if (fe->settings->backend == b)
			lead_to(fe, other, false);
	}
	if (b->config->timeouts.on_removed == CONFIG_ON_REMOVED_CLOSE)
		cover(COVER_LIVE_BACKEND_CLOSED);
	engine_drop_backend(&rig.engine, b);
	/* As a reload does: nothing leads to a backend that was removed. */
	for (size_t i = 0; i < rig.engine.backend_count; i++)
		if (backend_fallback(rig.engine.backends[i]) == b)
			backend_set_fallback(rig.engine.backends[i], NULL);
	backend_set_fallback(b, NULL);
	backend_remove(changes.updates, b);
	cover(COVER_LIVE_BACKEND_WENT);
}

void live_change_backend(void)
{
	const uint32_t dice = prng_below(&model.rng, 3);

	if (dice == 0 && rig.engine.backend_count < LIVE_BACKENDS)
		add_backend();
	else if (dice == 1 && rig.engine.backend_count > 1 && live_is_rough())
		remove_backend(live_some_backend());
	else
		vary_backend(live_some_backend());
}

/* ---- beginning and end ---- */

void live_open(struct server_updates *u)
{
	changes = (struct live_changes){.updates = u};
	if (live_is_rough())
		peers.excuse_all = true;
	live_judge_open();
	live_log_open();
}

static bool hears(const struct endpoint *ep)
{
	return ep->stage == ENDPOINT_OPEN;
}

void live_calm(void)
{
	bool heard = false;

	entries_foreach_frontend(entries(), fe) {
		frontend_foreach_endpoint(fe, ep)
			heard |= hears(ep);
	}
	while (!heard) {
		const unsigned before = entries()->endpoint_count;

		add_endpoint(live_some_frontend());
		heard = entries()->endpoint_count > before;
	}
	for (size_t i = 0; i < rig.engine.backend_count; i++)
		while (rig.engine.backends[i]->server_count == 0)
			add_server(rig.engine.backends[i]);
}

void live_close(void)
{
	live_judge_close();
	live_log_close();
}
