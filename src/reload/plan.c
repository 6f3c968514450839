/* SPDX-License-Identifier: MIT
 *
 * plan.c - what a new configuration changes: each part of it beside the live object that it meets.
 *
 * Owns the lists of a plan. Control thread.
 */
#include "weir/reload/plan.h"

#include <stdlib.h>

void plan_free(struct plan *p)
{
	for (size_t i = 0; i < p->backend_count; i++)
		free(p->backends[i].servers);
	for (size_t i = 0; i < p->frontend_count; i++)
		free(p->frontends[i].binds);
	free(p->backends);
	free(p->frontends);
	free(p->logs);
	*p = (struct plan){0};
}
