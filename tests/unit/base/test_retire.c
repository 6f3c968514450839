/* SPDX-License-Identifier: MIT
 *
 * test_retire.c - nothing is freed while anybody can refer to it, and at rest everything that left is freed.
 *
 * A model of 0 to 4 workers whose turns, letters, counts and records are interleaved with control, in the
 * order of a seed; workers also run while control is in the middle of retire_go_on(). Control goes on only
 * when it is notified, so that a missing notification leaves something behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/retire.h"

#define SEEDS	    3000u
#define STEPS	    500u
#define WORKERS_MAX 4u
#define PLACES	    4u	 /* where things are published */
#define THINGS	    128u /* in one seed */
#define LETTERS	    16u
#define RECORDS	    32u

struct thing {
	struct retired item;
	unsigned id;
	uint64_t left_in; /* the latest round when it left */
	unsigned forgotten[WORKERS_MAX];
	unsigned settled;
	bool was_held;
};

enum letter_kind {
	LETTER_NAME,   /* names a thing, without a count */
	LETTER_MOVE,   /* the reader takes a count; the sender keeps its own until LETTER_RETURN */
	LETTER_RETURN, /* gives back the count of the reader */
};

struct letter {
	enum letter_kind kind;
	unsigned id;
	unsigned from;
};

enum where { BETWEEN_TURNS, BEFORE_LETTERS, IN_TURN };

struct worker {
	enum where where;
	uint64_t noted;	 /* the round at the beginning of this turn */
	uint64_t passed; /* the latest round that it has passed */
	bool found[THINGS];   /* in this turn */
	bool by_letter[THINGS]; /* it got the name from a letter, in this turn or with a count */
	bool kept[THINGS];
	uint32_t taken[THINGS];
	uint32_t given[THINGS];
	uint32_t moving[THINGS]; /* counts that wait for LETTER_RETURN */
	struct letter letters[LETTERS];
	unsigned letter_count;
	unsigned records[RECORDS]; /* a ring */
	unsigned head, tail, mark;
};

static struct world {
	uint64_t seed, random;
	unsigned workers;
	struct retire retire;
	uint64_t round;
	unsigned turn;	/* steps of a turn, on average */
	unsigned burst; /* steps that a worker goes on alone, at most */
	bool notified; /* control must go on */
	bool marked;
	bool at_rest; /* nothing new happens */
	bool ending;  /* and sessions end */
	struct thing *published[PLACES];
	struct thing *things[THINGS]; /* NULL once freed */
	unsigned thing_count;
	struct worker worker[WORKERS_MAX];
} w;

#define must(cond)                                                                                         \
	do {                                                                                               \
		if (!(cond)) {                                                                             \
			print_error("seed %u, %u workers: %s\n", (unsigned)w.seed, w.workers, #cond);      \
			fail();                                                                            \
		}                                                                                          \
	} while (0)

static unsigned below(unsigned limit)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (unsigned)(w.random >> 33) % limit;
}

static uint32_t held_by(const struct worker *me, unsigned id)
{
	return me->taken[id] - me->given[id];
}

static bool may_count(unsigned id)
{
	return w.things[id]->item.kind->is_held != NULL;
}

/* ---- a worker ---- */

static void use(struct worker *me, unsigned id)
{
	must(w.things[id] != NULL);
	if (w.things[id]->item.kind->forget != NULL)
		me->kept[id] = true;
}

static void record(struct worker *me, unsigned id)
{
	if (w.things[id]->item.kind->is_logged && me->head - me->tail < RECORDS)
		me->records[me->head++ % RECORDS] = id;
}

static void take(struct worker *me, unsigned id)
{
	use(me, id);
	me->taken[id]++;
}

static void give_back(struct worker *me, unsigned id)
{
	use(me, id);
	record(me, id);
	me->given[id]++;
	if (held_by(me, id) == 0 && w.things[id]->item.stage != RETIRE_NONE)
		w.notified = true;
}

