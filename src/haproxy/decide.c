/* SPDX-License-Identifier: MIT
 *
 * decide.c - which of HAProxy's sections become ours, and why the others do not.
 *
 * Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

/* A section that only shows statistics. HAProxy shows none in mode tcp. */
static bool is_page(const struct proxy *p)
{
	const bool is_http = strcmp(slot_word(p, SLOT_MODE, 0), "http") == 0;
	bool shows = p->lists[LIST_STATS].count > 0;

	if (!IS_FRONT(p) || (!is_http && slot_on(p, SLOT_BACKEND)) || p->lists[LIST_SERVER].count > 0 ||
	    p->lists[LIST_ROUTE].count > 0)
		return false;
	for (size_t i = 0; i < p->all.count; i++)
		shows = shows || old_has_word(p->all.list[i], 1, "prometheus-exporter");
	return shows;
}

static bool terminates_tls(const struct proxy *p)
{
	size_t tls = 0;

	for (size_t i = 0; i < p->lists[LIST_BIND].count; i++)
		tls += old_has_word(p->lists[LIST_BIND].list[i], 2, "ssl");
	return tls > 0 && tls == p->lists[LIST_BIND].count;
}

static bool has_listener(const struct proxy *p)
{
	return p->lists[LIST_BIND].count > 0 || strchr(old_word(p->head, 2), ':') != NULL;
}

/* "${MODE:-tcp}" is taken as what it is by itself. */
static bool is_tcp(struct haproxy *h, const struct proxy *p)
{
	const char *mode = slot_word(p, SLOT_MODE, 0), *end = strstr(mode, ":-tcp}");

	if (mode[0] == '\0' || strcmp(mode, "tcp") == 0)
		return true;
	if (strncmp(mode, "${", 2) != 0 || end == NULL || end[6] != '\0')
		return false;
	old_set(h->arena, p->slots[SLOT_MODE].line, OLD_DIFFERENT, "mode tcp, whatever the variable says");
	return true;
}

static void decide(struct haproxy *h, struct proxy *p)
{
	if (!IS_FRONT(p) && !IS_BACK(p))
		return;
	if (is_page(p))
		p->is_page = true;
	else if (!is_tcp(h, p))
		p->why_not = arena_printf(h->arena, "mode %s: weir forwards TCP and reads no HTTP",
					  slot_word(p, SLOT_MODE, 0));
	else if (terminates_tls(p))
		p->why_not = "weir does not terminate TLS, it passes it through";
	else if (IS_BACK(p) && haproxy_only_tls_servers(p))
		p->why_not = "weir does not speak TLS to servers, it passes it through";
	else if (slot_on(p, SLOT_DISABLED))
		p->why_not = "the section is disabled";
	else if (p->kind == PROXY_BACKEND && p->lists[LIST_SERVER].count == 0 &&
		 haproxy_leader(h, p, 0) == NULL) /* else it is there to turn clients away */
		p->why_not = "a backend without servers, and no frontend leads there";
	else if (p->kind == PROXY_LISTEN && !has_listener(p))
		p->why_not = "a section without an address to listen on";
	else if (IS_FRONT(p) && p->lists[LIST_SERVER].count == 0 && haproxy_target(p, 0) == NULL)
		p->why_not = "no backend: HAProxy closes every client, and nothing listens there now";
}

/* A frontend whose backends are all left out is left out as well. */
static void decide_by_backends(struct haproxy *h, struct proxy *p)
{
	const struct proxy *to = NULL;
	const char *name;

	if (p->kind != PROXY_FRONTEND || p->why_not != NULL || p->is_page)
		return;
	for (size_t i = 0; (name = haproxy_target(p, i)) != NULL; i++) {
		const struct proxy *found = haproxy_find(h, BACKENDS, name);

		/* There is none, or HAProxy computes its name. */
		if (found == NULL || found->why_not == NULL)
			return;
		to = found;
	}
	if (to != NULL)
		p->why_not =
		    arena_printf(h->arena, "its backend '%s' is left out: %s", to->name, to->why_not);
}

