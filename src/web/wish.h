/* SPDX-License-Identifier: MIT
 *
 * wish.h - what a request asks for: the route, and what its query and headers select.
 *
 * A plain value: two requests with equal wishes get the same answer. Any thread.
 */
#ifndef WEIR_WEB_WISH_H
#define WEIR_WEB_WISH_H

#include <stdbool.h>
#include <stddef.h>

#include "page_wish.h"

enum route_needs { ROUTE_NEEDS_NOTHING, ROUTE_NEEDS_SUMS, ROUTE_NEEDS_SESSIONS };

enum route_name {
	ROUTE_PAGE,
	ROUTE_METRICS,
	ROUTE_CSV,
	ROUTE_HEALTHZ,
	ROUTE_READYZ,
	ROUTE_INFO,
	ROUTE_FRONTENDS,
	ROUTE_BACKENDS,
	ROUTE_SERVERS,
	ROUTE_SESSIONS,
};

struct route_row {
	enum route_name name;
	const char *path;
	enum route_needs needs;
	const char *type; /* of the answer */
	const char *help;
};

/* Row number `i`; NULL after the last. */
const struct route_row *route_row(size_t i);
/* The row of this path; NULL = there is none. */
const struct route_row *route_find(const char *path);

/* What metrics cover: a mask. */
enum wish_scope {
	SCOPE_GLOBAL = 1,
	SCOPE_FRONTEND = 2,
	SCOPE_BACKEND = 4,
	SCOPE_SERVER = 8,
	SCOPE_WORKER = 16,
	SCOPE_ALL = 31,
};

struct wish {
	const struct route_row *route;
	unsigned scope;   /* the following are for metrics */
	bool haproxy;     /* HAProxy's names */
	bool no_maint;    /* without servers in maintenance */
	bool openmetrics; /* the form of the answer */
	struct page_wish page; /* for the page */
};

/* The wish without a query. */
void wish_init(struct wish *w, const struct route_row *route);
/* One argument of the query; `value` may be NULL. HAProxy's: `scope` adds a scope, `*` all, and an empty one
 * begins with none; the first that names one replaces the default. Unknown arguments are ignored, as HAProxy
 * does. False: the value is none that the argument takes. */
bool wish_argument(struct wish *w, const char *key, const char *value);
/* The Accept header, or NULL: OpenMetrics is chosen if it is accepted at least as gladly as plain text. */
void wish_accept(struct wish *w, const char *accept);
bool wish_equal(const struct wish *a, const struct wish *b);
/* The type of the answer; static. */
const char *wish_type(const struct wish *w);

#endif
