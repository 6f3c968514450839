/* SPDX-License-Identifier: MIT
 *
 * source_wait.c - a client whose source is at its limit waits for a session of that source that is ending.
 *
 * Owns the rounds of looking. A round is a number that the waiting session draws, and that each worker it
 * asks publishes once it has been through LOOK_TURNS turns since. source_table.c decides who gets a place. A
 * worker's thread.
 */
#include "weir/engine/source_wait.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "extra.h"
#include "session.h"
#include "slots.h"
#include "worker.h"

/* The turn that reads the letter may have asked for events before the FIN arrived. The next turn has not, but
 * what a ring's poll finds in that turn may be read only in the third. */
#define LOOK_TURNS 3

static struct source_table *table_of(const struct session *s)
{
	return s->entry->frontend->sources;
}

static void wake_for_place(void *arg)
{
	struct worker *w = arg;

	mailbox_signal(&w->mailbox, MAIL_PLACES);
}

static bool is_asked(const struct source_wait *wait, unsigned index)
{
	return (wait->asked & source_worker_bit(index)) != 0;
}

static void ask_workers(struct worker *w, struct source_wait *wait)
{
	struct engine *e = w->engine;

	wait->round = atomic_fetch_add(&e->look_round, 1) + 1;
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL && is_asked(wait, i))
			mailbox_signal(&e->workers[i]->mailbox, MAIL_LOOK);
}

/* A worker that has ended has no sessions. */
static bool has_looked(const struct worker *w, uint32_t round)
{
	return (int32_t)(atomic_load(&w->looked) - round) >= 0 || atomic_load(&w->pong) == WORKER_ENDED;
}

static bool have_all_looked(const struct worker *w, const struct source_wait *wait)
{
	const struct engine *e = w->engine;

	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL && is_asked(wait, i) &&
		    !has_looked(e->workers[i], wait->round))
			return false;
	return true;
}

int source_wait_begin(struct session *s)
{
	struct worker *w = s->worker;
	struct source_wait *wait = &s->extra->wait;
	int err;

	check(s->extra->source == NULL);
	check(wait->waiter.entry == NULL);
	check(!s->slotless);
	if (w->source_wait_count >= SOURCE_WAITS_MAX)
		return -EDQUOT;
	wait->waiter = (struct source_waiter){.worker = w->index, .wake = wake_for_place, .wake_arg = w};
	err = source_table_wait(table_of(s), &s->client, s->entry->front->config->maxconn_per_source,
				w->loop.now_ns, &wait->waiter, &wait->asked);
	if (err)
		return err;
	counter_add(&w->counters.source_waits, 1);
	session_set_state(s, SESSION_HELD);
	s->fixed_ns = w->loop.now_ns + SOURCE_WAIT_NS;
	list_push_back(&w->source_waits, &wait->link);
	w->source_wait_count++;
	atomic_store(&w->has_source_waits, true);
	s->slotless = true;
	slots_release(w->engine, s->entry->frontend);
	ask_workers(w, wait);
	return 0;
}

static bool stop_waiting(struct session *s, int64_t again_ns)
{
	struct worker *w = s->worker;
	struct session_extra *x = s->extra;

	if (x == NULL || x->wait.waiter.entry == NULL)
		return false;
	check(x->source == NULL);
	check(s->slotless);
	check(w->source_wait_count > 0);
	check(!list_empty(&x->wait.link));
	list_remove(&x->wait.link);
	w->source_wait_count--;
	if (w->source_wait_count == 0)
		atomic_store(&w->has_source_waits, false);
	x->source = source_table_stop_waiting(table_of(s), &x->wait.waiter, again_ns);
	if (x->source == NULL)
		return false;
	s->slotless = false; /* the session that left has left its slot to this one */
	return true;
}

bool source_wait_end(struct session *s)
{
	return stop_waiting(s, 0);
}

/* ---- looking ---- */

static void begin_to_look(struct worker *w)
{
	check(w->look_turns == 0);
	w->look_again = false;
	w->look_round = atomic_load(&w->engine->look_round);
	w->look_turns = LOOK_TURNS;
}

void source_wait_look(struct worker *w)
{
	if (w->look_turns > 0)
		w->look_again = true; /* after this one: a round of looking always comes to its end */
	else
		begin_to_look(w);
}

static void say_looked(struct worker *w)
{
	const struct engine *e = w->engine;

	check((int32_t)(w->look_round - atomic_load(&w->looked)) >= 0); /* an answered round stays answered */
	atomic_store(&w->looked, w->look_round);
	for (unsigned i = 0; i < e->worker_count; i++)
		if (e->workers[i] != NULL && atomic_load(&e->workers[i]->has_source_waits))
			mailbox_signal(&e->workers[i]->mailbox, MAIL_PLACES);
}

void source_wait_turned(struct worker *w)
{
	check(w->look_turns > 0);
	if (--w->look_turns == 0) {
		say_looked(w);
		if (w->look_again)
			begin_to_look(w);
	}
	if (w->look_turns > 0)
		io_loop_wake(&w->loop); /* the next turn starts at once */
}

/* ---- the end of a wait ---- */

static void settle(struct session *s, source_wait_over *over)
{
	struct worker *w = s->worker;
	const struct source_wait *wait = &s->extra->wait;

	check(s->state == SESSION_HELD);
	check(wait->waiter.entry != NULL);
	/* In this order: what was ending before a worker looked is marked by the time the worker reports that
	 * it has. */
	if (!source_table_is_granted(table_of(s), &wait->waiter) &&
	    (!have_all_looked(w, wait) || source_table_is_hopeful(table_of(s), &wait->waiter)))
		return;
	/* It has a place, or all are in use: a client that asks again at once is not worth another round. */
	over(s, stop_waiting(s, w->loop.now_ns + SOURCE_AGAIN_NS));
}

void source_wait_take(struct worker *w, source_wait_over *over)
{
	struct list *pos;
	struct list *tmp;

	check((w->source_wait_count == 0) == list_empty(&w->source_waits));
	list_foreach_safe(&w->source_waits, pos, tmp) {
		const struct source_wait *wait = list_entry(pos, struct source_wait, link);

		settle(container_of(wait, struct session_extra, wait)->session, over);
	}
}
