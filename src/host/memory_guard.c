/* SPDX-License-Identifier: MIT
 *
 * memory_guard.c - pauses accepting while the memory of our control group is short.
 *
 * Owns a timer, set only while there are many sessions, and the decision. Main thread.
 */
#include "weir/host/memory_guard.h"

#include <string.h>

#include "weir/base/log.h"

#define PAUSE_PERCENT  90u
#define RESUME_PERCENT 85u
/* From here on, memory may run short before the next look a second later. */
#define NEAR_PERCENT   50u
#define LOOK_S	       1.
#define LOOK_NEAR_S    0.1
/* News from workers while there are many sessions triggers a look, but not every time. */
#define LOOK_NEWS_S    0.02
/* While accepting is paused. Each change logs a line, at most three a second. */
#define LOOK_PAUSED_S  0.5
/* Sessions are many if they would fill the group with this much memory each. */
#define BYTES_A_SESSION (UINT64_C(1) << 20)
#define FEW_SESSIONS	16u

/* How full the group is. */
struct memory_state {
	uint64_t used;	/* of the fullest group */
	uint64_t limit; /* CGROUP_NO_LIMIT = none known; then the other fields mean nothing */
	unsigned percent; /* of the limit, or of the buffer budget if that is fuller */
	bool by_buffers;
};

static unsigned percent_of(uint64_t used, uint64_t limit)
{
	return limit == 0 || used >= limit ? 100 : (unsigned)(used / (limit / 100 + 1));
}

static void take_stock(const struct memory_guard *g, struct memory_state *state)
{
	/* Counts against five sixths of the budget, so that acceptance pauses while a quarter is left to the
	 * sessions that are open already. Idle buffers do not count: the next session can use them. */
	const unsigned buffers = percent_of(engine_sum(g->engine, bufs_in_use_bytes),
					    g->engine->bufs.budget_bytes / 6 * 5);

	*state = (struct memory_state){.limit = CGROUP_NO_LIMIT};
	for (unsigned i = 0; i < g->groups.count; i++) {
		const struct cgroup_level *level = &g->groups.levels[i];
		uint64_t used;

		if (!cgroup_memory_used(level, &used))
			continue;
		if (state->limit != CGROUP_NO_LIMIT &&
		    percent_of(used, level->limit_bytes) <= state->percent)
			continue;
		state->used = used;
		state->limit = level->limit_bytes;
		state->percent = percent_of(used, level->limit_bytes);
	}
	if (state->limit == CGROUP_NO_LIMIT || buffers <= state->percent)
		return;
	state->percent = buffers;
	state->by_buffers = true;
}

static void set_paused(struct memory_guard *g, bool paused, const struct memory_state *state)
{
	const unsigned long long used = (unsigned long long)(state->used >> 20);
	const unsigned long long limit = (unsigned long long)(state->limit >> 20);
	const char *of = state->by_buffers ? ", and the buffers for new clients are used up" : "";

	g->paused = paused;
	engine_pause_accept(g->engine, paused);
	if (paused)
		log_line(LOG_LEVEL_WARNING,
			 "memory is short: the control group uses %llu of %llu MiB%s; new clients wait in "
			 "the backlog; raise the group's limit (see the `limits:` line) or lower maxconn",
			 used, limit, of);
	else if (state->limit == CGROUP_NO_LIMIT)
		log_line(LOG_LEVEL_NOTICE,
			 "memory: only a few connections are left; new clients are accepted again");
	else
		log_line(LOG_LEVEL_NOTICE,
			 "memory: the control group uses %llu of %llu MiB; new clients are accepted again",
			 used, limit);
}

static void set_timer(struct memory_guard *g, double pause_s)
{
	ev_timer_stop(g->loop, &g->timer);
	ev_timer_set(&g->timer, pause_s, 0.);
	ev_timer_start(g->loop, &g->timer);
}

static bool are_many(const struct memory_guard *g)
{
	return engine_sum(g->engine, sessions) >=
	       atomic_load_explicit(&g->engine->settings.sessions_many, memory_order_relaxed);
}

static void look_at_memory(struct memory_guard *g)
{
	const bool many = are_many(g);
	struct memory_state state;
	bool known;

	g->looked = ev_now(g->loop);
	take_stock(g, &state);
	known = state.limit != CGROUP_NO_LIMIT; /* else percent is 0 */
	/* If the group cannot be read now (no descriptor, no memory), do not resume. */
	if (!g->paused && many && state.percent >= PAUSE_PERCENT)
		set_paused(g, true, &state);
	else if (g->paused && (!many || (known && state.percent < RESUME_PERCENT)))
		set_paused(g, false, &state);
	atomic_store_explicit(&g->engine->sessions_watched, many, memory_order_relaxed);
	if (many)
		set_timer(g, g->paused			       ? LOOK_PAUSED_S
			     : state.percent >= NEAR_PERCENT ? LOOK_NEAR_S
							     : LOOK_S);
}

static void on_look_due(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	look_at_memory(timer->data);
}

void memory_guard_init(struct memory_guard *g, struct ev_loop *loop, struct engine *e, unsigned workers)
{
	const struct cgroup_level *smallest;
	uint64_t many;

	memset(g, 0, sizeof(*g));
	g->loop = loop;
	g->engine = e;
	ev_timer_init(&g->timer, on_look_due, 0., 0.);
	g->timer.data = g;
	cgroup_memory_read(&g->groups, "");
	smallest = cgroup_memory_smallest(&g->groups);
	if (smallest == NULL)
		return;
	many = smallest->limit_bytes / BYTES_A_SESSION / workers; /* on one worker, or in total */
	if (many < FEW_SESSIONS)
		many = FEW_SESSIONS;
	engine_set_sessions_many(e, many < UINT32_MAX ? (uint32_t)many : UINT32_MAX);
}

void memory_guard_wake(struct memory_guard *g)
{
	if (g->groups.count == 0 || !are_many(g))
		return;
	if (!ev_is_active(&g->timer) || (!g->paused && ev_now(g->loop) >= g->looked + LOOK_NEWS_S))
		look_at_memory(g);
}

void memory_guard_stop(struct memory_guard *g)
{
	if (g->loop != NULL)
		ev_timer_stop(g->loop, &g->timer);
}

void memory_guard_publish(void *guard, figure_report *report, void *to)
{
	static const struct figure limit = {"memory_limit_bytes", FIGURE_GAUGE,
					    "smallest limit of the daemon's control groups"};
	static const struct figure usage = {"memory_used_bytes", FIGURE_GAUGE, "memory in use in that group"};
	static const struct figure is_short = {"memory_is_short", FIGURE_GAUGE,
					       "1 while listeners are paused because memory is short"};
	const struct memory_guard *g = guard;
	const struct cgroup_level *level = cgroup_memory_smallest(&g->groups);
	uint64_t used;

	if (level == NULL || !cgroup_memory_used(level, &used))
		return;
	report(to, &limit, level->limit_bytes);
	report(to, &usage, used);
	report(to, &is_short, g->paused);
}
