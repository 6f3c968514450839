/* SPDX-License-Identifier: MIT
 *
 * answer.c - makes the answer to a wish: selects what makes it.
 *
 * Main thread.
 */
#include "answer.h"

#include "weir/base/check.h"
#include "weir/stats/port_use.h"
#include "page_show.h"

static unsigned answer_ready(const struct web_context *ctx, struct text *out)
{
	const char *why = ctx->sources.why_not_ready(ctx->sources.arg);

	text_printf(out, "%s\n", why != NULL ? why : "ready");
	return why != NULL ? 503 : 200;
}

static unsigned answer_page(const struct web_context *ctx, const struct page_wish *wish,
			    const struct chunks *sums, struct text *out)
{
	struct objects all;

	objects_init(&all, ctx, sums);
	all.ports = port_range();
	return page_show(&all, wish, out) ? 200 : 404;
}

unsigned answer_make(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
		     struct text *out)
{
	const struct web_sources *from = &ctx->sources;

	switch (w->route->name) {
	case ROUTE_HEALTHZ:
		text_printf(out, "ok\n");
		return 200;
	case ROUTE_READYZ:
		return answer_ready(ctx, out);
	case ROUTE_METRICS:
		if (w->haproxy)
			answer_haproxy_metrics(ctx, w, sums, out);
		else
			answer_metrics(ctx, w, sums, out);
		return 200;
	case ROUTE_CSV:
		from->csv(from->arg, sums, true, out);
		return 200;
	case ROUTE_INFO:
		answer_info(ctx, out);
		return 200;
	case ROUTE_FRONTENDS:
		answer_objects(ctx, SCOPE_FRONTEND, sums, out);
		return 200;
	case ROUTE_BACKENDS:
		answer_objects(ctx, SCOPE_BACKEND, sums, out);
		return 200;
	case ROUTE_SERVERS:
		answer_objects(ctx, SCOPE_SERVER, sums, out);
		return 200;
	case ROUTE_PAGE:
		return answer_page(ctx, &w->page, sums, out);
	case ROUTE_SESSIONS:
		break; /* session_list.h makes it */
	}
	check(false);
	return 500;
}
