/* SPDX-License-Identifier: MIT
 *
 * answer.h - makes the answer to a wish.
 *
 * Main thread.
 */
#ifndef WEIR_WEB_ANSWER_H
#define WEIR_WEB_ANSWER_H

#include "weir/web/web.h"
#include "wish.h"

/* Appends the answer; returns its HTTP status: 200, 404 for a server that does not exist, or 503 for a
 * process that is not ready. Out of memory, out->failed is set. `sums` may be NULL for a route that needs
 * none; not for one that needs sessions. */
unsigned answer_make(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
		     struct text *out);

/* For answer.c: our own metrics, and those with HAProxy's names (haproxy_metrics.c). */
void answer_metrics(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
		    struct text *out);
void answer_haproxy_metrics(const struct web_context *ctx, const struct wish *w, const struct chunks *sums,
			    struct text *out);
/* histogram_metrics.c: the histograms of all objects of one scope that have some. */
struct metrics;
struct objects;
void answer_histograms(struct metrics *m, const struct objects *all, enum wish_scope scope,
		       const char *prefix);
/* api.c: what doc/api.md describes. */
void answer_info(const struct web_context *ctx, struct text *out);
void answer_objects(const struct web_context *ctx, enum wish_scope scope, const struct chunks *sums,
		    struct text *out);

#endif