static bool send(struct worker *me, struct worker *to, enum letter_kind kind, unsigned id)
{
	if (to == me || to->letter_count == LETTERS)
		return false;
	to->letters[to->letter_count++] = (struct letter){kind, id, (unsigned)(me - w.worker)};
	return true;
}

static void read_letters(struct worker *me)
{
	/* What cannot be answered now stays. */
	for (unsigned i = 0; i < me->letter_count; i++) {
		const struct letter l = me->letters[i];

		use(me, l.id);
		me->found[l.id] = true;
		switch (l.kind) {
		case LETTER_NAME:
			me->by_letter[l.id] = true;
			break;
		case LETTER_MOVE:
			me->by_letter[l.id] = true;
			take(me, l.id);
			must(send(me, &w.worker[l.from], LETTER_RETURN, l.id));
			break;
		case LETTER_RETURN:
			me->moving[l.id]--;
			give_back(me, l.id);
			break;
		}
	}
	me->letter_count = 0;
}

/* A letter without a count may name what this worker did not itself learn of by a letter. */
static void send_name(struct worker *me, unsigned id)
{
	struct worker *to = &w.worker[below(w.workers)];

	/* Half of the room is for answers. */
	if (!me->by_letter[id] && to->letter_count < LETTERS / 4)
		(void)send(me, to, LETTER_NAME, id);
}

static void move_count(struct worker *me, unsigned id)
{
	struct worker *to = &w.worker[below(w.workers)];
	unsigned moving = 0;

	for (unsigned i = 0; i < w.workers; i++)
		for (unsigned k = 0; k < w.thing_count; k++)
			moving += w.worker[i].moving[k];
	if (moving < LETTERS / 2 && held_by(me, id) > me->moving[id] && to->letter_count < LETTERS / 4 &&
	    send(me, to, LETTER_MOVE, id))
		me->moving[id]++;
}

/* One of the things that it may use, or THINGS. */
static unsigned any_in_use(const struct worker *me)
{
	unsigned chosen = THINGS, seen = 0;

	for (unsigned id = 0; id < w.thing_count; id++)
		if ((me->found[id] || held_by(me, id) > 0) && below(++seen) == 0)
			chosen = id;
	return chosen;
}

static void find(struct worker *me)
{
	const struct thing *t = w.published[below(PLACES)];

	if (t == NULL)
		return;
	use(me, t->id);
	me->found[t->id] = true;
}

static void act(struct worker *me)
{
	const unsigned id = any_in_use(me);

	if (id == THINGS || below(3) == 0) {
		find(me);
		return;
	}
	use(me, id);
	switch (below(8)) {
	case 0:
	case 1:
		if (may_count(id) && held_by(me, id) < 2)
			take(me, id);
		break;
	case 2:
		if (held_by(me, id) > me->moving[id])
			give_back(me, id);
		break;
	case 3:
		if (may_count(id))
			move_count(me, id);
		break;
	case 4:
		record(me, id);
		break;
	default:
		send_name(me, id);
	}
}

static bool all_passed(uint64_t round)
{
	for (unsigned i = 0; i < w.workers; i++)
		if (w.worker[i].passed < round)
			return false;
	return true;
}

static void end_turn(struct worker *me)
{
	me->where = BETWEEN_TURNS;
	for (unsigned id = 0; id < w.thing_count; id++) {
		me->found[id] = false;
		if (held_by(me, id) == 0)
			me->by_letter[id] = false;
	}
	if (me->noted == me->passed)
		return;
	must(me->noted == w.round); /* no round is left out */
	retire_forget(&w.retire, me);
	me->passed = me->noted;
	if (all_passed(me->passed))
		w.notified = true;
}

static void give_back_all(struct worker *me)
{
	for (unsigned id = 0; id < w.thing_count; id++)
		while (held_by(me, id) > me->moving[id])
			give_back(me, id);
}

