/* SPDX-License-Identifier: MIT
 *
 * sticky_control.c - tables of clients as control sees them: read, cleared, aged, moved.
 *
 * Walks a part a batch at a time, so that a worker waits for its lock for a moment only. A move, which
 * happens when the size is changed, merges the orders of use of all parts in steps, and workers that look for
 * a client meanwhile take its entry along (sticky_lock_place()). Until it has ended, a question about the
 * table is one about both. Control thread.
 */
#include <string.h>

#include "sticky_parts.h"

/* The most that is removed under one lock. */
#define AGE_BATCH 64
/* The most that is looked at. */
#define READ_BATCH 256u
/* The most that is moved under one lock; each may be the first on a page. */
#define MOVE_BATCH   16
/* Batches of one step. As the parts take turns, most have one entry or two. */
#define STEP_BATCHES 512
#define PAGE_BYTES   4096
/* No entry expires then. */
#define NOTHING INT64_MIN

/* ---- control ---- */

static unsigned own_parts(const struct sticky_table *t)
{
	return 1u << t->part_bits;
}

/* The one that has its entries in the end. */
static const struct sticky_table *last_of(const struct sticky_table *t)
{
	while (t->to != NULL)
		t = t->to;
	return t;
}

/* A part has at most 1 MiB of chains: that is done sooner than its entries are removed. */
static uint32_t clear_part(const struct sticky_table *t, struct sticky_part *p)
{
	uint32_t cleared;

	spinlock_lock(&p->lock);
	cleared = sticky_used_of(p);
	if (cleared > 0) {
		sticky_forget(p);
		memset(p->chains, 0, sizeof(*p->chains) << t->chain_bits);
	}
	spinlock_unlock(&p->lock);
	return cleared;
}

uint32_t sticky_table_clear(struct sticky_table *t, const struct sticky_key *k)
{
	uint32_t cleared = 0;

	if (k != NULL) {
		const struct sticky_place at = sticky_lock_place(t, k);
		const uint32_t n = sticky_find(at.part, sticky_chain_of(at.table, at.part, at.hash), k);

		if (n != 0)
			sticky_drop(at.table, at.part, n);
		spinlock_unlock(&at.part->lock);
		return n != 0;
	}
	for (; t != NULL; t = t->to)
		for (unsigned i = 0; i < own_parts(t); i++)
			cleared += clear_part(t, &t->parts[i]);
	return cleared;
}

static void age_part(const struct sticky_table *t, struct sticky_part *p, int64_t now_ns)
{
	int batch, aged = 0;

	do {
		spinlock_lock(&p->lock);
		batch = sticky_drop_expired(t, p, now_ns, AGE_BATCH);
		spinlock_unlock(&p->lock);
		aged += batch;
	} while (batch == AGE_BATCH && aged < STICKY_AGED_MAX);
}

void sticky_table_age(struct sticky_table *t, int64_t now_ns)
{
	for (; t != NULL; t = t->to)
		for (unsigned i = 0; i < own_parts(t); i++)
			age_part(t, &t->parts[i], now_ns);
}

static uint32_t own_used(const struct sticky_table *t)
{
	uint32_t used = 0;

	for (unsigned i = 0; i < own_parts(t); i++)
		used += sticky_used_of(&t->parts[i]);
	return used;
}

uint32_t sticky_table_used(const struct sticky_table *t)
{
	uint32_t used = 0;

	for (; t != NULL; t = t->to)
		used += own_used(t);
	return used;
}

uint32_t sticky_table_size(const struct sticky_table *t)
{
	return last_of(t)->size;
}

unsigned sticky_table_parts(const struct sticky_table *t)
{
	unsigned parts = 0;

	for (; t != NULL; t = t->to)
		parts += own_parts(t);
	return parts;
}

static struct sticky_row row_of(const struct sticky_table *t, const struct sticky_part *p, uint32_t n)
{
	const struct sticky_entry *e = &p->entries[n];

	return (struct sticky_row){
		.key = sticky_key_at(p, n),
		.server = e->server,
		.expires_ns = e->expires_ns,
		.part = (unsigned)(p - t->parts),
		.number = n,
	};
}

size_t sticky_table_read(struct sticky_table *t, unsigned part, uint32_t *next, struct sticky_row *rows,
			 size_t room)
{
	struct sticky_part *p;
	size_t count = 0;
	uint32_t n = *next;

	check(part < sticky_table_parts(t));
	check(n > 0);
	for (; part >= own_parts(t); t = t->to)
		part -= own_parts(t);
	p = &t->parts[part];
	spinlock_lock(&p->lock);
	for (unsigned steps = 0; steps < READ_BATCH && n <= p->touched && count < room; steps++, n++)
		if (p->entries[n].family != 0)
			rows[count++] = row_of(t, p, n);
	*next = n <= p->touched ? n : 0;
	spinlock_unlock(&p->lock);
	return count;
}

bool sticky_table_find(struct sticky_table *t, const struct sticky_key *k, struct sticky_row *row)
{
	const struct sticky_place at = sticky_lock_place(t, k);
	const uint32_t n = sticky_find(at.part, sticky_chain_of(at.table, at.part, at.hash), k);

	if (n != 0)
		*row = row_of(at.table, at.part, n);
	spinlock_unlock(&at.part->lock);
	return n != 0;
}

