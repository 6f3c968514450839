/* SPDX-License-Identifier: MIT
 *
 * use_server.c - use-server: clients of a backend that go to one of its servers.
 *
 * Such a server gets a backend of its own (own_server.c fills it), and the frontends get routes that
 * lead there. Main thread.
 */
#include <string.h>

#include "route.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

#define BACKENDS   (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)
#define ROUTES_MAX 4000 /* for them, in all frontends; and servers that they name */

/* ---- sections ---- */

static struct old_line *find_server(const struct proxy *p, const char *name)
{
	const struct old_lines *servers = &p->lists[LIST_SERVER];

	for (size_t i = 0; i < servers->count; i++)
		if (strcmp(servers->list[i]->words[0], "server") == 0 &&
		    strcmp(old_word(servers->list[i], 1), name) == 0)
			return servers->list[i];
	return NULL;
}

void haproxy_use_server_sections(struct haproxy *h, struct proxy *p)
{
	const struct old_lines *rules = &p->lists[LIST_USE];

	if (!IS_BACK(p) || rules->count == 0)
		return;
	/* Only what is no listen can be a fallback. */
	if (p->kind == PROXY_LISTEN) {
		p->back = ini_section(h->ini, IN_BACKEND, p->out->name, p->head);
		p->back->left_out = true;
	}
	for (size_t i = 0; i < rules->count && i < USE_RULES_MAX; i++) {
		const char *name = old_word(rules->list[i], 1);
		struct own_server *own = index_find(&p->own, name);

		if (own != NULL)
			continue;
		own = arena_alloc(h->arena, sizeof(*own));
		*own = (struct own_server){.name = name, .server = find_server(p, name)};
		if (own->server != NULL && h->new_names.count < ROUTES_MAX) {
			own->out = ini_section(
			    h->ini, IN_BACKEND,
			    haproxy_new_name(h, arena_printf(h->arena, "%s-%s", p->name, name)), p->head);
			own->out->left_out = true;
		}
		index_put(h->arena, &p->own, name, own);
	}
}

/* ---- routes ---- */

void haproxy_line_terms(struct haproxy *h, struct proxy *p, const struct old_line *line, struct condition *c)
{
	*c = (struct condition){.count = 1};
	if (line->count > 3)
		haproxy_terms(h, p, line->words + 3, line->count - 3,
			      strcmp(old_word(line, 2), "unless") == 0, c);
}

/* Both must hold: each alternative of one with each of the other. */
static void add_condition(struct haproxy *h, struct condition *c, const struct condition *other)
{
	struct condition both = {.count = 0, .error = c->error != NULL ? c->error : other->error};

	for (size_t i = 0; i < c->count; i++)
		for (size_t n = 0; n < other->count && both.error == NULL; n++) {
			const size_t first = c->counts[i], second = other->counts[n];

			if (both.count == ARRAY_LEN(both.all)) {
				both.error = "too many alternatives";
				break;
			}
			both.all[both.count] =
			    arena_alloc(h->arena, (first + second + 1) * sizeof(struct term *));
			for (size_t t = 0; t < first + second; t++) {
				struct term *copy = arena_alloc(h->arena, sizeof(*copy));

				*copy = *(t < first ? c->all[i][t] : other->all[n][t - first]);
				both.all[both.count][t] = copy;
			}
			both.counts[both.count++] = first + second;
		}
	*c = both;
}

void haproxy_route_terms(struct haproxy *h, struct proxy *p, const struct use_line *route,
			 struct condition *c)
{
	struct condition lead;

	haproxy_line_terms(h, route->to != NULL ? route->owner : p, route->line, c);
	if (route->via == NULL || route->via->count < 4)
		return;
	haproxy_line_terms(h, p, route->via, &lead);
	add_condition(h, c, &lead);
}

/* The list while it is made. */
struct listing {
	struct haproxy *h;
	struct use_line *list;
	size_t count;
};

static void append(struct listing *l, struct use_line route)
{
	l->list = arena_grow(l->h->arena, l->list, l->count, sizeof(*l->list));
	l->list[l->count++] = route;
}

/* The rules of the backend that a line leads to. */
static void append_rules(struct listing *l, struct proxy *back, struct old_line *via)
{
	for (size_t i = 0; back != NULL && back->out != NULL && i < back->lists[LIST_USE].count; i++) {
		struct old_line *line = back->lists[LIST_USE].list[i];
		struct own_server *own = index_find(&back->own, old_word(line, 1));

		if (i >= USE_RULES_MAX || l->h->use_routes++ >= ROUTES_MAX)
			old_set(l->h->arena, line, OLD_LOST, "more than %d rules; " USE_SERVER_LOST,
				i >= USE_RULES_MAX ? USE_RULES_MAX : ROUTES_MAX, back->name);
		else if (own == NULL || own->out == NULL)
			old_set(l->h->arena, line, OLD_LOST, "there is no line 'server %s'; " USE_SERVER_LOST,
				old_word(line, 1), back->name);
		else
			append(l, (struct use_line){line, own, back, via});
	}
}

struct use_line *haproxy_route_list(struct haproxy *h, struct proxy *p, size_t *count)
{
	const struct old_lines *lines = &p->lists[LIST_ROUTE];
	struct listing l = {.h = h};
	struct proxy *last = p->kind == PROXY_LISTEN ? p : NULL;

	for (size_t i = 0; i < lines->count; i++) {
		append_rules(&l, haproxy_find(h, BACKENDS, old_word(lines->list[i], 1)), lines->list[i]);
		append(&l, (struct use_line){.line = lines->list[i]});
	}
	if (slot_on(p, SLOT_BACKEND))
		last = haproxy_find(h, BACKENDS, slot_word(p, SLOT_BACKEND, 0));
	append_rules(&l, last, NULL);
	*count = l.count;
	return l.list;
}

void haproxy_use_server_taken(struct haproxy *h, struct proxy *p, const struct use_line *route)
{
	struct old_line *lead = route->via != NULL ? route->via : p->slots[SLOT_BACKEND].line;

	if (route->to == NULL)
		return;
	if (route->line->fate == OLD_LOST)
		old_set(h->arena, route->line, OLD_LOST, USE_SERVER_LOST, route->owner->name);
	else if (lead != NULL && (route->line->fate == OLD_CARRIED || route->line->fate == OLD_DIFFERENT))
		old_set(h->arena, lead, OLD_CARRIED, NULL);
}
