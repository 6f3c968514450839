/* SPDX-License-Identifier: MIT
 *
 * admin_errors.c - `show errors`: the last failures of all workers, the oldest first.
 *
 * Reads the rings of the workers, which go on writing meanwhile: a failure that is overwritten while it is
 * read is left out. Main thread.
 */
#include "admin_errors.h"

#include <stdlib.h>
#include <string.h>

#include "weir/account/failure.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

/* Failures in one answer. */
#define ERRORS_SHOWN 256u

struct found {
	int64_t at_ns;
	const struct failure_ring *ring; /* borrows */
	uint64_t number;
};

struct all_found {
	struct found *list; /* owns */
	size_t count;
	size_t room;
};

static bool is_wanted(const struct failure *f, const struct errors_filter *filter)
{
	if (filter->proxy != NULL && strcmp(f->frontend, filter->proxy) != 0 &&
	    strcmp(f->backend, filter->proxy) != 0)
		return false;
	if (filter->backend != NULL && strcmp(f->backend, filter->backend) != 0)
		return false;
	return filter->server == NULL || strcmp(f->server, filter->server) == 0;
}

static void collect_ring(const struct failure_ring *r, const struct errors_filter *filter,
			 struct all_found *all)
{
	const uint64_t count = failure_count(r);
	struct failure f;

	for (uint64_t i = count > FAILURES_KEPT ? count - FAILURES_KEPT : 0; i < count; i++) {
		if (!failure_get(r, i, &f) || !is_wanted(&f, filter))
			continue;
		check(all->count < all->room);
		all->list[all->count++] = (struct found){.at_ns = f.at_ns, .ring = r, .number = i};
	}
}

static int compare(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void show(const struct admin_call *c, const struct found *found)
{
	const int64_t now_ns = clock_mono_ns(), wall_ns = clock_wall_ns();
	struct failure f;

	if (!failure_get(found->ring, found->number, &f))
		return;
	if (c->json == NULL) {
		failure_show(&f, wall_ns - (now_ns - f.at_ns), c->out);
		return;
	}
	json_line(c->json, 2);
	failure_show_json(&f, wall_ns - (now_ns - f.at_ns), c->json);
}

void admin_add_errors(const struct admin_call *c, const struct errors_filter *filter, size_t max)
{
	const struct engine *e = c->ctx->engine;
	struct all_found all = {.room = (size_t)e->worker_count * FAILURE_GROUPS * FAILURES_KEPT};

	if (all.room == 0)
		return;
	all.list = calloc(all.room, sizeof(*all.list));
	if (all.list == NULL) {
		c->out->failed = true;
		return;
	}
	for (unsigned i = 0; i < e->worker_count; i++)
		for (unsigned group = 0; group < FAILURE_GROUPS; group++)
			collect_ring(engine_failures(e, i, (enum failure_group)group), filter, &all);
	qsort(all.list, all.count, sizeof(*all.list), compare);
	for (size_t i = all.count > max ? all.count - max : 0; i < all.count; i++)
		show(c, &all.list[i]);
	free(all.list);
}

/* All that were added since the start. */
static uint64_t count_all(const struct engine *e)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < e->worker_count; i++)
		for (unsigned group = 0; group < FAILURE_GROUPS; group++)
			count += failure_count(engine_failures(e, i, (enum failure_group)group));
	return count;
}

/* Ours; admin_show_errors() has HAProxy's answer. */
void admin_show_failures(const struct admin_call *c)
{
	const struct errors_filter filter = {.proxy = c->arg_count > 0 ? c->args[0] : NULL};

	if (c->arg_count > 0 && admin_proxy_iid(c->ctx->engine, c->args[0]) == 0) {
		admin_refuse_proxy(c, c->args[0]);
		return;
	}
	if (c->json != NULL)
		json_array(c->json, NULL);
	else
		text_printf(c->out, "# failures since the start: %llu; the last ones:\n",
			    (unsigned long long)count_all(c->ctx->engine));
	admin_add_errors(c, &filter, ERRORS_SHOWN);
	if (c->json == NULL)
		return;
	json_line(c->json, 0);
	json_array_end(c->json);
	text_add(c->out, "\n", 1);
}
