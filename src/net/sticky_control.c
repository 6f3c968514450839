/* SPDX-License-Identifier: MIT
 *
 * sticky_control.c - tables of clients as control sees them: read, cleared, aged, moved.
 *
 * Walks a part a batch at a time, so that a worker waits for its lock for a moment only. A move, which
 * happens when the size is changed, merges the orders of use of all parts, and workers that look for a client
 * meanwhile take its entry along (sticky_lock_place()). Control thread.
 */
#include "sticky_parts.h"

/* The most that is removed under one lock. */
#define AGE_BATCH 64
/* The most that is looked at. */
#define READ_BATCH 256u
/* The most that is moved under one lock; each may be the first on a page. */
#define MOVE_BATCH 16
#define PAGE_BYTES 4096
/* No entry expires then. */
#define NOTHING INT64_MIN

/* ---- control ---- */

static uint32_t clear_part(struct sticky_table *t, struct sticky_part *p)
{
	uint32_t cleared = 0;
	int batch;

	do {
		spinlock_lock(&p->lock);
		batch = sticky_drop_expired(t, p, INT64_MAX, AGE_BATCH);
		spinlock_unlock(&p->lock);
		cleared += (uint32_t)batch;
	} while (batch == AGE_BATCH);
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
	for (unsigned i = 0; i < sticky_table_parts(t); i++)
		cleared += clear_part(t, &t->parts[i]);
	return cleared;
}

void sticky_table_age(struct sticky_table *t, int64_t now_ns)
{
	for (unsigned i = 0; i < sticky_table_parts(t); i++) {
		struct sticky_part *p = &t->parts[i];
		int batch, aged = 0;

		do {
			spinlock_lock(&p->lock);
			batch = sticky_drop_expired(t, p, now_ns, AGE_BATCH);
			spinlock_unlock(&p->lock);
			aged += batch;
		} while (batch == AGE_BATCH && aged < STICKY_AGED_MAX);
	}
}

uint32_t sticky_table_used(const struct sticky_table *t)
{
	uint32_t used = 0;

	for (unsigned i = 0; i < sticky_table_parts(t); i++)
		used += sticky_used_of(&t->parts[i]);
	return used;
}

uint32_t sticky_table_size(const struct sticky_table *t)
{
	return t->size;
}

unsigned sticky_table_parts(const struct sticky_table *t)
{
	return 1u << t->part_bits;
}

static struct sticky_row row_of(const struct sticky_table *t, const struct sticky_part *p, uint32_t n)
{
	const struct sticky_entry *e = &p->entries[n];

	return (struct sticky_row){
		.key = sticky_key_of_entry(e),
		.server = e->server,
		.expires_ns = e->expires_ns,
		.part = (unsigned)(p - t->parts),
		.number = n,
	};
}

size_t sticky_table_read(struct sticky_table *t, unsigned part, uint32_t *next, struct sticky_row *rows,
			 size_t room)
{
	struct sticky_part *p = &t->parts[part];
	size_t count = 0;
	uint32_t n = *next;

	check(part < sticky_table_parts(t));
	check(n > 0);
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
static void prepare_pages(struct sticky_table *t, uint32_t entries)
{
	const uint32_t each = entries / sticky_table_parts(t);

	for (unsigned i = 0; i < sticky_table_parts(t); i++) {
		const struct sticky_part *p = &t->parts[i];

		check(p->touched == 0);
		touch_pages(p->entries, (each < p->room ? each : p->room) * sizeof(*p->entries));
		touch_pages(p->chains, sizeof(*p->chains) << t->chain_bits);
	}
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
	const struct sticky_entry *e = &p->entries[p->entries[0].older];
	const struct sticky_key k = sticky_key_of_entry(e);
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

/* `newest` may be behind: workers take entries out of a part, and put none into it, so that its newest is
 * not newer than that. */
void sticky_table_move(struct sticky_table *t, struct sticky_table *to)
{
	const unsigned parts = sticky_table_parts(t);
	int64_t newest[STICKY_PARTS_MAX];
	bool full = false;

	check(to != t);
	check(t->to == NULL);
	prepare_pages(to, sticky_table_used(t));
	t->to = sticky_table_hold(to);
	for (unsigned i = 0; i < parts; i++)
		newest[i] = open_part(&t->parts[i], to);
	while (!full) {
		int64_t others;
		const unsigned i = newest_part(newest, parts, &others);

		if (newest[i] == NOTHING)
			return;
		if (!move_batch(&t->parts[i], to, others, &newest[i]))
			full = sticky_table_used(to) == to->size;
	}
	for (unsigned i = 0; i < parts; i++)
		close_part(&t->parts[i]);
}
