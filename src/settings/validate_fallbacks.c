/* SPDX-License-Identifier: MIT
 *
 * validate_fallbacks.c - finds the backends that lines of fallback-backend name.
 *
 * A backend has at most one fallback, so that those behind it form a chain: it must end, and not be too long.
 * Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "build.h"

static const struct entry *line_of(const struct proxy *p)
{
	const struct option *o = option_find(IN_BACKEND, "fallback-backend").option;

	check(o != NULL);
	return p->from[o - options];
}

/* The name in its line. */
static struct at name_at(const struct proxy *p)
{
	struct at at = line_of(p)->value_at;

	at.len = (unsigned)strlen(p->set.fallback_backend);
	return at;
}

static void find(struct build *b, struct proxy *p)
{
	if (p->set.fallback_backend == NULL || p->duplicate)
		return;
	if (build_is_backend(p)) {
		p->fallback = build_refer(b, p->set.fallback_backend, name_at(p));
		return;
	}
	diag_warning(b->diag, DIAG_NO_EFFECT, line_of(p)->key_at,
		     "'fallback-backend' has no effect: '%s' has no servers of its own", p->section->name);
	diag_hint(b->diag, "it belongs in [backend %s]", p->backend_name);
}

/* How many are behind `p`, at most `most`. */
static size_t count_behind(const struct proxy *p, size_t most)
{
	size_t n = 0;

	while (n < most && p->fallback != NULL) {
		p = p->fallback;
		n++;
	}
	return n;
}

/* "a -> b -> c": `p` and as many as `count` behind it. */
static const char *chain_text(struct build *b, const struct proxy *p, size_t count)
{
	const char *text = p->section->name;

	for (size_t i = 0; i < count; i++) {
		p = p->fallback;
		text = arena_printf(b->diag->arena, "%s -> %s", text, p->section->name);
	}
	return text;
}

/* After how many steps the chain is back at `p`; 0 = it does not come back. */
static size_t circle_of(const struct build *b, const struct proxy *p)
{
	const struct proxy *next = p->fallback;

	for (size_t n = 1; next != NULL && n <= b->proxy_count; n++) {
		if (next == p)
			return n;
		next = next->fallback;
	}
	return 0;
}

/* Reports a circle at the section of it that is written first. */
static void validate_circle(struct build *b, const struct proxy *p, size_t length)
{
	for (const struct proxy *o = p->fallback; o != p; o = o->fallback)
		if (o < p)
			return;
	diag_error(b->diag, DIAG_CONFLICT, name_at(p), "the fallbacks go round in a circle: %s",
		   chain_text(b, p, length));
	diag_hint(b->diag, "leave out 'fallback-backend' in one of them");
}

static bool is_fallback(const struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < b->proxy_count; i++)
		if (b->proxies[i].fallback == p)
			return true;
	return false;
}

static void validate_chain(struct build *b, const struct proxy *p)
{
	const size_t circle = circle_of(b, p);
	const size_t behind = count_behind(p, b->proxy_count);

	if (circle > 0) {
		validate_circle(b, p, circle);
		return;
	}
	/* One that leads into a circle is not too long; the circle is reported. */
	if (behind <= CONFIG_FALLBACK_MAX || behind == b->proxy_count || is_fallback(b, p))
		return;
	diag_error(b->diag, DIAG_CONFLICT, name_at(p), "more than %u fallbacks in a row: %s",
		   CONFIG_FALLBACK_MAX, chain_text(b, p, behind));
	diag_hint(b->diag, "leave some of them out");
}

void build_validate_fallbacks(struct build *b)
{
	for (size_t i = 0; i < b->proxy_count; i++)
		find(b, &b->proxies[i]);
	for (size_t i = 0; i < b->proxy_count; i++)
		if (b->proxies[i].fallback != NULL)
			validate_chain(b, &b->proxies[i]);
}

bool build_reaches(const struct proxy *first, const struct proxy *p)
{
	for (unsigned n = 0; first != NULL && n <= CONFIG_FALLBACK_MAX; n++) {
		if (first == p)
			return true;
		first = first->fallback;
	}
	return false;
}

bool build_leads_to(const struct proxy *front, size_t routes, const struct proxy *p)
{
	bool leads = build_reaches(front->target, p);

	check(routes <= front->route_count);
	for (size_t i = 0; i < routes && !leads; i++)
		leads = build_reaches(front->routes[i].target, p);
	return leads;
}

/* "if { nbsrv(NAME) lt 1 }" and its like: only the last word and number differ. */
static bool is_none_left(const char *test)
{
	static const char *const tests[] = {"lt 1 }", "le 0 }", "eq 0 }"};

	test += strspn(test, " \t");
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		if (strcmp(test, tests[i]) == 0)
			return true;
	return false;
}

const char *build_fallback_hint(struct build *b, const char *name, const char *condition)
{
	static const char begin[] = "if { nbsrv(";
	const char *of = condition + strlen(begin);
	size_t len;

	if (strncmp(condition, begin, strlen(begin)) != 0)
		return NULL;
	len = strcspn(of, ")");
	if (len == 0 || of[len] == '\0' || !is_none_left(of + len + 1))
		return NULL;
	return arena_printf(b->diag->arena, "write 'fallback-backend = %s' in [backend %.*s]", name,
			    (int)len, of);
}
