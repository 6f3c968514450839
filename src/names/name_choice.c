/* SPDX-License-Identifier: MIT
 *
 * name_choice.c - which of the addresses of a name is used.
 *
 * Pure. Any thread.
 */
#include "weir/names/name_choice.h"

#include <stdbool.h>

#include "weir/base/check.h"

/* Both are of one list. */
static bool is_better(const struct name_address *a, const struct name_address *b)
{
	const bool is_ip4 = a->addr.sa.sa_family == AF_INET;

	if (is_ip4 != (b->addr.sa.sa_family == AF_INET))
		return is_ip4;
	return a->rank != b->rank ? a->rank < b->rank : a < b;
}

const struct name_address *name_choice_next(const struct name_address *list, size_t count,
					    const struct name_address *than)
{
	const struct name_address *best = NULL;

	for (size_t i = 0; i < count; i++)
		if ((than == NULL || is_better(than, &list[i])) &&
		    (best == NULL || is_better(&list[i], best)))
			best = &list[i];
	return best;
}

const struct addr *name_choice_of(const struct name_address *list, size_t count, const struct addr *now)
{
	check(count > 0);
	for (size_t i = 0; now != NULL && i < count; i++)
		if (addr_equal(&list[i].addr, now))
			return now;
	return &name_choice_next(list, count, NULL)->addr;
}
