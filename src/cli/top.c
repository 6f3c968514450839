/* SPDX-License-Identifier: MIT
 *
 * top.c - `weir top`: the page of `status` with rates, again each second.
 *
 * On a terminal a screen of its own, which is given back on every way out; elsewhere, and with --once or
 * --json, one page that a second was measured for. Main thread. Floor 7.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/cli/ask.h"
#include "weir/cli/cli.h"
#include "weir/cli/terminal.h"
#include "weir/cli/view.h"

#define TOP_PERIOD_MS 1000
#define TOP_WAIT_MS   5000

/* Two views: the one before, to reckon rates from, and the last. */
struct top {
	struct addr_spec spec;
	struct view views[2];
	unsigned last; /* which of the two */
};

static struct view *last_view(struct top *t)
{
	return &t->views[t->last];
}

/* Sums stand in the first picture: there is nothing to reckon rates from yet. */
static const struct view *view_before(const struct top *t)
{
	const struct view *before = &t->views[!t->last];

	return before->taken_ns != 0 ? before : NULL;
}

static enum exit_code take(struct top *t)
{
	t->last = !t->last;
	return view_take(last_view(t), &t->spec, TOP_WAIT_MS);
}

static enum exit_code show_once(const struct cli_args *a, struct top *t)
{
	const struct view_style style = {
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = isatty(STDOUT_FILENO) ? terminal_size(STDOUT_FILENO).columns : 0,
	};
	enum exit_code code;
	struct text page;

	(void)poll(NULL, 0, TOP_PERIOD_MS); /* cut short by a signal it is a shorter measure */
	code = take(t);
	if (code != EXIT_FINE)
		return code;
	text_init(&page);
	if (a->json)
		view_show_json(last_view(t), view_before(t), &page);
	else
		view_show(last_view(t), view_before(t), &style, &page);
	(void)fwrite(page.bytes, 1, page.len, stdout); /* cli_main() looks at stdout at the end */
	text_free(&page);
	return EXIT_FINE;
}

/* Writes the page from the top left corner; what does not fit is counted. */
static void draw(struct top *t)
{
	const struct terminal_size size = terminal_size(STDOUT_FILENO);
	const struct view_style style = {
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = size.columns,
	};
	struct text page;
	unsigned row = 0, left = 0;
	char *next, *line;

	text_init(&page);
	view_show(last_view(t), view_before(t), &style, &page);
	if (page.failed) {
		text_free(&page);
		return;
	}
	fputs("\x1b[H", stdout);
	next = page.bytes;
	while ((line = strsep(&next, "\n")) != NULL && next != NULL) {
		if (row + 1 < size.rows) {
			printf("%s\x1b[K\n", line);
			row++;
		} else {
			left++;
		}
	}
	fputs("\x1b[J", stdout);
	if (left > 0)
		printf("... and %u lines more", left);
	else
		fputs("q: quit", stdout);
	(void)fflush(stdout); /* a terminal that has gone ends the wait */
	text_free(&page);
}

/* Until somebody quits or the daemon is gone. */
static enum exit_code show_live(struct top *t)
{
	enum exit_code code = EXIT_FINE;
	enum terminal_event event;

	if (terminal_open() != 0)
		return EXIT_ENVIRONMENT;
	do {
		draw(t);
		event = terminal_wait(TOP_PERIOD_MS);
		if (event == TERMINAL_TIME)
			code = take(t);
	} while (event != TERMINAL_QUIT && code == EXIT_FINE);
	terminal_close();
	/* What was said on stderr meanwhile went with the second screen. */
	if (code != EXIT_FINE)
		fputs("weir: the daemon answers no more; has it ended?\n", stderr);
	return code;
}

enum exit_code cli_top(const struct cli_args *a)
{
	const bool live = !a->once && !a->json && terminal_can_draw(STDOUT_FILENO) &&
			  isatty(STDIN_FILENO) == 1;
	struct top t = {.last = 0};
	enum exit_code code = ask_find(a, &t.spec);

	if (code != EXIT_FINE)
		return code;
	view_init(&t.views[0]);
	view_init(&t.views[1]);
	code = take(&t);
	if (code == EXIT_FINE)
		code = live ? show_live(&t) : show_once(a, &t);
	view_free(&t.views[0]);
	view_free(&t.views[1]);
	return code;
}