/* ---- moving ---- */

static void touch_pages(void *memory, size_t bytes)
{
	volatile char *at = memory;

	for (size_t i = 0; i < bytes; i += PAGE_BYTES)
		at[i] = 0;
}

/* The kernel gives pages, huge ones too, now, when nobody waits, not under a lock. Nobody else has the table,
 * and all of it is 0. */
static void prepare_pages(struct sticky_table *t, unsigned part, uint32_t entries)
{
	const uint32_t each = entries / own_parts(t);
	const struct sticky_part *p = &t->parts[part];
	const uint32_t count = each < p->room ? each : p->room;

	check(p->touched == 0);
	touch_pages(p->entries, count * sizeof(*p->entries));
	if (p->hosts != NULL)
		touch_pages(p->hosts, count * sizeof(*p->hosts));
	touch_pages(p->chains, sizeof(*p->chains) << t->chain_bits);
}

/* When the entry of the part that was used last expires; NOTHING = the part is empty. */
static int64_t newest_of(const struct sticky_part *p)
{
	const uint32_t n = p->entries[0].older;

	return n != 0 ? p->entries[n].expires_ns : NOTHING;
}

/* From now on, clients of this part belong to `to`, and take their entries along. */
static int64_t open_part(struct sticky_part *p, struct sticky_table *to)
{
	int64_t newest;

	spinlock_lock(&p->lock);
	check(p->to == NULL);
	p->to = to;
	newest = newest_of(p);
	spinlock_unlock(&p->lock);
	return newest;
}

/* Behind all others in the order of use: those that came before it were used later. False: there was no
 * room. */
static bool move_newest(struct sticky_part *p, struct sticky_table *to)
{
	const struct sticky_key k = sticky_key_at(p, p->entries[0].older);
	const struct sticky_place at = sticky_lock_here(to, &k);
	const bool fits = sticky_used_of(at.part) < at.part->room;

	check(at.part->to == NULL);
	if (fits)
		sticky_carry(p, p->entries[0].older, &at, sticky_oldest(at.part));
	else
		sticky_leave(p, p->entries[0].older);
	spinlock_unlock(&at.part->lock);
	return fits;
}

/* Moves what was used last of this part, as far as no other part has anything that was used after it. Sets
 * `*newest` as newest_of(). False: for some there was no room. */
static bool move_batch(struct sticky_part *p, struct sticky_table *to, int64_t others, int64_t *newest)
{
	bool fit = true;

	spinlock_lock(&p->lock);
	*newest = newest_of(p);
	for (int i = 0; i < MOVE_BATCH && *newest != NOTHING && *newest >= others; i++) {
		fit = move_newest(p, to) && fit;
		*newest = newest_of(p);
	}
	spinlock_unlock(&p->lock);
	return fit;
}

/* What is still in it is not found any more. */
static void close_part(struct sticky_part *p)
{
	spinlock_lock(&p->lock);
	sticky_forget(p);
	spinlock_unlock(&p->lock);
}

/* The part with the newest entry, and when the newest one of all others expires. */
static unsigned newest_part(const int64_t *newest, unsigned parts, int64_t *others)
{
	unsigned best = 0;

	*others = NOTHING;
	for (unsigned i = 1; i < parts; i++) {
		const int64_t less = newest[i] > newest[best] ? newest[best] : newest[i];

		if (newest[i] > newest[best])
			best = i;
		if (less > *others)
			*others = less;
	}
	return best;
}

static void end_move(struct sticky_table *t)
{
	for (unsigned i = 0; i < own_parts(t); i++)
		close_part(&t->parts[i]);
	t->moving = STICKY_STAYS;
}

/* `newest` may be behind: workers take entries out of a part, and put none into it, so that its newest is
 * not newer than that. */
static void move_some(struct sticky_table *t)
{
	struct sticky_table *to = t->to;

	for (int n = 0; n < STEP_BATCHES; n++) {
		int64_t others;
		const unsigned i = newest_part(t->newest, own_parts(t), &others);
		const bool is_done = t->newest[i] == NOTHING;

		if (is_done || (!move_batch(&t->parts[i], to, others, &t->newest[i]) &&
				own_used(to) == to->size)) {
			end_move(t);
			return;
		}
	}
}

void sticky_table_begin_move(struct sticky_table *t, struct sticky_table *to)
{
	check(to != t);
	check(to->kind == t->kind);
	check(t->to == NULL);
	check(to->to == NULL);
	t->to = sticky_table_hold(to);
	t->moving = STICKY_PREPARES;
	t->prepared = 0;
}

bool sticky_table_step_move(struct sticky_table *t)
{
	switch (t->moving) {
	case STICKY_STAYS:
		break;
	case STICKY_PREPARES:
		prepare_pages(t->to, t->prepared++, own_used(t));
		if (t->prepared == own_parts(t->to))
			t->moving = STICKY_OPENS;
		break;
	case STICKY_OPENS:
		for (unsigned i = 0; i < own_parts(t); i++)
			t->newest[i] = open_part(&t->parts[i], t->to);
		t->moving = STICKY_MOVES;
		break;
	case STICKY_MOVES:
		move_some(t);
		break;
	}
	return t->moving != STICKY_STAYS;
}

struct sticky_table *sticky_table_to(const struct sticky_table *t)
{
	return t->to;
}
