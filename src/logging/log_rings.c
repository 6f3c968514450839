/* SPDX-License-Identifier: MIT
 *
 * log_rings.c - the log rings of all threads, and their combined counts.
 *
 * Takes no records from them: the logwriter does. Main thread.
 */
#include "log_rings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "weir/base/check.h"

int log_rings_add(struct log_rings *r, struct log_ring *ring)
{
	struct log_ring **list = realloc(r->list, (r->count + 1) * sizeof(struct log_ring *));

	check(ring != NULL);
	if (list == NULL)
		return -ENOMEM;
	r->list = list;
	r->list[r->count++] = ring;
	return 0;
}

void log_rings_free(struct log_rings *r)
{
	free(r->list);
	r->list = NULL;
	r->count = 0;
}

bool log_rings_has_records(const struct log_rings *r, size_t i)
{
	check(i < r->count);
	return atomic_load_explicit(&r->list[i]->head, memory_order_acquire) !=
	       atomic_load_explicit(&r->list[i]->tail, memory_order_relaxed);
}

uint64_t log_rings_dropped(const struct log_rings *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += log_ring_dropped(r->list[i]);
	return n;
}

bool log_rings_has_left_out(const struct log_rings *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (log_ring_has_left_out(r->list[i]))
			return true;
	return false;
}

uint32_t log_rings_take_left_out(struct log_rings *r, enum log_cause cause)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += log_ring_take_left_out(r->list[i], cause);
	return n;
}
