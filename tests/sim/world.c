/* SPDX-License-Identifier: MIT
 *
 * world.c - one seed from its beginning to its end.
 *
 * Owns the order: peers and turns in random alternation while faults fire; then faults stop,
 * everybody reads, and within a bounded number of steps all must be over. A world in which nothing
 * moves and nothing is over is a stall, and fails the seed. One thread. Tests only.
 */
#include "world.h"

#include <string.h>

#include "cover.h"
#include "model.h"
#include "peers.h"
#include "rig.h"
#include "weir/base/clock.h"
#include "stream.h"

#define WORLD_LIVE_STEPS 3000

static void preempt(void)
{
	const uint32_t times = prng_range(&model.rng, 1, 3);

	for (uint32_t i = 0; i < times && peers.count > 0; i++)
		peer_act(&peers.all[prng_below(&model.rng, (uint32_t)peers.count)]);
}

/* The daemon may be told to end while all this goes on. */
static void maybe_end(void)
{
	const uint32_t dice = prng_below(&model.rng, 1000);

	if (peers.no_more || dice > 1)
		return;
	peers.no_more = true;
	if (dice == 0) {
		cover(COVER_STOPPED);
		peers.stopped = true;
		peers.excuse_all = true;
		engine_stop(&rig.engine);
	} else {
		cover(COVER_DRAINED);
		engine_drain(&rig.engine, model.now_ns);
	}
}

/* Control has a turn while the daemon ends. Returns when it wants the next one. */
static int64_t turn_control(void)
{
	return peers.no_more ? engine_wake(&rig.engine, model.now_ns) : CLOCK_NEVER;
}

void world_choose_faults(void)
{
	/* Every fourth seed is a kernel without faults, so that mistakes need no excuse there. */
	const bool any = !prng_chance(&model.rng, 25);

	for (int i = 0; i < SITE_COUNT; i++)
		model.active[i] = any && prng_chance(&model.rng, 25);
	if (prng_chance(&model.rng, 50))
		model.active[SITE_PREEMPT] = true;
}

/* A listener is closed with clients in its queue. Only a stop that does not wait may do that. */
static void on_lost(const struct mlistener *l)
{
	if (l->deaf && !l->failed && !peers.stopped)
		sim_fail("an endpoint closes, and %u clients wait there", l->count);
}

static void open_world(uint64_t seed, const struct world_options *options)
{
	model_reset(seed);
	model.auto_wire = false;
	peers_reset();
	world_choose_faults();
	model.on_connect = peers_on_connect;
	model.strict = true;
	rig_open(&(struct rig_options){.driver = options->driver, .splice = options->splice, .workers = 1});
	model.on_excuse = peers_on_excuse;
	model.on_preempt = preempt;
	model.on_lost = on_lost;
	model.faults = true;
	for (uint32_t n = prng_range(&model.rng, 1, PEERS_CLIENTS); n > 0; n--)
		(void)peer_new(true); /* there is room */
	stream_set_head(rig.header, (uint32_t)peers.count);
}

void world_set_patience(const struct io_driver *driver)
{
	peers.patience_turns = driver == &io_epoll_driver ? 12 : 60;
	/* The ring hears of a watch for errors only when that has lasted for some milliseconds. */
	peers.patience_ns = strcmp(driver->name, "io_uring") == 0 ? 25 * NS_PER_MS : 0;
}

static void wild_phase(void)
{
	struct prng *r = &model.rng;
	const uint32_t steps = prng_range(r, 10, 150);

	world_set_patience(rig.worker->loop.driver);
	for (uint32_t i = 0; i < steps; i++) {
		for (uint32_t n = prng_below(r, 8); n > 0; n--)
			peer_act(&peers.all[prng_below(r, (uint32_t)peers.count)]);
		rig_turn();
		(void)turn_control();
		judge_promises();
		judge_resets();
		maybe_end();
		model.now_ns += prng_range(r, 1000, 100000);
		model.sleep_max_ns = prng_chance(r, 10) ? WORLD_PATIENCE_NS : 0;
	}
}

static bool is_over(void)
{
	for (int i = 0; i < peers.count; i++) {
		const struct peer *p = &peers.all[i];

		if (p->client && !p->closed && (p->connected || !peers.no_more))
			return false;
		if (!p->client && p->connected && !p->closed)
			return false;
	}
	return rig.worker->sessions == 0 && model.listeners[0].count == 0;
}

bool world_waits_for_black_hole(void)
{
	for (int i = 0; i < peers.count; i++)
		if (peers.all[i].black_hole && peers.all[i].s->peer->state == SOCK_CONNECTING)
			return true;
	return false;
}

/* Nothing moves but by a timer of the program: let it sleep until then, which must help. */
static void wait_for_timer(void)
{
	if (model.sleep_max_ns > 0 && model.waited_ns != 0) {
		judge_all();
		sim_fail("stall: %u sessions are left, nothing moves, and no timer will help",
			 rig.worker->sessions);
	}
	model.sleep_max_ns = world_waits_for_black_hole() ? 2 * rig.connect_timeout_ns : WORLD_PATIENCE_NS;
}

/* Nothing moves: goes on to when control wants a turn, or some timer. */
static void wait_for_control(int64_t control_ns)
{
	if (control_ns == CLOCK_NEVER) {
		wait_for_timer();
		return;
	}
	if (control_ns > model.now_ns)
		model.now_ns = control_ns;
	(void)model_look_at_alarms(); /* the next one plays no part */
	model.sleep_max_ns = 0;
}

static void live_phase(void)
{
	int64_t control_ns = CLOCK_NEVER;

	model.faults = false;
	model.sleep_max_ns = 0;
	peers.live = true;
	for (int i = 0; i < WORLD_LIVE_STEPS; i++) {
		const int64_t before_ns = control_ns;
		bool moved = false;

		for (int k = 0; k < peers.count; k++)
			moved |= peer_push(&peers.all[k]);
		rig_turn();
		control_ns = turn_control();
		if (is_over())
			return;
		moved |= control_ns != before_ns; /* it may have told the worker something */
		if (!moved && model.idle)
			wait_for_control(control_ns);
		else
			model.sleep_max_ns = 0;
	}
	sim_fail("after %d steps without faults %u sessions are left", WORLD_LIVE_STEPS,
		 rig.worker->sessions);
}

void world_run(uint64_t seed, const struct world_options *options)
{
	open_world(seed, options);
	wild_phase();
	live_phase();
	rig_close();
}
