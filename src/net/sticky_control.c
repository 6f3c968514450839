/* SPDX-License-Identifier: MIT
 *
 * sticky_control.c - tables of clients as control sees them: read, cleared, aged, moved.
 *
 * Walks a part a batch at a time, so that a worker waits for its lock for a moment only; a move, which
 * happens when the size is changed, locks each part once for as long as it takes. Control thread.
 */
#include "sticky_parts.h"

/* The most that is removed under one lock. */
#define AGE_BATCH 64
/* The most that is looked at. */
#define READ_BATCH 256u

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
		int batch;

		do {
			spinlock_lock(&p->lock);
			batch = sticky_drop_expired(t, p, now_ns, AGE_BATCH);
			spinlock_unlock(&p->lock);
		} while (batch == AGE_BATCH);
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

/* Behind all others in the order of use: those that came before it were used later. */
static void move_one(struct sticky_table *to, const struct sticky_entry *e)
{
	const struct sticky_key k = sticky_key_of_entry(e);
	const struct sticky_place at = sticky_lock_place(to, &k);
	uint32_t *chain = sticky_chain_of(at.table, at.part, at.hash);

	if (sticky_find(at.part, chain, &k) == 0 && sticky_used_of(at.part) < at.part->room)
		sticky_add(at.part, chain, e, sticky_oldest(at.part));
	spinlock_unlock(&at.part->lock);
}

void sticky_table_move(struct sticky_table *t, struct sticky_table *to)
{
	check(to != t);
	check(t->to == NULL);
	t->to = sticky_table_hold(to);
	for (unsigned i = 0; i < sticky_table_parts(t); i++) {
		struct sticky_part *p = &t->parts[i];

		spinlock_lock(&p->lock);
		check(p->to == NULL);
		for (uint32_t n = p->entries[0].older; n != 0; n = p->entries[n].older)
			move_one(to, &p->entries[n]);
		p->to = to;
		spinlock_unlock(&p->lock);
	}
}
