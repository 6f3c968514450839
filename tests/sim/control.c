/* SPDX-License-Identifier: MIT
 *
 * control.c - the control thread of a rig with several workers.
 *
 * Owns what the daemon's control owns beside the engine: changes of servers that wait for the end of a turn,
 * the ageing of the shared pools, an inquiry, the round of signs of life. One thread. Tests only.
 */
#include "control.h"

#include <string.h>

#include "cover.h"
#include "crowd_sticky.h"
#include "live.h"
#include "live_log.h"
#include "model.h"
#include "peers.h"
#include "rig.h"
#include "weir/balance/outage.h"
#include "weir/balance/run_time.h"
#include "weir/balance/sticky.h"
#include "weir/base/clock.h"
#include "weir/engine/inquiry.h"

static struct control {
	bool told; /* since its last turn */
	bool reads; /* records are left to read */
	bool runs;
	bool acts;
	bool changed_limits;
	bool publishes; /* when this turn ends */
	bool steps; /* in the next turn: clients move to another table */
	int64_t engine_ns; /* when the engine is to be woken; CLOCK_NEVER: when it tells */
	int64_t age_ns; /* CLOCK_NEVER: the shared pools keep nothing */
	uint32_t enabled; /* one bit per action */
	int64_t outage_ns; /* the same of a server that is out */
	struct server_updates updates;
	struct outages outages; /* until control is calm */
	struct inquiry inquiry;
} control;

/* ---- actions ---- */

/* There is one. */
static struct server *some_server(void)
{
	return rig_server(prng_below(&model.rng, rig_server_count()));
}

/* Nobody else says so of a server that is observed. */
static void change_health(void)
{
	struct server *s = some_server();
	const bool up = prng_chance(&model.rng, 50);

	if (s->backend->observe.what == CONFIG_OBSERVE_OFF)
		server_updates_set_health(&control.updates, s, up, "a check");
	cover(COVER_CROWD_ROSTER);
}

/* 0 is all that these can return: there is memory. */
static void changed(int err)
{
	if (err)
		sim_fail("a change of a server fails: %d", err);
	cover(COVER_CROWD_ROSTER);
}

static void change_admin(void)
{
	static const enum server_admin states[] = {SERVER_ADMIN_READY, SERVER_ADMIN_DRAIN,
						   SERVER_ADMIN_MAINT};
	const enum server_admin state = states[prng_below(&model.rng, 3)];

	changed(server_updates_set_admin(&control.updates, some_server(), state, ""));
}

static void change_weight(void)
{
	changed(server_updates_set_weight(&control.updates, some_server(), prng_below(&model.rng, 4), ""));
}

static void change_limit(void)
{
	control.changed_limits = true;
	changed(server_updates_set_maxconn(&control.updates, some_server(), prng_below(&model.rng, 4), ""));
}

/* Who loses its server so is owed nothing. */
static void end_sessions(void)
{
	peers.excuse_all = true;
	if (prng_chance(&model.rng, 50))
		engine_close_sessions(&rig.engine, some_server());
	else
		engine_kill_sessions(&rig.engine, some_server());
	cover(COVER_CROWD_EVICTED);
}

static void pause_accept(void)
{
	engine_pause_accept(&rig.engine, !atomic_load(&rig.engine.is_accept_paused));
}

static void ping(void)
{
	engine_ping(&rig.engine);
}

static void ask(void)
{
	struct inquiry *q = &control.inquiry;

	if (inquiry_is_lent(q)) {
		(void)inquiry_withdraw(&rig.engine, q); /* or it comes back very soon */
		return;
	}
	if (q->over || prng_chance(&model.rng, 20)) {
		q->place = 0;
		q->worker = (q->worker + 1) % rig.worker_count;
	}
	inquiry_ask(&rig.engine, q->worker, q);
	cover(COVER_CROWD_ASKED);
}