static void worker_step(struct worker *me)
{
	switch (me->where) {
	case BETWEEN_TURNS:
		me->noted = w.round;
		me->where = BEFORE_LETTERS;
		break;
	case BEFORE_LETTERS:
		read_letters(me);
		me->where = IN_TURN;
		break;
	case IN_TURN:
		if (w.ending)
			give_back_all(me);
		if (w.at_rest || below(w.turn) == 0)
			end_turn(me);
		else
			act(me);
		break;
	}
}

static void one_worker_runs(void)
{
	struct worker *me = &w.worker[below(w.workers)];

	for (unsigned n = 1 + below(w.burst); n > 0; n--)
		worker_step(me);
}

/* Workers do not wait for control. */
static void meanwhile(void)
{
	for (unsigned n = w.workers > 0 && !w.at_rest ? below(4) : 0; n > 0; n--)
		one_worker_runs();
}

/* ---- what retire.h asks of its surroundings ---- */

static void round_begin(void *arg, uint64_t round)
{
	bool waits = false;

	(void)arg;
	must(round == w.round + 1);
	must(all_passed(w.round));
	for (unsigned id = 0; id < w.thing_count; id++) {
		const struct thing *t = w.things[id];

		waits |= t != NULL && (t->item.stage == RETIRE_GRACE || t->item.stage == RETIRE_CONFIRM ||
				       t->item.stage == RETIRE_FORGET);
	}
	must(waits || w.thing_count == 0);
	w.round = round;
	meanwhile();
}

static bool round_is_over(void *arg, uint64_t round)
{
	(void)arg;
	meanwhile();
	return all_passed(round);
}

static void rings_mark(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < w.workers; i++) {
		w.worker[i].mark = w.worker[i].head;
		meanwhile();
	}
	w.marked = true;
}

static bool rings_are_read(void *arg)
{
	(void)arg;
	meanwhile();
	for (unsigned i = 0; i < w.workers; i++)
		if ((int)(w.worker[i].mark - w.worker[i].tail) > 0)
			return false;
	return true;
}

static void rings_read(void)
{
	for (unsigned i = 0; i < w.workers; i++) {
		struct worker *me = &w.worker[i];

		if (me->head == me->tail || below(3) == 0)
			continue;
		must(w.things[me->records[me->tail % RECORDS]] != NULL);
		me->tail++;
	}
	if (w.marked && rings_are_read(NULL)) {
		w.marked = false;
		w.notified = true;
	}
}

/* ---- things ---- */

/* As counted_sum() does it, with workers that go on in between. */
static bool thing_is_held(const struct retired *item)
{
	const unsigned id = container_of(item, struct thing, item)->id;
	uint32_t given = 0, taken = 0;

	for (unsigned i = 0; i < w.workers; i++) {
		given += w.worker[i].given[id];
		meanwhile();
	}
	for (unsigned i = 0; i < w.workers; i++) {
		taken += w.worker[i].taken[id];
		meanwhile();
	}
	return taken != given;
}

static void thing_forget(const struct retired *item, void *arg)
{
	struct worker *me = arg;
	struct thing *t = container_of(item, struct thing, item);

	must(w.things[t->id] == t);
	me->kept[t->id] = false;
	t->forgotten[me - w.worker]++;
}

static void must_be_unused(const struct worker *me, const struct thing *t)
{
	must(!me->found[t->id]);
	must(held_by(me, t->id) == 0);
	must(!me->kept[t->id]);
	for (unsigned i = 0; i < me->letter_count; i++)
		must(me->letters[i].id != t->id);
	for (unsigned i = me->tail; i != me->head; i++)
		must(me->records[i % RECORDS] != t->id);
}

static void thing_settle(const struct retired *item)
{
	struct thing *t = container_of(item, struct thing, item);

	must(w.things[t->id] == t);
	must(t->settled == 0);
	for (unsigned i = 0; i < w.workers; i++) {
		must(!w.worker[i].found[t->id] && held_by(&w.worker[i], t->id) == 0);
		must(t->forgotten[i] == 0);
	}
	t->settled++;
}

static unsigned helds;

