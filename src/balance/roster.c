/* SPDX-License-Identifier: MIT
 *
 * roster.c - who may be chosen now.
 *
 * Built by control; shared and freed by any thread. Floor 3.
 */
#include "sluice/balance/roster.h"

#include <stdlib.h>

#include "sluice/balance/backend.h"
#include "sluice/base/check.h"

struct roster *roster_new(const struct backend *b, uint64_t number)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	atomic_init(&r->refs, 1);
	r->number = number;
	r->by_place = calloc(b->server_count + 1, sizeof(*r->by_place));
	if (r->by_place == NULL) {
		free(r);
		return NULL;
	}
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];
		const unsigned weight = atomic_load_explicit(&s->eweight, memory_order_relaxed);

		if (!server_usable(s) || weight == 0)
			continue;
		r->weight += weight;
		r->by_place[r->count++] = (struct roster_entry){s, weight, r->weight};
	}
	return r;
}

struct roster *roster_ref(struct roster *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void roster_unref(struct roster *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(r->by_place);
	free(r->by_key);
	free(r->maglev);
	free(r->ring);
	free(r);
}
