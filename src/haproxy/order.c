/* SPDX-License-Identifier: MIT
 *
 * order.c - the order of servers for `balance first`, which HAProxy takes from their ids.
 *
 * weir takes it from the file. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"

/* The number behind `id`; 0 if the line has none. */
static unsigned long id_of(const struct old_line *line)
{
	for (size_t i = 3; i + 1 < line->count; i++)
		if (strcmp(line->words[i], "id") == 0)
			return strtoul(line->words[i + 1], NULL, 10);
	return 0;
}

static bool is_taken(const struct old_lines *lines, unsigned long id)
{
	for (size_t i = 0; i < lines->count; i++)
		if (id_of(lines->list[i]) == id)
			return true;
	return false;
}

void haproxy_order(struct haproxy *h, struct proxy *p)
{
	struct old_lines *lines = &p->lists[LIST_SERVER];
	unsigned long *ids = arena_alloc(h->arena, (lines->count + 1) * sizeof(*ids)), next = 1;
	bool any = false;

	if (strcmp(slot_word(p, SLOT_BALANCE, 0), "first") != 0)
		return;
	for (size_t i = 0; i < lines->count; i++)
		any = any || id_of(lines->list[i]) != 0;
	if (!any)
		return;
	/* Without `id`, HAProxy gives a server the next number that no line has. */
	for (size_t i = 0; i < lines->count; i++, next++) {
		ids[i] = id_of(lines->list[i]);
		while (ids[i] == 0 && is_taken(lines, next))
			next++;
		ids[i] = ids[i] != 0 ? ids[i] : next;
	}
	for (size_t i = 1; i < lines->count; i++) {
		for (size_t k = i; k > 0 && ids[k - 1] > ids[k]; k--) {
			struct old_line *line = lines->list[k];
			const unsigned long id = ids[k];

			lines->list[k] = lines->list[k - 1];
			ids[k] = ids[k - 1];
			lines->list[k - 1] = line;
			ids[k - 1] = id;
		}
	}
}