static void thing_held(const struct retired *item)
{
	struct thing *t = container_of(item, struct thing, item);

	must(w.things[t->id] == t);
	must(!t->was_held);
	must(all_passed(t->left_in + 2)); /* nobody can find it any more */
	t->was_held = true;
	helds++;
}

static void leave(unsigned place);

static void thing_free(struct retired *item)
{
	struct thing *t = container_of(item, struct thing, item);

	must(w.things[t->id] == t);
	must(w.round >= t->left_in + 2);
	must(all_passed(t->left_in + 2));
	for (unsigned i = 0; i < w.workers; i++) {
		must_be_unused(&w.worker[i], t);
		must(t->forgotten[i] == (item->kind->forget != NULL));
	}
	must(t->settled == (item->kind->settle != NULL));
	w.things[t->id] = NULL;
	free(t);
	if (below(4) == 0)
		leave(below(PLACES)); /* what only it referred to */
	meanwhile();
}

static const struct retired_kind kinds[] = {
	{thing_is_held, thing_forget, thing_free, true, thing_settle, thing_held}, /* as a server */
	{thing_is_held, NULL, thing_free, true, NULL, NULL},			   /* as settings */
	{thing_is_held, NULL, thing_free, false, NULL, thing_held},
	{NULL, thing_forget, thing_free, false, thing_settle, NULL},
	{NULL, NULL, thing_free, true, NULL, NULL},
	{NULL, NULL, thing_free, false, NULL, NULL}, /* as a roster */
};

/* ---- control ---- */

static void publish(unsigned place)
{
	struct thing *t;

	if (w.published[place] != NULL || w.thing_count == THINGS)
		return;
	t = calloc(1, sizeof(*t));
	assert_non_null(t);
	t->id = w.thing_count;
	t->item.kind = &kinds[below(ARRAY_LEN(kinds))];
	w.things[w.thing_count++] = t;
	w.published[place] = t;
}

static void leave(unsigned place)
{
	struct thing *t = w.published[place];

	if (t == NULL)
		return;
	w.published[place] = NULL;
	t->left_in = w.round;
	retire_add(&w.retire, &t->item, t->item.kind);
	w.notified = true;
}

static void go_on_if_notified(void)
{
	if (!w.notified)
		return;
	w.notified = false;
	retire_go_on(&w.retire);
}

static void control_step(void)
{
	const unsigned place = below(PLACES);

	switch (below(6)) {
	case 0:
		leave(place);
		break;
	case 1:
		leave(place);
		publish(place);
		break;
	case 2:
		rings_read();
		break;
	default:
		go_on_if_notified();
		break;
	}
}

static void begin_world(uint64_t seed, unsigned workers)
{
	static const struct retire_rounds rounds = {
		.begin = round_begin,
		.is_over = round_is_over,
		.mark = rings_mark,
		.is_read = rings_are_read,
	};

	memset(&w, 0, sizeof(w));
	w.seed = seed;
	w.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	w.workers = workers;
	w.turn = 1 + below(6);
	w.burst = 1 + below(16);
	retire_init(&w.retire, &rounds);
}

/* Each worker runs a turn after the other, until nothing is left or `times` are over. */
static void run_turns(unsigned times)
{
	while (retire_count(&w.retire) > 0 && times-- > 0) {
		for (unsigned i = 0; i < 3 * w.workers; i++)
			worker_step(&w.worker[i / 3]);
		for (unsigned i = 0; i < 3 * RECORDS; i++)
			rings_read();
		go_on_if_notified();
	}
}

/* Two rounds of grace, one to confirm and one to forget; a move that is under way takes two, and each of what
 * was published may leave only when another is freed. */
#define TURNS_TO_REST (6 + 4 * PLACES)

