/* SPDX-License-Identifier: MIT
 *
 * stat_gather.c - what all workers have counted, gathered once for everyone who asks at the same time.
 *
 * Tallies are read after the walk, as tally_begin_walk() requires. A walk that has begun runs to its end even
 * if nobody waits for it any more. Control thread.
 */
#include "stat_gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/engine/tallies.h"

struct stat_bytes {
	uint64_t to_server;
	uint64_t to_client;
};

int stat_gather_init(struct stat_gather *g, struct engine *e)
{
	/* One extra, so that no allocation is empty. */
	const size_t count = tally_count(e) + 1;

	memset(g, 0, sizeof(*g));
	g->engine = e;
	cursor_init(&g->cursor, e, true);
	g->sums = calloc(count, sizeof(*g->sums));
	g->live = calloc(count, sizeof(*g->live));
	if (g->sums != NULL && g->live != NULL)
		return 0;
	stat_gather_free(g);
	return -ENOMEM;
}

void stat_gather_free(struct stat_gather *g)
{
	const bool mine = inquiry_withdraw(g->engine, &g->cursor.inquiry);

	check(mine);
	free(g->sums);
	free(g->live);
	g->sums = NULL;
	g->live = NULL;
}

uint64_t stat_gather_ask(struct stat_gather *g)
{
	g->wanted = g->done + (g->running ? 2 : 1);
	return g->wanted;
}

static void begin(struct stat_gather *g)
{
	memset(g->live, 0, tally_count(g->engine) * sizeof(*g->live));
	g->running = true;
	cursor_begin(&g->cursor);
}

static void add(struct stat_bytes *to, const struct session_facts *f)
{
	to->to_server += f->bytes_to_server;
	to->to_client += f->bytes_to_client;
}

static void add_slice(struct stat_gather *g)
{
	const struct engine *e = g->engine;
	const struct inquiry *q = &g->cursor.inquiry;

	for (unsigned i = 0; i < q->count; i++) {
		const struct session_facts *f = &q->sessions[i];
		const size_t backend = (size_t)(f->backend - e->backends);

		add(&g->live[tally_of_frontend(e, &e->frontends[f->frontend_index])], f);
		if (f->backend_counted)
			add(&g->live[tally_of_backend(e, backend)], f);
		if (f->server != NULL)
			add(&g->live[tally_of_server(e, backend, f->server)], f);
	}
}

static void end(struct stat_gather *g)
{
	const int64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < tally_count(g->engine); i++) {
		tally_sum_up(g->engine, i, now_ns, &g->sums[i]);
		g->sums[i].bytes_to_server += g->live[i].to_server;
		g->sums[i].bytes_to_client += g->live[i].to_client;
	}
	g->running = false;
	g->done++;
}

bool stat_gather_is_due(const struct stat_gather *g)
{
	return !g->running && g->done < g->wanted;
}

bool stat_gather_go_on(struct stat_gather *g)
{
	if (stat_gather_is_due(g))
		begin(g);
	if (!g->running)
		return false;
	for (;;) {
		switch (cursor_step(&g->cursor)) {
		case CURSOR_WAITS:
			return false;
		case CURSOR_SLICE:
			add_slice(g);
			cursor_go_on(&g->cursor);
			break;
		case CURSOR_OVER:
			end(g);
			return true;
		}
	}
}
