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

static bool tell_return(struct stage *s)
{
	char n[FIGURE_MAX];

	stage_say(s, SCREEN_PLAIN, "b2 is back in rotation: %s connections since",
		  figure_grouped(stage_server_connections(s, B2), n));
	return true;
}

static bool end_story(struct stage *s)
{
	stage_say(s, SCREEN_PLAIN, "the clients finish what they have begun");
	stage_set_phase(s, PHASE_FINISHING);
	return true;
}

/* In this order, each at its percentage of the time. An act that returns false is called again. What a later
 * version can show becomes a row here: health checks that see b2 leave at 35 and return at 70, or a reload of
 * the configuration under load at 90. */
static const struct act {
	unsigned percent;
	bool (*play)(struct stage *s);
} acts[] = {
    {0, begin_story}, {30, stop_b2}, {55, tell_retries}, {65, start_b2}, {95, tell_return}, {100, end_story},
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
