/* SPDX-License-Identifier: MIT
 *
 * history.c - the most recent changes of a server, each with its cause.
 *
 * Owns a ring of HISTORY_MAX changes, allocated at the first one: most servers never change. Control thread.
 */
#include "weir/balance/history.h"

#include <stdlib.h>

#include "weir/base/check.h"

void history_add(struct history *h, const struct history_change *change)
{
	if (h->changes == NULL)
		h->changes = calloc(HISTORY_MAX, sizeof(*h->changes));
	if (h->changes != NULL)
		h->changes[h->count % HISTORY_MAX] = *change;
	h->count++;
}

size_t history_size(const struct history *h)
{
	if (h->changes == NULL)
		return 0;
	return h->count < HISTORY_MAX ? h->count : HISTORY_MAX;
}

const struct history_change *history_get(const struct history *h, size_t i)
{
	check(i < history_size(h));
	return &h->changes[(h->count - history_size(h) + i) % HISTORY_MAX];
}

void history_free(struct history *h)
{
	free(h->changes);
	h->changes = NULL;
}
