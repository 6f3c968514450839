/* SPDX-License-Identifier: MIT
 *
 * fallback.c - where the clients of a backend go while it has no server: to its fallback-backend.
 *
 * Control thread, but for the question where clients go: any thread.
 */
#include "weir/balance/fallback.h"

#include "weir/balance/outage.h"

void backend_set_fallback(struct backend *b, struct backend *to)
{
	atomic_store_explicit(&b->fallback, to, memory_order_release);
	b->leads_on = b->leads_on || to != NULL;
}

const struct backend *backend_serving(const struct backend *b)
{
	const struct backend *first = b;

	/* The limit is for links of two configurations at once, which may form a circle. */
	for (unsigned n = 0; n < CONFIG_FALLBACK_MAX && backend_roster(b)->count == 0; n++) {
		const struct backend *next = backend_fallback(b);

		if (next == NULL || (b != first && outage_has_trial(b)))
			break;
		b = next;
	}
	return b;
}
