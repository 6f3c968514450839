/* SPDX-License-Identifier: MIT
 *
 * crowd.c - one seed of a world with several workers of one engine, with control and peers.
 *
 * Owns the order: who has the next turn is drawn, and between two system calls of a worker or of control, or
 * at an atomic or a lock (points.h), another of them may have whole turns. A worker whose wait would find
 * nothing sleeps: it has no turn until something wakes it or its time has come, so that a lost wake-up
 * is missed. In some seeds sleepers have turns for no reason while faults last. Then faults stop, control
 * changes nothing more, and within a bounded number of steps all must be over, and everything back where it
 * was. One thread. Tests only.
 */
#include "crowd.h"

#include "control.h"
#include "cover.h"
#include "crowd_judge.h"
#include "fake_driver.h"
#include "live_log.h"
#include "model.h"
#include "peers.h"
#include "poison.h"
#include "points.h"
#include "rig.h"
#include "stream.h"
#include "weir/base/clock.h"
#include "world.h"

#define CROWD_CLIENTS 10
#define CROWD_BYTES 6000 /* of most streams: here it is not about bytes */
#define CROWD_STEP_NS (100 * NS_PER_US)
#define CROWD_LONG_STEP_NS (40 * NS_PER_MS)
#define CROWD_IDLE_NS (1100 * NS_PER_MS) /* for which nobody has a turn: sessions are idle */
/* A rate-limit of one client a second counts those whom an endpoint that leaves still let in. */
#define CROWD_PATIENCE_NS (10 * NS_PER_SEC)
#define CROWD_LIVE_STEPS 3000
#define CROWD_STEPS_TO_END 2000
#define CROWD_DEPTH 3 /* turns within turns */

static struct crowd {
	struct place {
		bool runs;         /* in the middle of a turn */
		bool idle;         /* its last wait found nothing */
		bool sleeps;
		bool seen;         /* has had its turn in this round, or slept */
		int64_t wake_ns;   /* when it sleeps: the end of its wait */
	} places[RIG_WORKERS];
	bool restless; /* sleepers have turns for no reason */
	uint32_t points; /* percent of points.h that are used */
	bool blind;    /* the driver cannot be asked whether it has news: its workers never sleep */
	int64_t step_ns; /* the longest */
	int depth;
} crowd;

static struct worker *worker_at(unsigned i)
{
	return rig.engine.workers[i];
}

/* ---- turns ---- */

static bool is_at_rest(unsigned i)
{
	return worker_at(i)->finished && rig.rests[i];
}

static bool is_awake(unsigned i)
{
	const struct place *p = &crowd.places[i];

	return !p->sleeps || model.now_ns >= p->wake_ns || model_has_news((int)i);
}

static bool may_turn(unsigned i)
{
	if (crowd.places[i].runs || is_at_rest(i))
		return false;
	return is_awake(i) || (crowd.restless && model.faults);
}

/* Two waits in a row must find nothing: what the end of a turn begins is waited for only in the next. */
static void note_sleep(struct place *p, const struct worker *w, int64_t timer_ns)
{
	const bool idle = model.idle && model.waited_ns != 0;

	p->sleeps = idle && p->idle && !crowd.blind && timer_heap_next(&w->loop.timers) == timer_ns;
	p->idle = idle;
	p->wake_ns = model.waited_ns < 0 ? CLOCK_NEVER : model.now_ns + model.waited_ns;
}

static void turn_worker(unsigned i)
{
	struct worker *w = worker_at(i);
	struct place *p = &crowd.places[i];
	const int64_t timer_ns = timer_heap_next(&w->loop.timers);
	struct worker *recorder;
	const bool was_in_turn = peers.in_turn;
	const bool was_idle = model.idle;
	const int64_t waited_ns = model.waited_ns;
	const uint64_t calls_before = model.calls - model.calls_at_turn;

	trace("worker %u has a turn", i);
	p->runs = true;
	crowd.depth++;
	peers.in_turn = true;
	recorder = live_record(w);
	rig_turn_worker(w);
	(void)live_record(recorder);
	note_sleep(p, w, timer_ns);
	p->runs = false;
	p->seen = true;
	crowd.depth--;
	peers.in_turn = was_in_turn;
	model.idle = was_idle;
	model.waited_ns = waited_ns;
	model.calls_at_turn = model.calls - calls_before;
}

static void turn_control(void)
{
	struct worker *const recorder = live_record(NULL);

	trace("control has a turn");
	crowd.depth++;
	model.calls_at_turn = model.calls;
	control_turn();
	crowd.depth--;
	(void)live_record(recorder);
}

