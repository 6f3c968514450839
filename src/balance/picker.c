/* SPDX-License-Identifier: MIT
 *
 * picker.c - one worker's choice among the servers of one backend.
 *
 * Owns what each server has saved up for smooth weighted round robin, as nginx has it: with weights 5, 1, 1
 * it says a a b a c a a, not a a a a a b c. Takes no lock unless the roster has changed. Worker
 * thread. Floor 3.
 */
#include "sluice/balance/picker.h"

#include <errno.h>
#include <stdlib.h>

#include "sluice/balance/backend.h"
#include "sluice/base/check.h"

int picker_init(struct picker *p, struct backend *b, unsigned skip)
{
	p->backend = b;
	p->current = NULL;
	p->roster = backend_roster(b);
	p->random = skip;
	p->current = calloc(b->server_count + 1, sizeof(*p->current));
	if (p->current == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < skip; i++) {
		const struct pick_request q = {0};
		struct server *s;

		if (picker_choose(p, &q, &s) == PICK_SERVER)
			server_leave(s); /* only the place matters */
	}
	return 0;
}

void picker_free(struct picker *p)
{
	if (p->roster != NULL)
		roster_unref(p->roster);
	free(p->current);
	p->roster = NULL;
	p->current = NULL;
	p->backend = NULL;
}

static void renew_roster(struct picker *p)
{
	if (likely(atomic_load_explicit(&p->backend->roster_number, memory_order_acquire) ==
		   p->roster->number))
		return;
	roster_unref(p->roster);
	p->roster = backend_roster(p->backend);
}

static struct server *next_in_turn(struct picker *p, const struct server *avoid)
{
	const struct roster *r = p->roster;
	struct server *best = NULL;
	struct server *only = NULL;
	int64_t total = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct server *s = r->by_place[i].server;

		if (s == avoid) {
			only = s;
			continue;
		}
		p->current[s->index] += r->by_place[i].weight;
		total += r->by_place[i].weight;
		if (best == NULL || p->current[s->index] > p->current[best->index])
			best = s;
	}
	if (best == NULL)
		return only; /* alone it is chosen every time: nothing is saved up and nothing is paid */
	p->current[best->index] -= total;
	return best;
}

enum pick picker_choose(struct picker *p, const struct pick_request *q, struct server **out)
{
	renew_roster(p);
	*out = next_in_turn(p, q->avoid);
	if (*out == NULL)
		return PICK_NONE;
	if (server_enter(*out))
		return PICK_SERVER;
	*out = NULL;
	return PICK_FULL;
}
