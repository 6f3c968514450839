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
	struct log_rings_entry *list = realloc(r->list, (r->count + 1) * sizeof(*list));

	check(ring != NULL);
	if (list == NULL)
		return -ENOMEM;
	r->list = list;
	r->list[r->count++] = (struct log_rings_entry){.ring = ring};
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
	return atomic_load_explicit(&r->list[i].ring->head, memory_order_acquire) !=
	       atomic_load_explicit(&r->list[i].ring->tail, memory_order_relaxed);
}

uint64_t log_rings_dropped(const struct log_rings *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += log_ring_dropped(r->list[i].ring);
	return n;
}

bool log_rings_has_left_out(const struct log_rings *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (log_ring_has_left_out(r->list[i].ring))
			return true;
	return false;
}

uint32_t log_rings_take_left_out(struct log_rings *r, enum log_cause cause)
{
	uint32_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += log_ring_take_left_out(r->list[i].ring, cause);
	return n;
}

static void note_marks(struct log_rings *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->list[i].mark = log_ring_written(r->list[i].ring);
	r->noted = r->marks;
}

bool log_rings_are_awaited(const struct log_rings *r)
{
	return r->read < r->marks;
}

bool log_rings_is_awaited(const struct log_rings *r, size_t i)
{
	check(i < r->count);
	return r->read < r->noted && !log_ring_is_read_to(r->list[i].ring, r->list[i].mark);
}

static bool is_read(const struct log_rings *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (log_rings_is_awaited(r, i))
			return false;
	return true;
}

bool log_rings_note_read(struct log_rings *r)
{
	const uint64_t before = r->read;

	while (log_rings_are_awaited(r) && is_read(r)) {
		r->read = r->noted;
		note_marks(r);
	}
	return r->read != before;
}

uint64_t log_rings_mark(struct log_rings *r)
{
	const bool first = !log_rings_are_awaited(r);
	const uint64_t number = ++r->marks;

	if (first) {
		note_marks(r);
		(void)log_rings_note_read(r); /* perhaps there is nothing to read */
	}
	return number;
}

bool log_rings_are_read_to(const struct log_rings *r, uint64_t number)
{
	check(number <= r->marks);
	return r->read >= number;
}