/* False when nobody may have one. */
static bool turn_somebody(void)
{
	const uint32_t first = prng_below(&model.rng, rig.worker_count);

	for (unsigned i = 0; i < rig.worker_count; i++) {
		const unsigned at = (first + i) % rig.worker_count;

		if (!may_turn(at))
			continue;
		turn_worker(at);
		return true;
	}
	return false;
}

static void act_some(uint32_t times)
{
	for (uint32_t i = 0; i < times && peers.count > 0; i++)
		peer_act(&peers.all[prng_below(&model.rng, (uint32_t)peers.count)]);
}

/* Between two system calls. */
static void preempt(void)
{
	const uint32_t dice = prng_below(&model.rng, 100);

	if (dice >= 25 || crowd.depth >= CROWD_DEPTH) {
		act_some(prng_range(&model.rng, 1, 3));
		return;
	}
	if (dice < 5 && !control_runs()) {
		turn_control();
		return;
	}
	if (turn_somebody())
		cover(COVER_CROWD_NESTED);
}

int points_locks;

/* Between two instructions that others can see. */
void points_pass(void)
{
	if (crowd.points == 0 || points_locks > 0 || crowd.depth == 0 || crowd.depth >= CROWD_DEPTH ||
	    !model.faults || !prng_chance(&model.rng, crowd.points))
		return;
	if (!control_runs() && prng_chance(&model.rng, 15))
		turn_control();
	else if (turn_somebody())
		cover(COVER_CROWD_POINT);
}

/* ---- time ---- */

static int64_t earliest_ns(void)
{
	int64_t next_ns = control_wakes_ns();

	for (unsigned i = 0; i < rig.worker_count; i++)
		if (!is_at_rest(i) && crowd.places[i].wake_ns < next_ns)
			next_ns = crowd.places[i].wake_ns;
	return next_ns;
}

static bool is_anybody_awake(void)
{
	for (unsigned i = 0; i < rig.worker_count; i++)
		if (!is_at_rest(i) && is_awake(i) && !(crowd.blind && crowd.places[i].idle))
			return true;
	return control_is_due();
}

/* Everybody sleeps: goes on to the time when one of them wakes; false when that is too late to help. */
static bool sleep_until_next(int64_t most_ns)
{
	const int64_t next_ns = earliest_ns();

	if (next_ns == CLOCK_NEVER || next_ns - model.now_ns > most_ns)
		return false;
	if (next_ns > model.now_ns)
		model.now_ns = next_ns;
	(void)model_look_at_alarms(); /* the next one plays no part */
	return true;
}

/* ---- the wild phase ---- */

static void end_round(void)
{
	for (unsigned i = 0; i < rig.worker_count; i++)
		if (!crowd.places[i].seen && !is_at_rest(i) && is_awake(i))
			return;
	for (unsigned i = 0; i < rig.worker_count; i++)
		crowd.places[i].seen = false;
	rig.turns++;
	judge_promises();
	judge_resets();
}

static void open_crowd(uint64_t seed, const struct world_options *options)
{
	static const uint8_t points[] = {0, 2, 8, 25};
	struct rig_options o = {.driver = options->driver,
				.splice = options->splice,
				.workers = options->workers,
				.notify = control_notify};

	if (o.workers == 0)
		o.workers = seed % 2 == 0 ? 2 : 4;
	model_reset(seed);
	model.auto_wire = false;
	peers_reset();
	peers.most_bytes = CROWD_BYTES;
	world_choose_faults();
	model.on_connect = peers_on_connect;
	model.strict = true;
	crowd = (struct crowd){.blind = options->driver == &fake_driver,
			       .restless = prng_chance(&model.rng, 30),
			       .points = points[prng_below(&model.rng, 4)],
			       .step_ns = CROWD_STEP_NS};
	/* In some seeds endpoints that leave do so within the wild phase. */
	if (prng_chance(&model.rng, 25))
		crowd.step_ns = CROWD_LONG_STEP_NS;
	rig_open(&o);
	if (crowd.blind)
		rig.limits_sources = false; /* the times of its workers differ by more than a turn */
	control_open();
	crowd_judge_begin();
	world_set_patience(options->driver);
	model.on_excuse = peers_on_excuse;
	model.on_preempt = preempt;
	model.faults = true;
	for (uint32_t n = prng_range(&model.rng, 2, CROWD_CLIENTS); n > 0; n--)
		(void)peer_new(true); /* there is room */
	stream_set_head(rig.header, (uint32_t)peers.count);
}

static void wild_phase(void)
{
	struct prng *r = &model.rng;

	for (uint32_t steps = prng_range(r, 20, 250); steps > 0; steps--) {
		act_some(prng_below(r, 5));
		if (prng_chance(r, 15))
			turn_control();
		else
			(void)turn_somebody(); /* or all sleep */
		crowd_judge();
		end_round();
		model.now_ns += prng_range(r, 1000, (uint32_t)crowd.step_ns);
		if (rig.drains_idle && prng_chance(r, 20))
			model.now_ns += CROWD_IDLE_NS;
		if (prng_chance(r, 10) && !is_anybody_awake())
			(void)sleep_until_next(WORLD_PATIENCE_NS); /* or time goes on by itself */
	}
}

