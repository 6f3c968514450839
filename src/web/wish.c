/* SPDX-License-Identifier: MIT
 *
 * wish.c - what a request asks for: the route, and what its query and headers select.
 *
 * Owns nothing. Any thread.
 */
#include "wish.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/base/check.h"

#define TYPE_OPENMETRICS "application/openmetrics-text"

static const struct route_row rows[] = {
#define ROUTE(name, path, needs, type, help) {ROUTE_##name, path, ROUTE_NEEDS_##needs, type, help},
#include "routes.tbl.h"
#undef ROUTE
};

static const struct {
	const char *word;
	unsigned scope;
} scopes[] = {
	{"global", SCOPE_GLOBAL},
	{"process", SCOPE_GLOBAL},
	{"frontend", SCOPE_FRONTEND},
	{"backend", SCOPE_BACKEND},
	{"server", SCOPE_SERVER},
	{"worker", SCOPE_WORKER},
	{"*", SCOPE_ALL},
	/* What HAProxy has and weir has not. */
	{"listener", 0},
	{"sticktable", 0},
};

const struct route_row *route_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const struct route_row *route_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].path, path) == 0)
			return &rows[i];
	return NULL;
}

/* Nothing was selected yet. */
#define SCOPE_UNSET (SCOPE_ALL + 1u)

void wish_init(struct wish *w, const struct route_row *route)
{
	*w = (struct wish){.route = route, .scope = SCOPE_UNSET | SCOPE_ALL};
}

static bool add_scope(struct wish *w, const char *word)
{
	if (word == NULL || word[0] == '\0') {
		w->scope = 0;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		if (strcmp(scopes[i].word, word) != 0)
			continue;
		if ((w->scope & SCOPE_UNSET) != 0)
			w->scope = 0;
		w->scope |= scopes[i].scope;
		return true;
	}
	return false;
}

bool wish_argument(struct wish *w, const char *key, const char *value)
{
	if (w->route->name == ROUTE_PAGE) {
		page_wish_argument(&w->page, key, value);
		return true;
	}
	if (strcmp(key, "scope") == 0)
		return add_scope(w, value);
	if (strcmp(key, "no-maint") == 0) {
		w->no_maint = true;
	} else if (strcmp(key, "names") == 0) {
		if (value == NULL || (strcmp(value, "haproxy") != 0 && strcmp(value, "weir") != 0))
			return false;
		w->haproxy = value[0] == 'h';
	}
	return true;
}

/* ---- the Accept header ---- */

/* How gladly the range with `len` bytes at `text` is accepted: its q, in thousandths. */
static int quality(const char *text, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		double q;

		if (text[i] != ';')
			continue;
		while (i + 1 < len && (text[i + 1] == ' ' || text[i + 1] == '\t'))
			i++;
		if (i + 2 >= len || strncasecmp(text + i + 1, "q=", 2) != 0)
			continue;
		q = strtod(text + i + 3, NULL);
		return q <= 0 ? 0 : q >= 1 ? 1000 : (int)(q * 1000);
	}
	return 1000;
}

/* Does the range begin with this type, as a whole word? */
static bool is_range(const char *text, size_t len, const char *type)
{
	const size_t n = strlen(type);

	return len >= n && strncasecmp(text, type, n) == 0 &&
	       (len == n || text[n] == ';' || text[n] == ' ' || text[n] == '\t');
}

void wish_accept(struct wish *w, const char *accept)
{
	int open = 0, plain = 0;

	while (accept != NULL && *accept != '\0') {
		size_t len;

		accept += strspn(accept, " \t,");
		len = strcspn(accept, ",");
		if (is_range(accept, len, TYPE_OPENMETRICS) && quality(accept, len) > open)
			open = quality(accept, len);
		if (is_range(accept, len, "text/plain") && quality(accept, len) > plain)
			plain = quality(accept, len);
		accept += len;
	}
	w->openmetrics = open > 0 && open >= plain && w->route->name == ROUTE_METRICS;
}

bool wish_equal(const struct wish *a, const struct wish *b)
{
	return a->route->name == b->route->name && ((a->scope ^ b->scope) & SCOPE_ALL) == 0 &&
	       a->haproxy == b->haproxy && a->no_maint == b->no_maint && a->openmetrics == b->openmetrics &&
	       page_wish_equal(&a->page, &b->page);
}

const char *wish_type(const struct wish *w)
{
	return w->openmetrics ? TYPE_OPENMETRICS "; version=1.0.0; charset=utf-8" : w->route->type;
}
