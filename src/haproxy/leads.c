/* SPDX-License-Identifier: MIT
 *
 * leads.c - which sections send clients to which: by use_backend and default_backend.
 *
 * Read once for all sections: to look through all of them for each would take the square of their number.
 * Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"

/* The sections that name a backend, in their order, each once. */
struct leaders {
	struct proxy **list;
	size_t count;
};

const char *haproxy_target(const struct proxy *p, size_t i)
{
	const struct old_lines *routes = &p->lists[LIST_ROUTE];

	if (i < routes->count)
		return old_word(routes->list[i], 1);
	return i == routes->count && slot_on(p, SLOT_BACKEND) ? slot_word(p, SLOT_BACKEND, 0) : NULL;
}

static struct leaders *leaders_to(struct haproxy *h, const char *name)
{
	struct leaders *found = index_find(&h->leaders, name);

	if (found == NULL) {
		found = arena_alloc(h->arena, sizeof(*found));
		*found = (struct leaders){.list = NULL};
		index_put(h->arena, &h->leaders, name, found);
	}
	return found;
}

/* All names that HAProxy computes are one, which no section has. */
#define COMPUTED "%"

void haproxy_find_leaders(struct haproxy *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct proxy *p = h->proxies[i];
		const char *name;

		for (size_t t = 0; IS_FRONT(p) && (name = haproxy_target(p, t)) != NULL; t++) {
			struct leaders *l = leaders_to(h, strchr(name, '%') != NULL ? COMPUTED : name);

			if (l->count > 0 && l->list[l->count - 1] == p)
				continue;
			l->list = arena_grow(h->arena, l->list, l->count, sizeof(struct proxy *));
			l->list[l->count++] = p;
		}
	}
}

void haproxy_leads_no_more(struct haproxy *h, const struct proxy *from, const char *name)
{
	struct leaders *l = leaders_to(h, name);
	const char *other;
	size_t kept = 0;

	for (size_t t = 0; (other = haproxy_target(from, t)) != NULL; t++)
		if (strcmp(other, name) == 0)
			return; /* by another line */
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i] != from)
			l->list[kept++] = l->list[i];
	l->count = kept;
}

struct proxy *haproxy_leader(const struct haproxy *h, struct proxy *to, size_t i)
{
	const struct leaders *of_name = index_find(&h->leaders, to->name);
	const struct leaders *computed = index_find(&h->leaders, COMPUTED);
	const struct leaders *const both[] = {of_name, computed};

	if (to->kind == PROXY_LISTEN && i-- == 0)
		return to;
	for (size_t b = 0; b < ARRAY_LEN(both); b++) {
		if (both[b] != NULL && i < both[b]->count)
			return both[b]->list[i];
		i -= both[b] != NULL ? both[b]->count : 0;
	}
	return NULL;
}