/* ---- the end ---- */

static bool is_over(void)
{
	for (int i = 0; i < peers.count; i++) {
		const struct peer *p = &peers.all[i];

		if (p->client && !p->closed && (p->connected || !peers.no_more))
			return false;
		if (!p->client && p->connected && !p->closed)
			return false;
	}
	for (unsigned i = 0; i < rig.worker_count; i++)
		if (worker_at(i)->sessions > 0 || atomic_load(&worker_at(i)->load) > 0)
			return false;
	for (int i = 0; i < model.listener_top; i++)
		if (model.listeners[i].count > 0)
			return false;
	return true;
}

static uint32_t sessions_left(void)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < rig.worker_count; i++)
		n += worker_at(i)->sessions;
	return n;
}

/* Everybody who has something to do does it; true when somebody had. */
static bool turn_all(void)
{
	const uint32_t first = prng_below(&model.rng, rig.worker_count);
	bool moved = control_is_due();

	for (unsigned i = 0; i < rig.worker_count; i++) {
		const unsigned at = (first + i) % rig.worker_count;

		if (!may_turn(at))
			continue;
		turn_worker(at);
		moved |= !crowd.places[at].idle;
	}
	if (control_is_due())
		turn_control();
	crowd_judge();
	return moved;
}

static void live_phase(void)
{
	model.faults = false;
	peers.live = true;
	control_calm();
	for (int i = 0; i < CROWD_LIVE_STEPS; i++) {
		bool moved = false;

		for (int k = 0; k < peers.count; k++)
			moved |= peer_push(&peers.all[k]);
		moved |= turn_all();
		if (is_over())
			return;
		if (moved || is_anybody_awake())
			continue;
		if (!sleep_until_next(world_waits_for_black_hole() ? 2 * rig.connect_timeout_ns
								   : CROWD_PATIENCE_NS)) {
			judge_all();
			sim_fail("stall: %u sessions are left, nothing moves, and no timer will help",
				 sessions_left());
		}
	}
	sim_fail("after %d steps without faults %u sessions are left", CROWD_LIVE_STEPS, sessions_left());
}

static bool have_all_finished(void)
{
	for (unsigned i = 0; i < rig.worker_count; i++)
		if (!is_at_rest(i))
			return false;
	return true;
}

/* Until nobody has anything to do ever again. */
static void fall_asleep(void)
{
	for (int i = 0; i < CROWD_STEPS_TO_END; i++) {
		if (!turn_all() && !is_anybody_awake() && !sleep_until_next(CLOCK_NEVER / 2))
			break;
	}
	control_check_rest();
	crowd_judge_rest();
	for (unsigned i = 0; i < rig.worker_count; i++)
		if (!worker_at(i)->finished)
			rig_check_asleep(worker_at(i));
}

static void note_states(void)
{
	const struct engine *e = &rig.engine;

	if (engine_sum(e, handed_off) > 0)
		cover(COVER_CROWD_HANDED_OFF);
	if (engine_sum(e, accept_pauses) > 0)
		cover(COVER_CROWD_PAUSED);
	if (engine_sum(e, memory_pauses) > 0)
		cover(COVER_CROWD_MEMORY);
	if (engine_sum(e, rate_pauses) > 0)
		cover(COVER_CROWD_RATE);
	if (engine_sum(e, source_waits) > 0)
		cover(COVER_CROWD_SOURCE);
	if (engine_sum(e, source_rate_limited) > 0)
		cover(COVER_CROWD_SOURCE_RATE);
	if (engine_sum(e, redispatches) > 0)
		cover(COVER_CROWD_REDISPATCH);
}

static void close_crowd(void)
{
	rig_check_rest();
	note_states();
	fall_asleep();
	engine_drain(&rig.engine, model.now_ns);
	for (int i = 0; i < CROWD_STEPS_TO_END && !have_all_finished(); i++)
		if (!turn_all() && !is_anybody_awake()) /* the end counts */
			(void)sleep_until_next(CROWD_PATIENCE_NS);
	if (!have_all_finished())
		sim_fail("the workers do not end");
	control_close();
	engine_free(&rig.engine);
	poison_end();
	rig.worker = NULL;
	if (model.open_fds != 0)
		sim_fail("%u descriptors are leaked", model.open_fds);
}

void crowd_run(uint64_t seed, const struct world_options *options)
{
	open_crowd(seed, options);
	wild_phase();
	live_phase();
	close_crowd();
}
