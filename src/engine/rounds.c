/* SPDX-License-Identifier: MIT
 *
 * rounds.c - workers pass the rounds of retirement.
 *
 * Owns no memory. Control begins rounds and looks whether they are over; workers' threads pass.
 */
#include "rounds.h"

#include "weir/base/check.h"
#include "weir/engine/engine.h"
#include "evict.h"
#include "worker.h"

/* ---- control's side ---- */

static void begin(void *arg, uint64_t round)
{
	struct engine *e = arg;

	atomic_store(&e->round, round);
	engine_signal_all(e, MAIL_ROUND);
}

/* A worker that has ended clears nothing by itself any more. */
static void forget_for(struct engine *e, struct worker *w, uint64_t round)
{
	if (w->forgot >= round)
		return;
	w->forgot = round;
	retire_forget(&e->live.retire, w);
}

static bool is_over(void *arg, uint64_t round)
{
	struct engine *e = arg;

	for (unsigned i = 0; i < e->worker_count; i++) {
		struct worker *w = e->workers[i];
		const uint64_t passed = w == NULL ? round : atomic_load(&w->passed);

		if (passed < round)
			return false;
		if (passed == ROUNDS_ENDED)
			forget_for(e, w, round);
	}
	return true;
}

static void mark(void *arg)
{
	struct engine *e = arg;

	if (e->records.mark != NULL)
		e->records.mark(e->records.arg);
}

static bool is_read(void *arg)
{
	struct engine *e = arg;

	return e->records.is_read == NULL || e->records.is_read(e->records.arg);
}

/* Control tells itself: no worker may have any other news for hours. Without workers nothing need leave
 * soon. */
static void wanted(void *arg)
{
	struct engine *e = arg;

	if (e->worker_count > 0)
		e->notify(e->notify_arg);
}

void rounds_init(struct engine *e)
{
	const struct retire_rounds rounds = {
		.begin = begin,
		.is_over = is_over,
		.mark = mark,
		.is_read = is_read,
		.wanted = wanted,
		.arg = e,
	};

	live_init(&e->live, &rounds);
}

/* ---- a worker's side ---- */

void rounds_heard(struct worker *w)
{
	w->round = atomic_load(&w->engine->round);
	w->round_letters = mailbox_sent(&w->mailbox);
}

void rounds_pass(struct worker *w)
{
	const uint64_t round = w->round;

	check(round > 0);
	if (!mailbox_has_taken(&w->mailbox, w->round_letters))
		return;
	/* An order names a server by its slot, which must not belong to another one when it is carried
	 * out. */
	if (evict_has_orders(w))
		return;
	w->round = 0;
	w->forgot = round;
	retire_forget(&w->engine->live.retire, w);
	atomic_store(&w->passed, round);
	w->engine->notify(w->engine->notify_arg);
}

void rounds_end(struct worker *w)
{
	check(w->finished);
	w->round = 0;
	atomic_store(&w->passed, ROUNDS_ENDED);
	w->engine->notify(w->engine->notify_arg);
}
