/* SPDX-License-Identifier: MIT
 *
 * slot_space.h - numbers for things that come and go, and the tables that have an entry for each number.
 *
 * A number is taken when a thing is made and given back when nobody can use it any more; the lowest free one
 * is taken first, so that the tables follow the peak. Taking one makes room in all tables first: afterwards
 * nothing can fail. Control thread.
 */
#ifndef WEIR_BASE_SLOT_SPACE_H
#define WEIR_BASE_SLOT_SPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/chunks.h"
#include "weir/base/list.h"

struct slot_space {
	struct list tables; /* borrows struct chunks */
	uint64_t *taken;    /* owns: a bit for each number */
	size_t words;
	uint32_t count;	       /* numbers that are taken */
	_Atomic uint32_t peak; /* all numbers ever taken are below; any thread may read it */
};

/* Needs no memory. */
void slot_space_init(struct slot_space *s);
/* All tables must have left. */
void slot_space_free(struct slot_space *s);
/* Gives every number below the peak an entry in `table`, and later every new one. 0 or -ENOMEM, with the
 * table not added. */
int slot_space_add_table(struct slot_space *s, struct chunks *table);
/* Harmless for a table that was not added. */
void slot_space_remove_table(struct slot_space *s, struct chunks *table);
/* Takes a number, for which every table has an entry. 0, or with nothing taken: -ENOMEM, -ENOSPC. */
int slot_space_take(struct slot_space *s, uint32_t *number);
/* Gives it back. Its entries must be zero again, but for those of tables that are `emptied`. */
void slot_space_put(struct slot_space *s, uint32_t number);
/* All numbers ever taken are below this. Any thread. */
static inline uint32_t slot_space_peak(const struct slot_space *s)
{
	return atomic_load_explicit(&s->peak, memory_order_acquire);
}

#endif
