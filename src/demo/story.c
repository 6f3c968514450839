/* SPDX-License-Identifier: MIT
 *
 * story.c - what happens when in a demo: one row per act.
 *
 * Main thread of the parent.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "figures.h"
#include "stage.h"

#define B2 1
#define B4 3
#define PATIENCE_S 30u /* beyond the length of the show */

static bool begin_story(struct stage *s)
{
	stage_say(s, SCREEN_PLAIN, "%d clients begin: %d upload, %d download, %d make small requests",
		  LOAD_CLIENTS, LOAD_UP, LOAD_DOWN, LOAD_CLIENTS - LOAD_UP - LOAD_DOWN);
	load_start(s->load);
	return true;
}

static bool stop_b2(struct stage *s)
{
	stage_say(s, SCREEN_WARN, "stopping b2 on purpose: it accepts nothing new and finishes what it has");
	stage_stop_server(s, B2);
	return true;
}

static bool tell_retries(struct stage *s)
{
	char retries[FIGURE_MAX], failed[FIGURE_MAX];

	stage_say(s, SCREEN_PLAIN, "retried on another server: %s   failed for clients: %s",
		  figure_grouped(s->info.retries, retries),
		  figure_grouped(load_counts(s->load)->errors, failed));
	return true;
}

/* The port is free again only after the previous process has gone. */
static bool start_b2(struct stage *s)
{
	int err;

	if (s->servers[B2].pid != 0)
		return false;
	stage_say(s, SCREEN_GOOD, "starting b2 again");
	err = stage_start_server(s, B2);
	if (err)
		stage_fail(s, "cannot start b2 again: %s", strerror(-err));
	return true;
}

static bool reload_wrong(struct stage *s)
{
	const struct reloader *r = &s->reloader;

	if (!stage_reload(s, PLAN_STAGE_WRONG))
		return false;
	if (!reloader_is_refused(r) || r->error[0] == '\0') {
		stage_fail(s, "a wrong file was not refused with its error: %s", r->last);
		return true;
	}
	stage_say(s, SCREEN_WARN, "reloading a wrong file on purpose: %s", r->error);
	stage_say(s, SCREEN_PLAIN, "%s; weir goes on as before", r->last);
	return true;
}

/* The answer names all that has changed: what the wrong file had has had no effect. */
static bool reload_grown(struct stage *s)
{
	int err = s->starts[B4] == 0 ? stage_start_server(s, B4) : 0;

	if (err) {
		stage_fail(s, "cannot start b4: %s", strerror(-err));
		return true;
	}
	if (!stage_reload(s, PLAN_STAGE_GROWN))
		return false;
	if (reloader_has_changed(&s->reloader, ", server " PLAN_NAME "/b4 added"))
		stage_say(s, SCREEN_GOOD, "with b4 in the file: %s", s->reloader.last);
	else
		stage_fail(s, "b4 was not added by a reload: %s", s->reloader.last);
	return true;
}

/* Waits for clients at b2 and at b4: on a busy machine, all acts until here may just have been played. */
static bool tell_return(struct stage *s)
{
	const uint64_t b2 = stage_server_connections(s, B2), b4 = stage_server_connections(s, B4);
	char n[FIGURE_MAX], m[FIGURE_MAX];

	if (!s->report.broken && (b2 == 0 || s->info.servers[B4].total == 0) &&
	    stage_seconds(s) < (double)(s->options->seconds + PATIENCE_S))
		return false;
	if (b2 == 0 || b4 == 0)
		stage_fail(s, "%s gets no connections", demo_plan_server_name(b2 == 0 ? B2 : B4));
	stage_say(s, SCREEN_PLAIN, "b2 is back in rotation: %s connections since; b4: %s",
		  figure_grouped(b2, n), figure_grouped(b4, m));
	return true;
}

static bool end_story(struct stage *s)
{
	stage_say(s, SCREEN_PLAIN, "the clients finish what they have begun");
	stage_set_phase(s, PHASE_FINISHING);
	return true;
}

/* In this order, each at its percentage of the time. An act that returns false is called again. What a later
 * version can show becomes a row here: health checks that see b2 leave at 35 and return at 70. */
static const struct act {
	unsigned percent;
	bool (*play)(struct stage *s);
} acts[] = {
    {0, begin_story},	{30, stop_b2},	    {55, tell_retries}, {65, start_b2},
    {72, reload_wrong}, {80, reload_grown}, {95, tell_return},	{100, end_story},
};

void story_go_on(struct stage *s)
{
	double length = (double)s->options->seconds;

	while (s->phase == PHASE_PLAYING && s->act < ARRAY_LEN(acts) &&
	       stage_seconds(s) * 100 >= length * acts[s->act].percent) {
		if (!acts[s->act].play(s))
			return;
		s->act++;
	}
}
