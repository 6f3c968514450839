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
#define B3 2
#define B4 3
#define PATIENCE_S 30u /* beyond the length of the show */

#define TRIAL_GENERATION 2 /* the first reload that takes effect */

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

static bool is_patient(const struct stage *s)
{
	return !s->report.broken && stage_seconds(s) < (double)(s->options->seconds + PATIENCE_S);
}

/* The port is free again only after the previous process has gone. On a busy machine, b2 stays away until a
 * client has missed it. */
static bool start_b2(struct stage *s)
{
	char retries[FIGURE_MAX], failed[FIGURE_MAX];
	int err;

	if (s->servers[B2].pid != 0 || (s->info.retries == 0 && is_patient(s)))
		return false;
	stage_say(s, SCREEN_GOOD, "starting b2 again; %s connects retried so far, %s failed for clients",
		  figure_grouped(s->info.retries, retries),
		  figure_grouped(load_counts(s->load)->errors, failed));
	err = stage_start_server(s, B2);
	if (err)
		stage_fail(s, "cannot start b2 again: %s", strerror(-err));
	return true;
}

static bool reload_wrong(struct stage *s)
{
	const struct command *c = &s->command;

	if (!stage_reload(s, PLAN_STAGE_WRONG, "reload"))
		return false;
	if (command_is_refused(c) && c->error[0] != '\0')
		stage_say(s, SCREEN_WARN, "a wrong file is refused: %s", c->error);
	else
		stage_fail(s, "a wrong file was not refused with its error: %s", c->last);
	return true;
}

/* The kernel queues the clients of b4 until its process accepts them. */
static bool add_b4(struct stage *s)
{
	char words[COMMAND_MAX];
	int err = s->starts[B4] == 0 ? stage_start_server(s, B4) : 0;

	if (err) {
		stage_fail(s, "cannot start b4: %s", strerror(-err));
		return true;
	}
	demo_plan_add_command(&s->plan, B4, words, sizeof(words));
	if (!command_go_on(&s->command, words))
		return false;
	if (strcmp(s->command.last, "New server registered.") == 0)
		stage_say(s, SCREEN_GOOD, "adding b4, which is in no file: %s", s->command.last);
	else
		stage_fail(s, "b4 was not added: %s", s->command.last);
	return true;
}

/* The answer names all that has changed: what the wrong file had has had no effect, and b4 stays. */
static bool reload_on_trial(struct stage *s)
{
	const char *change;

	if (!stage_reload(s, PLAN_STAGE_TRIAL, "reload confirm=1s"))
		return false;
	change = command_change(&s->command, ", server " PLAN_NAME "/b3 removed");
	s->on_trial = change != NULL;
	if (s->on_trial)
		stage_say(s, SCREEN_WARN, "on trial for 1 s, without b3: %s", change);
	else
		stage_fail(s, "a trial did not begin: %s", s->command.last);
	return true;
}

/* Nobody confirms the trial, unless a visitor does. Waits for clients at b3, too. */
static bool tell_return(struct stage *s)
{
	const struct info *i = &s->info;
	const bool is_kept = i->generation == TRIAL_GENERATION && i->trial_left_s == 0;
	const bool is_back = i->rollbacks > 0 && i->servers[B3].total > 0;

	if (!s->on_trial)
		return true;
	if (!is_back && !is_kept && is_patient(s))
		return false;
	if (is_back)
		stage_say(s, SCREEN_GOOD, "nobody confirmed it: weir returned to generation 1, b3 is back");
	else if (is_kept)
		stage_fail(s, "generation %d was on trial, and weir has kept it", TRIAL_GENERATION);
	else
		stage_fail(s, "a trial that nobody confirmed did not end with b3 in rotation");
	return true;
}

/* Waits for clients at b2 and at b4: on a busy machine, all acts until here may just have been played, and a
 * process may not have accepted yet what weir has connected. */
static bool tell_connections(struct stage *s)
{
	const uint64_t b2 = stage_server_connections(s, B2), b4 = stage_server_connections(s, B4);
	char n[FIGURE_MAX], m[FIGURE_MAX];

	if ((b2 == 0 || b4 == 0 || s->info.servers[B4].total == 0) && is_patient(s))
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
    {0, begin_story},	   {30, stop_b2},     {60, start_b2},	       {66, reload_wrong}, {72, add_b4},
    {80, reload_on_trial}, {80, tell_return}, {95, tell_connections}, {100, end_story},
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
