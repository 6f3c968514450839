/* SPDX-License-Identifier: MIT
 *
 * retire.c - what left is freed once nobody can refer to it.
 *
 * Owns the order of the stages; the things belong to it from retire_add() on. Control thread, except for
 * retire_forget().
 */
#include "weir/base/retire.h"

#include <string.h>

#include "weir/base/check.h"

#define GRACE_ROUNDS 2u

void retire_init(struct retire *r, const struct retire_rounds *rounds)
{
	memset(r, 0, sizeof(*r));
	r->rounds = *rounds;
	list_init(&r->waiting);
	list_init(&r->held);
	list_init(&r->to_read);
	list_init(&r->reading);
	list_init(&r->forgetting);
}

size_t retire_count(const struct retire *r)
{
	return r->count;
}

static void move_to(struct retired *item, struct list *to, enum retire_stage stage)
{
	item->stage = stage;
	list_remove(&item->link);
	list_push_back(to, &item->link);
}

void retire_want(struct retire *r)
{
	if (!r->running && !r->going_on && r->rounds.wanted != NULL)
		r->rounds.wanted(r->rounds.arg);
}

/* The round that is running may have passed some workers already: it counts for nothing that leaves now. */
void retire_add(struct retire *r, struct retired *item, const struct retired_kind *kind)
{
	check(item->stage == RETIRE_NONE);
	check(kind->free != NULL);
	list_init(&item->link);
	item->kind = kind;
	item->due = r->round + GRACE_ROUNDS;
	move_to(item, &r->waiting, RETIRE_GRACE);
	r->count++;
	retire_want(r);
}

void retire_take_back(struct retire *r, struct retired *item)
{
	check(item->stage != RETIRE_NONE);
	check(item->kind->forget == NULL); /* workers may be walking the list that it is in */
	check(r->count > 0);
	list_remove(&item->link);
	item->stage = RETIRE_NONE;
	r->count--;
}

static void free_item(struct retire *r, struct retired *item)
{
	check(r->count > 0);
	list_remove(&item->link);
	item->stage = RETIRE_NONE;
	r->count--;
	item->kind->free(item);
}

static bool is_held(const struct retired *item)
{
	return item->kind->is_held != NULL && item->kind->is_held(item);
}

/* ---- from stage to stage ---- */

static void after_read(struct retire *r, struct retired *item)
{
	if (item->kind->settle != NULL)
		item->kind->settle(item);
	if (item->kind->forget == NULL) {
		free_item(r, item);
		return;
	}
	item->due = r->round + 1;
	move_to(item, &r->waiting, RETIRE_FORGET);
}

static void after_use(struct retire *r, struct retired *item)
{
	if (item->kind->is_logged)
		move_to(item, &r->to_read, RETIRE_READ);
	else
		after_read(r, item);
}

/* It can be found no more: is it in use? */
static void look_at(struct retire *r, struct retired *item)
{
	if (is_held(item)) {
		if (item->stage == RETIRE_GRACE && item->kind->held != NULL)
			item->kind->held(item);
		move_to(item, &r->held, RETIRE_HELD);
	} else if (item->kind->is_held != NULL && item->stage != RETIRE_CONFIRM) {
		item->due = r->round + 1;
		move_to(item, &r->waiting, RETIRE_CONFIRM);
	} else {
		after_use(r, item);
	}
}

static void end_round(struct retire *r)
{
	struct list *pos, *next;

	r->running = false;
	while (!list_empty(&r->forgetting))
		free_item(r, list_entry(r->forgetting.next, struct retired, link));
	list_foreach_safe(&r->waiting, pos, next) {
		struct retired *item = list_entry(pos, struct retired, link);

		if (item->stage != RETIRE_FORGET && item->due <= r->round)
			look_at(r, item);
	}
}

static void look_at_held(struct retire *r)
{
	struct list *pos, *next;

	list_foreach_safe(&r->held, pos, next) {
		struct retired *item = list_entry(pos, struct retired, link);

		if (!is_held(item))
			look_at(r, item);
	}
}

/* One mark at a time: what comes meanwhile waits for the next. True when something was read. */
static bool go_on_reading(struct retire *r)
{
	if (list_empty(&r->reading)) {
		if (list_empty(&r->to_read))
			return false;
		while (!list_empty(&r->to_read))
			move_to(list_entry(r->to_read.next, struct retired, link), &r->reading, RETIRE_READ);
		r->rounds.mark(r->rounds.arg);
	}
	if (!r->rounds.is_read(r->rounds.arg))
		return false;
	while (!list_empty(&r->reading))
		after_read(r, list_entry(r->reading.next, struct retired, link));
	return true;
}

static void begin_round(struct retire *r)
{
	struct list *pos, *next;

	r->running = true;
	r->round++;
	list_foreach_safe(&r->waiting, pos, next) {
		struct retired *item = list_entry(pos, struct retired, link);

		if (item->stage == RETIRE_FORGET)
			move_to(item, &r->forgetting, RETIRE_FORGET);
	}
	r->rounds.begin(r->rounds.arg, r->round);
}

/* True when there is more to do at once. */
static bool go_on(struct retire *r)
{
	if (r->running && r->rounds.is_over(r->rounds.arg, r->round))
		end_round(r);
	look_at_held(r);
	if (go_on_reading(r))
		return true;
	if (r->running || list_empty(&r->waiting))
		return false;
	begin_round(r);
	return r->rounds.is_over(r->rounds.arg, r->round);
}

void retire_go_on(struct retire *r)
{
	if (r->going_on)
		return;
	r->going_on = true;
	while (go_on(r))
		continue;
	r->going_on = false;
}

/* ---- without workers and rings ---- */

static void begin_nothing(void *arg, uint64_t round)
{
	(void)arg;
	(void)round;
}

static bool is_always_over(void *arg, uint64_t round)
{
	(void)arg;
	(void)round;
	return true;
}

static void mark_nothing(void *arg)
{
	(void)arg;
}

static bool is_always_read(void *arg)
{
	(void)arg;
	return true;
}

void retire_end(struct retire *r)
{
	check(!r->going_on);
	r->rounds = (struct retire_rounds){
		.begin = begin_nothing,
		.is_over = is_always_over,
		.mark = mark_nothing,
		.is_read = is_always_read,
	};
	retire_go_on(r);
	while (!list_empty(&r->held)) {
		/* Nobody is left who could give it back. */
		free_item(r, list_entry(r->held.next, struct retired, link));
		retire_go_on(r);
	}
	check(r->count == 0);
}

void retire_forget(const struct retire *r, void *worker)
{
	for (const struct list *l = r->forgetting.next; l != &r->forgetting; l = l->next) {
		const struct retired *item = list_entry(l, struct retired, link);

		item->kind->forget(item, worker);
	}
}
