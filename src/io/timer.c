/* SPDX-License-Identifier: MIT
 *
 * timer.c - a 4-ary heap of deadlines; each timer records its slot, so it can be moved and cancelled.
 *
 * Owns the array. Four children share a cache line of entries, and the tree is half as deep as a
 * binary one. Calls nothing but fire(). One loop, one thread.
 */
#include "weir/io/timer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"

#define HEAP_ARITY 4u
#define HEAP_ROOM_MAX (UINT32_C(1) << 30)

static_assert(HEAP_ARITY * sizeof(struct timer_entry) == 64, "four children share a cache line");
static_assert(HEAP_ROOM_MAX - 1 <= (UINT32_MAX - 1) / HEAP_ARITY, "the slot of a child does not overflow");
static_assert(HEAP_ROOM_MAX < TIMER_UNSET, "no slot equals TIMER_UNSET");

void timer_init(struct timer *t, void (*fire)(struct timer *t))
{
	check(fire != NULL);
	t->fire = fire;
	t->slot = TIMER_UNSET;
}

void timer_heap_init(struct timer_heap *h)
{
	memset(h, 0, sizeof(*h));
}

void timer_heap_free(struct timer_heap *h)
{
	check(h->count == 0);
	check((h->entries == NULL) == (h->room == 0));
	if (h->entries != NULL)
		(void)munmap(h->entries, h->room * sizeof(*h->entries)); /* exactly as it was mapped */
	timer_heap_init(h);
}

static void place(struct timer_heap *h, uint32_t slot, struct timer_entry e)
{
	h->entries[slot] = e;
	e.timer->slot = slot;
}

/* Finds a place for `e` at or above the hole at `slot`. */
static void sift_up(struct timer_heap *h, uint32_t slot, struct timer_entry e)
{
	while (slot > 0) {
		const uint32_t parent = (slot - 1) / HEAP_ARITY;

		if (h->entries[parent].deadline_ns <= e.deadline_ns)
			break;
		place(h, slot, h->entries[parent]);
		slot = parent;
	}
	place(h, slot, e);
}

/* The child of `slot` with the earliest deadline; `count` when it has none. */
static uint32_t first_child(const struct timer_heap *h, uint32_t slot)
{
	const uint32_t begin = slot * HEAP_ARITY + 1;
	const uint32_t end = begin + HEAP_ARITY < h->count ? begin + HEAP_ARITY : h->count;
	uint32_t first = begin;

	if (begin >= h->count)
		return h->count;
	for (uint32_t i = begin + 1; i < end; i++)
		if (h->entries[i].deadline_ns < h->entries[first].deadline_ns)
			first = i;
	return first;
}

/* Finds a place for `e` at or below the hole at `slot`. */
static void sift_down(struct timer_heap *h, uint32_t slot, struct timer_entry e)
{
	for (;;) {
		const uint32_t child = first_child(h, slot);

		if (child == h->count || h->entries[child].deadline_ns >= e.deadline_ns)
			break;
		place(h, slot, h->entries[child]);
		slot = child;
	}
	place(h, slot, e);
}

/* At least a page: anything smaller would use one too. */
static uint32_t smallest_room(void)
{
	return sys_page_bytes() / (uint32_t)sizeof(struct timer_entry);
}

static int make_room(struct timer_heap *h)
{
	const uint32_t room = h->room != 0 ? h->room * 2 : smallest_room();
	struct timer_entry *entries;

	if (h->count < h->room)
		return 0;
	if (room > HEAP_ROOM_MAX)
		return -ENOMEM;
	/* Moving pages needs no copy and leaves no hole in the heap, so an idle session pays only for its
	 * entry. */
	if (h->entries == NULL)
		entries = mmap(NULL, room * sizeof(*entries), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		entries = mremap(h->entries, h->room * sizeof(*entries), room * sizeof(*entries),
				 MREMAP_MAYMOVE);
	if (entries == MAP_FAILED)
		return -ENOMEM;
	h->entries = entries;
	h->room = room;
	return 0;
}

void timer_heap_trim(struct timer_heap *h)
{
	uint32_t room = h->room;

	while (room > smallest_room() && room / 4 >= h->count)
		room /= 2;
	check(room >= h->count);
	if (room == h->room)
		return;
	if (mremap(h->entries, h->room * sizeof(*h->entries), room * sizeof(*h->entries), 0) != MAP_FAILED)
		h->room = room; /* shrinks in place: only the tail is unmapped */
}

static void check_set(const struct timer_heap *h, const struct timer *t)
{
	check(t->slot < h->count);
	check(h->entries[t->slot].timer == t);
}

int timer_set(struct timer_heap *h, struct timer *t, int64_t deadline_ns)
{
	const struct timer_entry e = {deadline_ns, t};
	int err;

	check(deadline_ns >= 0); /* otherwise a sum has overflowed */
	if (timer_is_set(t)) {
		check_set(h, t);
		if (deadline_ns < h->entries[t->slot].deadline_ns)
			sift_up(h, t->slot, e);
		else
			sift_down(h, t->slot, e);
		return 0;
	}
	err = make_room(h);
	if (err)
		return err;
	check(h->count < h->room);
	sift_up(h, h->count++, e);
	return 0;
}

void timer_cancel(struct timer_heap *h, struct timer *t)
{
	const uint32_t slot = t->slot;
	struct timer_entry last;

	if (!timer_is_set(t))
		return;
	check_set(h, t);
	t->slot = TIMER_UNSET;
	last = h->entries[--h->count];
	if (last.timer == t)
		return;
	/* The last entry comes from another branch: it may belong above the hole as well as below. */
	if (slot > 0 && last.deadline_ns < h->entries[(slot - 1) / HEAP_ARITY].deadline_ns)
		sift_up(h, slot, last);
	else
		sift_down(h, slot, last);
}

int64_t timer_deadline(const struct timer_heap *h, const struct timer *t)
{
	check_set(h, t);
	return h->entries[t->slot].deadline_ns;
}

int64_t timer_heap_next(const struct timer_heap *h)
{
	return h->count > 0 ? h->entries[0].deadline_ns : CLOCK_NEVER;
}

uint32_t timer_heap_run(struct timer_heap *h, int64_t now_ns, uint32_t max)
{
	uint32_t fired = 0;

	while (fired < max && h->count > 0 && h->entries[0].deadline_ns <= now_ns) {
		struct timer *t = h->entries[0].timer;

		check(t->slot == 0); /* otherwise cancelling it removes another one, and it fires for ever */
		timer_cancel(h, t);
		fired++;
		t->fire(t); /* may free `t`, and set or cancel any other */
	}
	return fired;
}