/* ---- a listen whose own clients never get its servers ---- */

/* Does a line send every client of the section to another one? */
static bool sends_all_away(struct haproxy *h, const struct proxy *p)
{
	const char *name;

	for (size_t i = 0; (name = haproxy_target(p, i)) != NULL; i++) {
		const bool is_default = i == p->lists[LIST_ROUTE].count;

		if ((is_default || p->lists[LIST_ROUTE].list[i]->count == 2) &&
		    haproxy_find(h, BACKENDS, name) != NULL)
			return strcmp(name, p->name) != 0;
	}
	return false;
}

/* Do clients get to its servers nevertheless: from another section, or by a line of its own? */
static bool is_led_to(struct haproxy *h, struct proxy *p)
{
	const struct proxy *from;
	const char *name;

	for (size_t i = 0; (name = haproxy_target(p, i)) != NULL; i++)
		if (strcmp(name, p->name) == 0 || strchr(name, '%') != NULL)
			return true;
	for (size_t i = 0; (from = haproxy_leader(h, p, i)) != NULL; i++)
		if (from != p)
			return true;
	return false;
}

static void leave_servers(struct haproxy *h, struct proxy *p)
{
	static const enum list lists[] = {LIST_SERVER, LIST_USE};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t l = 0; l < p->lists[lists[i]].count; l++)
			old_set(h->arena, p->lists[lists[i]].list[l], OLD_NO_EFFECT,
				"HAProxy never uses the servers of a 'listen' whose clients all go to "
				"another backend");
}

/* The rules that hold for the clients of other sections as well. */
static struct old_lines content_rules(struct haproxy *h, const struct proxy *p)
{
	const struct old_lines *rules = &p->lists[LIST_RULE];
	struct old_lines kept = {.count = 0};

	for (size_t i = 0; i < rules->count; i++)
		if (strcmp(old_word(rules->list[i], 1), "content") == 0)
			old_lines_add(h->arena, &kept, rules->list[i]);
	return kept;
}

/* The servers become a backend, if clients get there, and the rest a frontend. */
static struct proxy *part_listen(struct haproxy *h, struct proxy *p)
{
	struct proxy *back = NULL;

	if (is_led_to(h, p)) {
		back = arena_alloc(h->arena, sizeof(*back));
		*back = *p;
		back->kind = PROXY_BACKEND;
		back->same_name = p;
		back->lists[LIST_BIND].count = 0;
		back->lists[LIST_ROUTE].count = 0;
		back->lists[LIST_RULE] = content_rules(h, p);
		back->slots[SLOT_BACKEND].line = NULL;
		index_put(h->arena, &h->names, back->name, back);
	} else {
		leave_servers(h, p);
	}
	p->kind = PROXY_FRONTEND;
	p->lists[LIST_SERVER].count = 0;
	p->lists[LIST_USE].count = 0;
	return back;
}

static void part_listens(struct haproxy *h)
{
	struct proxy **all = arena_alloc(h->arena, (2 * h->count + 1) * sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++) {
		struct proxy *p = h->proxies[i], *back = NULL;

		if (p->kind == PROXY_LISTEN && p->lists[LIST_SERVER].count > 0 && is_tcp(h, p) &&
		    sends_all_away(h, p))
			back = part_listen(h, p);
		all[count++] = p;
		if (back != NULL)
			all[count++] = back;
	}
	h->proxies = all;
	h->count = count;
}

void haproxy_decide(struct haproxy *h)
{
	haproxy_find_leaders(h);
	part_listens(h);
	for (size_t i = 0; i < h->count; i++)
		decide(h, h->proxies[i]);
	for (size_t i = 0; i < h->count; i++)
		decide_by_backends(h, h->proxies[i]);
}
