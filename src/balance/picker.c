/* SPDX-License-Identifier: MIT
 *
 * picker.c - smooth weighted round robin, as nginx has it, one place for each worker.
 *
 * Owns what each server has saved up; takes no lock and looks at nothing of a server but its state
 * and its weight. With weights 5, 1, 1 it says a a b a c a a, not a a a a a b c. Worker thread.
 * Floor 3.
 */
#include <errno.h>
#include <stdlib.h>

#include "sluice/balance/backend.h"
#include "sluice/base/check.h"

int picker_init(struct picker *p, struct backend *b, unsigned skip)
{
	p->backend = b;
	p->current = NULL;
	if (b->server_count == 0)
		return 0;
	p->current = calloc(b->server_count, sizeof(*p->current));
	if (p->current == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < skip; i++)
		(void)picker_next(p, NULL); /* only the place matters */
	return 0;
}

void picker_free(struct picker *p)
{
	free(p->current);
	p->current = NULL;
	p->backend = NULL;
}

static bool can_take(const struct server *s)
{
	return s->config->weight > 0 && server_usable(s);
}

struct server *picker_next(struct picker *p, const struct server *avoid)
{
	struct backend *b = p->backend;
	size_t best = b->server_count;
	bool only_avoid = false;
	int total = 0;

	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = &b->servers[i];

		if (!can_take(s))
			continue;
		if (s == avoid) {
			only_avoid = true;
			continue;
		}
		p->current[i] += (int)s->config->weight;
		total += (int)s->config->weight;
		if (best == b->server_count || p->current[i] > p->current[best])
			best = i;
	}
	if (best < b->server_count) {
		p->current[best] -= total;
		return &b->servers[best];
	}
	/* Alone it is chosen every time: nothing is saved up and nothing is paid. */
	return only_avoid ? &b->servers[avoid->index] : NULL;
}