static void run_seed(uint64_t seed, unsigned workers)
{
	uint64_t round;

	begin_world(seed, workers);
	for (unsigned i = 0; i < STEPS; i++) {
		const unsigned who = below(workers + 2);

		if (who < workers)
			one_worker_runs();
		else
			control_step();
	}
	for (unsigned i = 0; i < PLACES; i++)
		leave(i);
	w.at_rest = true;
	run_turns(TURNS_TO_REST);
	round = w.round;
	run_turns(1);
	must(w.round == round); /* what is left waits for sessions, without rounds */
	w.ending = true;
	run_turns(TURNS_TO_REST);
	must(retire_count(&w.retire) == 0);
	for (unsigned id = 0; id < w.thing_count; id++)
		must(w.things[id] == NULL);
	round = w.round;
	retire_go_on(&w.retire);
	must(w.round == round);
}

static void nothing_is_freed_early_and_at_rest_all_is_freed(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		run_seed(seed, (unsigned)(seed % (WORKERS_MAX + 1)));
	assert_true(helds > SEEDS);
}

/* ---- the end of the process ---- */

struct part {
	struct retired item;
	struct part *owner; /* NULL: it is one itself */
	unsigned parts;
	bool has_session;
	unsigned freed_as; /* 0: not yet */
};

static unsigned freed_parts;

static bool part_is_held(const struct retired *item)
{
	const struct part *p = container_of(item, struct part, item);

	return p->parts > 0 || p->has_session;
}

static void part_free(struct retired *item)
{
	struct part *p = container_of(item, struct part, item);

	if (p->owner != NULL) {
		assert_int_equal(p->owner->freed_as, 0); /* it is used here */
		p->owner->parts--;
	}
	p->freed_as = ++freed_parts;
}

static void the_end_frees_an_owner_after_its_parts(void **state)
{
	static const struct retired_kind owner = {.is_held = part_is_held, .free = part_free};
	static const struct retired_kind part = {.free = part_free, .is_logged = true};
	struct part a = {.parts = 2}, b = {.owner = &a}, c = {.owner = &a}, d = {.has_session = true};

	(void)state;
	freed_parts = 0;
	begin_world(1, 1);
	retire_add(&w.retire, &a.item, &owner);
	retire_add(&w.retire, &b.item, &part);
	w.at_rest = true;
	w.notified = true;
	run_turns(3);
	assert_int_equal(a.item.stage, RETIRE_HELD);
	assert_int_equal(retire_count(&w.retire), 1);
	retire_add(&w.retire, &d.item, &owner);
	retire_add(&w.retire, &c.item, &part);
	retire_end(&w.retire);
	assert_int_equal(retire_count(&w.retire), 0);
	assert_int_equal(freed_parts, 4);
	assert_true(a.freed_as > c.freed_as);
	assert_int_equal(d.freed_as, 4); /* nobody is left who could end its session */
}

/* A letter that the last session posted may wait for a worker that has already passed this round. */
static void use_that_ends_in_a_round_is_confirmed_in_the_next(void **state)
{
	static const struct retired_kind kind = {.is_held = part_is_held, .free = part_free};
	struct part a = {.has_session = true}, b = {.has_session = false};

	(void)state;
	freed_parts = 0;
	begin_world(1, 2);
	w.at_rest = true;
	retire_add(&w.retire, &a.item, &kind);
	w.notified = true;
	run_turns(4);
	assert_int_equal(a.item.stage, RETIRE_HELD);
	retire_add(&w.retire, &b.item, &kind);
	retire_go_on(&w.retire);
	for (unsigned i = 0; i < 3; i++)
		worker_step(&w.worker[0]);
	a.has_session = false;
	retire_go_on(&w.retire);
	assert_int_equal(a.item.stage, RETIRE_CONFIRM);
	for (unsigned i = 0; i < 3; i++)
		worker_step(&w.worker[1]);
	retire_go_on(&w.retire);
	assert_int_equal(a.freed_as, 0);
	w.notified = true;
	run_turns(4);
	assert_int_equal(a.freed_as, 1);
	assert_int_equal(b.freed_as, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_freed_early_and_at_rest_all_is_freed),
		cmocka_unit_test(the_end_frees_an_owner_after_its_parts),
		cmocka_unit_test(use_that_ends_in_a_round_is_confirmed_in_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
