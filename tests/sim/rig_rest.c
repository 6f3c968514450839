/* SPDX-License-Identifier: MIT
 *
 * rig_rest.c - all is over: nothing may be left anywhere.
 *
 * Owns nothing. Fails the seed when an invariant of reliability.md breaks (I3, I17, I19). One thread. Tests
 * only.
 */
#include "cover.h"
#include "model.h"
#include "poison.h"
#include "rig.h"
#include "weir/base/clock.h"

#define RIG_TURNS_TO_END 64

static uint32_t resting_pipes(const struct worker *w)
{
	return w->loop.pipes.list.count + w->loop.pipes.list.victim_count;
}

static void check_worker(const struct worker *w)
{
	const unsigned accepts = rig.engine.entries.endpoint_count;

	if (w->sessions != 0)
		sim_fail("%u sessions are left", w->sessions);
	if (atomic_load(&w->load) != 0)
		sim_fail("a worker without sessions has load %d", atomic_load(&w->load));
	if (w->loop.pipes.in_use != 0 || w->loop.bufs.in_use != 0)
		sim_fail("%u pipes and %u buffers are not given back", w->loop.pipes.in_use,
			 w->loop.bufs.in_use);
	if (w->loop.pending > accepts)
		sim_fail("%u ops are pending, more than the accepts", w->loop.pending);
}

void rig_check_rest(void)
{
	const struct pipe_pool *p = &rig.engine.pipes;
	const int accepts = (int)(rig.engine.entries.endpoint_count * rig.worker_count);
	unsigned made = atomic_load(&p->made);

	for (unsigned i = 0; i < rig.worker_count; i++) {
		check_worker(rig.engine.workers[i]);
		made -= resting_pipes(rig.engine.workers[i]);
	}
	if (atomic_load(&rig.engine.sessions) < 0 || atomic_load(&rig.engine.sessions) > accepts)
		sim_fail("%d reservations are left", atomic_load(&rig.engine.sessions));
	for (unsigned i = 0; i < rig_server_count(); i++)
		if (atomic_load(&rig_server(i)->sessions) != 0)
			sim_fail("a place at a server is not given back");
	if (made != p->list.count + p->list.victim_count)
		sim_fail("I17: %u pipes exist, fewer rest", atomic_load(&p->made));
	for (int i = 0; i < MODEL_PIPES; i++)
		if (model.pipes[i].used && model.pipes[i].bytes > 0)
			sim_fail("R12: a pipe rests with %u bytes in it", model.pipes[i].bytes);
}

static void count_states(void)
{
	struct counters *c = &rig.worker->counters;
	const uint64_t bytes = counter_get(&c->bytes_to_client) + counter_get(&c->bytes_to_server);

	if (counter_get(&c->budget_stops) > 0)
		cover(COVER_STOP_BY_BUDGET);
	if (counter_get(&c->bytes_spliced) > 0)
		cover(COVER_BULK_FLOW);
	if (bytes > counter_get(&c->bytes_spliced))
		cover(COVER_COPY_FLOW);
	if (counter_get(&c->retries) > 0)
		cover(COVER_RETRY);
	if (atomic_load(&rig.engine.backends[0]->queue.waiting_max) > 0)
		cover(COVER_QUEUED);
	if (counter_get(&c->rate_pauses) > 0)
		cover(COVER_RATE_PAUSE);
	if (counter_get(&c->pipes_missing) > 0)
		cover(COVER_NO_PIPE);
	if (atomic_load(&rig.engine.bufs.refused) > 0)
		cover(COVER_OUT_OF_BUFFERS);
}

void rig_check_asleep(const struct worker *w)
{
	const struct io_loop *loop = &w->loop;

	if (loop->timers.count != 0)
		sim_fail("%u timers are set in a worker at rest", loop->timers.count);
	if (resting_pipes(w) > 0)
		sim_fail("pipes still rest after two cycles");
	if (w->slab.slots > 0)
		sim_fail("memory of %u sessions is left after two cycles", w->slab.slots);
}

/* At rest the worker sleeps: its last timers age the caches, then there is none. */
static void fall_asleep(void)
{
	const struct io_loop *loop = &rig.worker->loop;

	model.sleep_max_ns = 20 * NS_PER_SEC;
	if (rig.changes_settings)
		engine_set_pipe_cycle(&rig.engine, NS_PER_MS);
	rig.changes_settings = false;
	for (int i = 0; i < RIG_TURNS_TO_END && !rig.worker->finished; i++) {
		rig_turn();
		if (model.idle && model.waited_ns < 0 && loop->timers.count == 0)
			break;
	}
	if (rig.worker->finished)
		return; /* it has drained, and turns no more */
	rig_check_asleep(rig.worker);
}

void rig_close(void)
{
	rig_check_rest();
	count_states();
	fall_asleep();
	engine_drain(&rig.engine, model.now_ns);
	for (int i = 0; i < RIG_TURNS_TO_END && !rig.worker->finished; i++) {
		const int64_t at_ns = engine_wake(&rig.engine, model.now_ns);

		if (at_ns != CLOCK_NEVER && at_ns > model.now_ns)
			model.now_ns = at_ns;
		rig_turn();
	}
	if (!rig.worker->finished)
		sim_fail("the worker does not end");
	engine_free(&rig.engine);
	poison_end();
	rig.worker = NULL;
	if (model.open_fds != 0)
		sim_fail("%u descriptors are leaked", model.open_fds);
}
