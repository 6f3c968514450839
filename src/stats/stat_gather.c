/* SPDX-License-Identifier: MIT
 *
 * stat_gather.c - what all workers have counted, gathered once for everyone who asks at the same time.
 *
 * Tallies are read after the walk, as tally_begin_walk() requires. A walk that has begun runs to its end even
 * if nobody waits for it any more. Control thread.
 */
#include "stat_gather.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/engine/engine.h"
#include "weir/engine/histograms.h"
#include "weir/engine/tallies.h"

struct stat_bytes {
	uint64_t to_server;
	uint64_t to_client;
	uint64_t spliced;
};

int stat_gather_init(struct stat_gather *g, struct engine *e)
{
	int err;

	memset(g, 0, sizeof(*g));
	g->engine = e;
	cursor_init(&g->cursor, e, true);
	chunks_init(&g->sums, sizeof(struct tally_sum));
	g->sums.emptied = true; /* an object that gets the slot of another begins with 0 */
	chunks_init(&g->live, sizeof(struct stat_bytes));
	err = slot_space_add_table(&e->live.objects, &g->sums);
	if (!err)
		err = slot_space_add_table(&e->live.objects, &g->live);
	if (err)
		stat_gather_free(g);
	return err;
}

void stat_gather_free(struct stat_gather *g)
{
	const bool mine = inquiry_withdraw(g->engine, &g->cursor.inquiry);

	check(mine);
	slot_space_remove_table(&g->engine->live.objects, &g->sums);
	slot_space_remove_table(&g->engine->live.objects, &g->live);
	chunks_free(&g->sums);
	chunks_free(&g->live);
}

uint64_t stat_gather_ask(struct stat_gather *g)
{
	g->wanted = g->done + (g->running ? 2 : 1);
	return g->wanted;
}

uint64_t stat_gather_ask_recent(struct stat_gather *g, int64_t now_ns)
{
	if (g->done > 0 && now_ns - g->done_ns < STAT_RECENT_NS)
		return g->done;
	return g->running ? g->done + 1 : stat_gather_ask(g);
}

static void begin(struct stat_gather *g)
{
	(void)histograms_follow(g->engine); /* without memory now, the next round tries again */
	for (uint32_t i = 0; i < tally_count(g->engine); i++)
		*(struct stat_bytes *)chunks_at(&g->live, i) = (struct stat_bytes){0};
	g->running = true;
	cursor_begin(&g->cursor);
}

static void add(struct stat_bytes *to, const struct inquiry_bytes *moved)
{
	to->to_server += moved->to_server;
	to->to_client += moved->to_client;
	to->spliced += moved->spliced;
}

static void add_slice(struct stat_gather *g)
{
	const struct inquiry *q = &g->cursor.inquiry;

	for (unsigned i = 0; i < q->count; i++) {
		const struct inquiry_bytes *moved = &q->moved[i];

		add(chunks_at(&g->live, moved->frontend_slot), moved);
		if (moved->backend_slot != INQUIRY_NO_SLOT)
			add(chunks_at(&g->live, moved->backend_slot), moved);
		if (moved->server_slot != INQUIRY_NO_SLOT)
			add(chunks_at(&g->live, moved->server_slot), moved);
	}
}

static void end(struct stat_gather *g)
{
	const int64_t now_ns = clock_mono_ns();

	for (uint32_t i = 0; i < tally_count(g->engine); i++) {
		const struct stat_bytes *live = chunks_at(&g->live, i);
		struct tally_sum *sum = chunks_at(&g->sums, i);
		const struct tally_sum before = *sum;

		tally_sum_up(g->engine, i, now_ns, sum);
		sum->bytes_to_server += live->to_server;
		sum->bytes_to_client += live->to_client;
		sum->bytes_spliced += live->spliced;
		tally_keep_totals(sum, &before);
	}
	g->running = false;
	g->done++;
	g->done_ns = now_ns;
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
