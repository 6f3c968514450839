/* SPDX-License-Identifier: MIT
 *
 * table.c - the look of a demo: the lines above the table, and the table.
 *
 * Main thread of the parent.
 */
#include <errno.h> /* program_invocation_name */
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "figures.h"
#include "stage.h"

void table_header(struct stage *s)
{
	struct screen *out = &s->screen;
	const char *me = program_invocation_name;
	const char *dim = screen_style(out, SCREEN_DIM), *plain = screen_style(out, SCREEN_PLAIN);
	char admin[64];

	demo_plan_admin_name(&s->plan, admin, sizeof(admin));
	if (s->plan.proxy_port != PLAN_PORT)
		screen_line(out, "%d is busy, using %u", PLAN_PORT, (unsigned)s->plan.proxy_port);
	screen_line(out, "%sweir %s - demo%s   driver %s   workers %llu", screen_style(out, SCREEN_BOLD),
		    WEIR_VERSION, plain, s->info.driver, (unsigned long long)s->info.workers);
	screen_line(out, "  proxy    http://127.0.0.1:%u/   %stry:  curl 127.0.0.1:%u%s",
		    (unsigned)s->plan.proxy_port, dim, (unsigned)s->plan.proxy_port, plain);
	screen_line(out, "  admin    %s ctl -s %s show info", me, admin);
	screen_line(out, "  log      tail -f /proc/%d/fd/2", (int)s->daemon.pid);
	screen_line(out, "  config   %s demo --print-config", me);
	screen_line(out, "%s", "");
}

/* How much a counter grew per second. */
static double per_s(const struct stage *s, uint64_t now, uint64_t before)
{
	int64_t ns = s->info.at_ns - s->before.at_ns;

	return ns <= 0 || now < before ? 0 : (double)(now - before) * (double)NS_PER_SEC / (double)ns;
}

static void frontend_line(const struct stage *s, FILE *out)
{
	const struct info *i = &s->info, *b = &s->before;
	uint64_t through = i->bytes_to_server - b->bytes_to_server + i->bytes_to_client - b->bytes_to_client;
	char accepts[FIGURE_MAX], in[FIGURE_MAX], down[FIGURE_MAX];

	fprintf(out,
		" %sFRONTEND demo%s  conns %3llu  rate %5s/s  in %6s/s  out %6s/s  splice %3.0f%%\n",
		screen_style(&s->screen, SCREEN_BOLD), screen_style(&s->screen, SCREEN_PLAIN),
		(unsigned long long)i->sessions, figure_short(per_s(s, i->accepted, b->accepted), accepts),
		figure_bytes(per_s(s, i->bytes_to_server, b->bytes_to_server), in),
		figure_bytes(per_s(s, i->bytes_to_client, b->bytes_to_client), down),
		figure_percent(i->bytes_spliced - b->bytes_spliced, through));
}

/* The daemon runs no health checks here: only failed connects show that a server refuses. */
static void server_line(const struct stage *s, size_t i, FILE *out)
{
	const struct info_server *now = &s->info.servers[i], *before = &s->before.servers[i];
	bool refuses = now->failures > before->failures;
	bool leaving = s->leaving[i] && s->servers[i].pid != 0;
	enum screen_style style = refuses ? SCREEN_BAD : leaving ? SCREEN_WARN : SCREEN_GOOD;
	char connects[FIGURE_MAX], total[FIGURE_MAX], failures[FIGURE_MAX];

	fprintf(out, " %-8s %s%-9s%s %6llu %8s/s %12s %11s\n", demo_plan_server_name(i),
		screen_style(&s->screen, style), refuses ? "refuses" : now->state,
		screen_style(&s->screen, SCREEN_PLAIN), (unsigned long long)now->sessions,
		figure_short(per_s(s, now->total, before->total), connects),
		figure_grouped(now->total, total), figure_grouped(now->failures, failures));
}

/* Formats what to draw now; freed by the caller. NULL if out of memory. */
static char *make_table(const struct stage *s)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	frontend_line(s, out);
	fprintf(out, " %s%-8s %-9s %6s %10s %12s %11s%s\n", screen_style(&s->screen, SCREEN_DIM), "SERVER",
		"STATE", "CONNS", "RATE", "TOTAL", "FAILURES", screen_style(&s->screen, SCREEN_PLAIN));
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		if (s->info.servers[i].state[0] != '\0') /* is part of the configuration */
			server_line(s, i, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void table_frame(struct stage *s)
{
	char *text;

	if (!s->screen.live || s->before.at_ns == 0)
		return;
	/* The rates mean nothing while clients leave, so the last table of the show stays. */
	text = s->phase <= PHASE_PLAYING || s->table == NULL ? make_table(s) : NULL;
	if (text != NULL) {
		free(s->table);
		s->table = text;
	}
	if (s->table != NULL)
		screen_frame(&s->screen, s->table);
}
