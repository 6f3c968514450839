/* SPDX-License-Identifier: MIT
 *
 * sections.c - finds sections by name, and those that others lead to, however many there are. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "build.h"

/* Those of one name in their order. */
static int compare(const void *a, const void *b)
{
	const struct proxy *x = *(const struct proxy *const *)a, *y = *(const struct proxy *const *)b;
	const int order = strcmp(x->section->name, y->section->name);

	return order != 0 ? order : (x > y) - (x < y);
}

void build_sort_sections(struct build *b)
{
	size_t backends = 0;

	b->by_name = arena_alloc(b->diag->arena, (b->proxy_count + 1) * sizeof(*b->by_name));
	for (size_t i = 0; i < b->proxy_count; i++) {
		b->by_name[i] = &b->proxies[i];
		b->proxies[i].backend_number = backends;
		backends += build_is_backend(&b->proxies[i]);
	}
	if (b->proxy_count > 0)
		qsort(b->by_name, b->proxy_count, sizeof(*b->by_name), compare);
}

size_t build_first_of_name(const struct build *b, const char *name)
{
	size_t low = 0, high = b->proxy_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(b->by_name[middle]->section->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < b->proxy_count && strcmp(b->by_name[low]->section->name, name) == 0 ? low
											 : b->proxy_count;
}

static void mark(struct build *b, const struct proxy *from, const struct proxy *to)
{
	if (to != NULL && to != from)
		b->proxies[to - b->proxies].is_used = true;
}

/* That backend and its fallbacks, as build_reaches() follows them. */
static void mark_waiting(struct build *b, const struct proxy *to)
{
	for (unsigned n = 0; to != NULL && n <= CONFIG_FALLBACK_MAX; n++, to = to->fallback)
		b->proxies[to - b->proxies].waits = true;
}

void build_mark_used(struct build *b)
{
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];
		const bool waits = p->set.no_server == CONFIG_NO_SERVER_QUEUE;

		mark(b, p, p->target);
		mark(b, p, p->fallback);
		if (waits)
			mark_waiting(b, p->target);
		for (size_t r = 0; r < p->route_count; r++) {
			mark(b, p, p->routes[r].target);
			if (waits)
				mark_waiting(b, p->routes[r].target);
		}
	}
}
