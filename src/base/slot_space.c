/* SPDX-License-Identifier: MIT
 *
 * slot_space.c - numbers for things that come and go, and the tables that have an entry for each number.
 *
 * Owns the map of numbers that are taken; borrows the tables. Control thread.
 */
#include "weir/base/slot_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

#define WORD_BITS 64u
#define WORDS_MIN 4u

void slot_space_init(struct slot_space *s)
{
	list_init(&s->tables);
	s->taken = NULL;
	s->words = 0;
	s->count = 0;
	atomic_init(&s->peak, 0);
}

void slot_space_free(struct slot_space *s)
{
	check(list_empty(&s->tables));
	free(s->taken);
	s->taken = NULL;
	s->words = 0;
}

int slot_space_add_table(struct slot_space *s, struct chunks *table)
{
	const uint32_t peak = slot_space_peak(s);

	check(list_empty(&table->link));
	for (uint32_t i = 0; i < peak; i++) {
		const int err = chunks_reserve(table, i);

		if (err)
			return err;
	}
	list_push_back(&s->tables, &table->link);
	return 0;
}

void slot_space_remove_table(struct slot_space *s, struct chunks *table)
{
	(void)s;
	list_remove(&table->link);
}

/* The lowest free number; words * WORD_BITS when all are taken. */
static uint32_t lowest_free(const struct slot_space *s)
{
	for (size_t i = 0; i < s->words; i++)
		if (~s->taken[i] != 0)
			return (uint32_t)(i * WORD_BITS) + (uint32_t)__builtin_ctzll(~s->taken[i]);
	return (uint32_t)(s->words * WORD_BITS);
}

/* Makes room in the map for `number`. */
static int widen(struct slot_space *s, uint32_t number)
{
	const size_t words = s->words > 0 ? s->words * 2 : WORDS_MIN;
	uint64_t *wider;

	if (number / WORD_BITS < s->words)
		return 0;
	wider = realloc(s->taken, words * sizeof(*wider));
	if (wider == NULL)
		return -ENOMEM;
	memset(wider + s->words, 0, (words - s->words) * sizeof(*wider));
	s->taken = wider;
	s->words = words;
	return 0;
}

static int make_entries(struct slot_space *s, uint32_t number)
{
	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next) {
		const int err = chunks_reserve(list_entry(l, struct chunks, link), number);

		if (err)
			return err;
	}
	return 0;
}

int slot_space_take(struct slot_space *s, uint32_t *number)
{
	const uint32_t n = lowest_free(s);
	int err = n < CHUNKS_LIMIT ? widen(s, n) : -ENOSPC;

	if (!err)
		err = make_entries(s, n); /* on failure, the next one to take it finds the room */
	if (err)
		return err;
	s->taken[n / WORD_BITS] |= UINT64_C(1) << n % WORD_BITS;
	s->count++;
	if (n >= slot_space_peak(s))
		atomic_store_explicit(&s->peak, n + 1, memory_order_release);
	*number = n;
	return 0;
}

static void empty_entries(struct slot_space *s, uint32_t number)
{
	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next) {
		const struct chunks *table = list_entry(l, struct chunks, link);

		if (table->emptied)
			memset(chunks_at(table, number), 0, table->size);
	}
}

void slot_space_put(struct slot_space *s, uint32_t number)
{
	const uint64_t bit = UINT64_C(1) << number % WORD_BITS;

	check(number / WORD_BITS < s->words);
	check(s->taken[number / WORD_BITS] & bit);
	check(s->count > 0);
	s->taken[number / WORD_BITS] &= ~bit;
	s->count--;
	empty_entries(s, number);
}