static void drain(void)
{
	peers.no_more = true;
	engine_drain(&rig.engine, model.now_ns);
	cover(COVER_CROWD_DRAINED);
}

static void stop(void)
{
	peers.no_more = true;
	peers.stopped = true;
	peers.excuse_all = true;
	engine_stop(&rig.engine);
	cover(COVER_CROWD_STOPPED);
}

/* An action needs a row here; what it changes and must not stay changed, a line in control_calm(). */
static const struct control_action {
	const char *name;
	uint32_t weight;
	void (*act)(void);
	bool wants_server;
} actions[] = {
	{"health", 20, change_health, true},
	{"admin", 20, change_admin, true},
	{"weight", 20, change_weight, true},
	{"limit", 20, change_limit, true},
	{"end sessions", 5, end_sessions, true},
	{"pause accept", 10, pause_accept, false},
	{"ping", 10, ping, false},
	{"ask", 20, ask, false},
	{"change a server", 20, live_change_server, false},
	{"change at run time", 20, live_change_run_time, false},
	{"change a backend", 10, live_change_backend, false},
	{"change a frontend", 10, live_change_frontend, false},
	{"change an endpoint", 20, live_change_endpoint, false},
	{"reload", 20, live_reload, false},
	{"drain", 1, drain, false},
	{"stop", 1, stop, false},
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static uint32_t weight_of(size_t i)
{
	if (!(control.enabled & 1u << i) || (actions[i].wants_server && rig_server_count() == 0))
		return 0;
	return actions[i].weight;
}

static void act(void)
{
	uint32_t sum = 0;
	uint32_t dice;

	for (size_t i = 0; i < ACTIONS; i++)
		sum += weight_of(i);
	dice = prng_below(&model.rng, sum + 50);
	for (size_t i = 0; i < ACTIONS; i++) {
		if (dice < weight_of(i)) {
			trace("control: %s", actions[i].name);
			actions[i].act();
			return;
		}
		dice -= weight_of(i);
	}
}

/* ---- turns ---- */

static void at_end(void *arg)
{
	(void)arg;
	control.publishes = true;
}

/* Not for slow starts, which the configuration has none of, nor without memory. */
static void at(void *arg, int64_t at_ns)
{
	(void)arg;
	(void)at_ns; /* at once */
	server_updates_foreach(&control.updates, b)
		control.steps |= backend_sticky_moves(b);
	if (!control.steps)
		sim_fail("a server's change wants to be looked at later");
}

/* ---- servers that failed connects take out ---- */

static void went_down(void *arg, struct server *s)
{
	(void)arg;
	if (s->owner->usable == 0)
		sim_fail("the last server of a backend has left");
	cover(COVER_CROWD_OUT);
}

static void in_force(void *arg)
{
	(void)arg;
	control.told = true;
}

static void begin_observing(void)
{
	outages_init(&control.outages, &control.updates);
	control.outages.went_down = went_down;
	control.outages.in_force = in_force;
	control.outage_ns = CLOCK_NEVER;
}

static void cover_trial(const struct server *s)
{
	const enum server_trial how = (enum server_trial)atomic_load(&s->trial);

	if (how == SERVER_TRIAL_PASSED)
		cover(COVER_CROWD_TRIAL_PASSED);
	else if (how == SERVER_TRIAL_FAILED)
		cover(COVER_CROWD_TRIAL_FAILED);
	else if (how == SERVER_TRIAL_GIVEN_UP)
		cover(COVER_CROWD_TRIAL_GIVEN_UP);
}

static void settle_outages(void)
{
	if (!control.acts)
		return;
	for (unsigned i = 0; i < rig_server_count(); i++)
		cover_trial(rig_server(i));
	control.outage_ns = outages_settle(&control.outages, model.now_ns);
}

/* Whoever has a trial ends it, and it says nothing any more. */
static void end_observing(void)
{
	if (control.acts)
		outages_free(&control.outages);
	control.acts = false;
	control.outage_ns = CLOCK_NEVER;
}

void control_notify(void *arg)
{
	(void)arg;
	control.told = true;
}

void control_open(void)
{
	const struct server_updates_loop loop = {at_end, at, NULL};

	control = (struct control){.acts = true, .age_ns = CLOCK_NEVER, .engine_ns = CLOCK_NEVER};
	for (size_t i = 0; i < ACTIONS; i++)
		control.enabled |= prng_chance(&model.rng, 30) ? 1u << i : 0;
	server_updates_init(&control.updates, rig.engine.backends, rig.engine.backend_count, &loop);
	inquiry_init(&control.inquiry, false);
	begin_observing();
	live_open(&control.updates);
}

static bool pools_rest(void)
{
	return pipe_pool_idle(&rig.engine.pipes) > 0 || buf_pool_idle(&rig.engine.bufs) > 0;
}

/* As ageing.c does. */
static void age_pools(void)
{
	const int64_t cycle_ns = rig.engine.config->global.pipe_cycle_ns;

	if (control.age_ns <= model.now_ns) {
		const bool pipes = pipe_pool_age(&rig.engine.pipes);
		const bool bufs = buf_pool_age(&rig.engine.bufs);

		control.age_ns = pipes || bufs ? model.now_ns + cycle_ns : CLOCK_NEVER;
	}
	if (control.age_ns == CLOCK_NEVER && pools_rest())
		control.age_ns = model.now_ns + cycle_ns;
}

void control_turn(void)
{
	crowd_sticky_note_control();
	control.runs = true;
	control.told = false;
	control.reads = live_read_records();
	age_pools();
	if (control.acts)
		act();
	settle_outages();
	if (control.steps) {
		control.steps = false;
		server_updates_wake(&control.updates, model.now_ns);
	}
	if (control.publishes) {
		control.publishes = false;
		server_updates_publish(&control.updates);
	}
	control.engine_ns = engine_wake(&rig.engine, model.now_ns);
	control.runs = false;
}

bool control_runs(void)
{
	return control.runs;
}

bool control_is_due(void)
{
	return control.told || control.reads || control.steps || control_wakes_ns() <= model.now_ns;
}

int64_t control_wakes_ns(void)
{
	const int64_t due_ns = control.age_ns < control.engine_ns ? control.age_ns : control.engine_ns;

	return due_ns < control.outage_ns ? due_ns : control.outage_ns;
}

static void restore(struct server *s)
{
	struct server_updates *u = &control.updates;

	server_updates_set_health(u, s, true, "");
	changed(server_updates_set_weight(u, s, s->config->weight, ""));
	changed(server_updates_set_maxconn(u, s, s->config->maxconn, ""));
	changed(server_updates_set_admin(u, s, SERVER_ADMIN_READY, ""));
	changed(run_time_set_addr(u, s, NULL, &(struct mark){0}));
}

void control_calm(void)
{
	end_observing();
	live_calm();
	for (unsigned i = 0; i < rig_server_count(); i++)
		restore(rig_server(i));
	if (atomic_load(&rig.engine.is_accept_paused))
		engine_pause_accept(&rig.engine, false);
	control_turn();
}

bool control_changed_limits(void)
{
	return control.changed_limits;
}

void control_check_rest(void)
{
	unsigned first = 0;

	if (engine_silent_workers(&rig.engine, &first) > 0)
		sim_fail("worker %u gives no sign of life", first);
	if (inquiry_is_lent(&control.inquiry))
		sim_fail("an inquiry does not come back from worker %u", control.inquiry.worker);
	live_check_rest();
	if (pools_rest() && control.age_ns == CLOCK_NEVER)
		sim_fail("the shared pools keep something, and nobody tells control");
}

void control_close(void)
{
	live_close();
	end_observing();
	server_updates_free(&control.updates);
}
