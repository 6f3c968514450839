/* SPDX-License-Identifier: MIT
 *
 * top.c - `weir top`: the page of `status` with rates, refreshed every second.
 *
 * On a terminal it uses the alternate screen, which it restores on every way out. The head stays in place;
 * the lists below it can be scrolled and sorted. Without a terminal, and with --once or --json, it measures
 * for a second and prints one page. Main thread.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/cli/cli.h"
#include "ask.h"
#include "terminal.h"
#include "view.h"

#define TOP_PERIOD_MS 1000
#define TOP_WAIT_MS   5000

/* Two views, to calculate rates from: the previous and the current one. */
struct top {
	struct addr_spec spec;
	struct view views[2];
	unsigned newest; /* index of the current view */
	enum view_sort sort;
	size_t first; /* first line of the lists that is on the screen */
	size_t seen;  /* lines of the lists that fit on the screen */
};

static const char *const sort_words[VIEW_SORTS] = {
	[VIEW_SORT_STATE] = "down first", [VIEW_SORT_SESSIONS] = "connections",
	[VIEW_SORT_NEW] = "new per second", [VIEW_SORT_BYTES] = "bytes per second",
	[VIEW_SORT_NAME] = "name",
};

static struct view *newest_view(struct top *t)
{
	return &t->views[t->newest];
}

/* The first picture shows totals, because there is no earlier view for rates. */
static const struct view *view_before(const struct top *t)
{
	const struct view *before = &t->views[!t->newest];

	return before->taken_ns != 0 ? before : NULL;
}

static enum exit_code take_view(struct top *t)
{
	t->newest = !t->newest;
	return view_take(newest_view(t), &t->spec, TOP_WAIT_MS);
}

static enum exit_code show_once(const struct cli_args *a, struct top *t)
{
	const struct view_style style = {
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = isatty(STDOUT_FILENO) ? terminal_size(STDOUT_FILENO).columns : 0,
	};
	enum exit_code code;
	struct text page;

	(void)poll(NULL, 0, TOP_PERIOD_MS); /* a signal only makes the measurement shorter */
	code = take_view(t);
	if (code != EXIT_FINE)
		return code;
	text_init(&page);
	if (a->json)
		view_show_json(newest_view(t), view_before(t), &page);
	else
		view_show(newest_view(t), view_before(t), &style, &page);
	text_print(&page, stdout); /* cli_main() checks stdout at the end */
	text_free(&page);
	return EXIT_FINE;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

static void put_lines(const char *text, size_t count)
{
	for (; count > 0; count--) {
		const size_t len = strcspn(text, "\n");

		printf("%.*s\x1b[K\n", (int)len, text);
		text += len + 1;
	}
}

/* The last line: the keys, and which part of the lists is visible. */
static void put_keys(const struct top *t, const struct terminal_size *size, size_t all)
{
	char line[256];
	int len = snprintf(line, sizeof(line), "q quit   s sort: %s", sort_words[t->sort]);

	if (all > t->seen && len > 0 && len < (int)sizeof(line))
		(void)snprintf(line + len, sizeof(line) - (size_t)len,
			       "   arrows scroll: lines %zu to %zu of %zu", t->first + 1, t->first + t->seen,
			       all);
	printf("%.*s\x1b[K", (int)size->columns, line);
}

/* Writes the page from the top left corner: its head, then as much of the lists as fits. */
static void draw(struct top *t)
{
	const struct terminal_size size = terminal_size(STDOUT_FILENO);
	const struct view_style style = {
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = size.columns,
		.sort = t->sort,
	};
	struct text page;
	const char *lists;
	size_t head, all;

	text_init(&page);
	view_show(newest_view(t), view_before(t), &style, &page);
	lists = page.failed ? NULL : strstr(page.bytes, "\n\n");
	if (lists == NULL) {
		text_free(&page);
		return;
	}
	lists++;
	all = count_lines(lists);
	head = count_lines(page.bytes) - all;
	if (head >= size.rows)
		head = size.rows - 1;
	t->seen = size.rows - 1 - head < all ? size.rows - 1 - head : all;
	if (t->first > all - t->seen)
		t->first = all - t->seen;
	for (size_t i = 0; i < t->first; i++)
		lists = strchr(lists, '\n') + 1;
	fputs("\x1b[H", stdout);
	put_lines(page.bytes, head);
	put_lines(lists, t->seen);
	put_keys(t, &size, all);
	fputs("\x1b[J", stdout);
	(void)fflush(stdout); /* if the terminal is gone, the next wait ends */
	text_free(&page);
}

/* draw() keeps the window within the lists. */
static void move_window(struct top *t, enum terminal_event event)
{
	const size_t page = t->seen > 1 ? t->seen - 1 : 1;

	switch (event) {
	case TERMINAL_SORT:
		t->sort = (t->sort + 1) % VIEW_SORTS;
		break;
	case TERMINAL_UP:
		t->first -= t->first > 0;
		break;
	case TERMINAL_DOWN:
		t->first++;
		break;
	case TERMINAL_PAGE_UP:
		t->first -= t->first < page ? t->first : page;
		break;
	case TERMINAL_PAGE_DOWN:
		t->first += page;
		break;
	case TERMINAL_HOME:
		t->first = 0;
		break;
	case TERMINAL_END:
		t->first = SIZE_MAX;
		break;
	default:
		break;
	}
}

/* Runs until the user quits or the daemon is gone. */
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
			code = take_view(t);
		else
			move_window(t, event);
	} while (event != TERMINAL_QUIT && code == EXIT_FINE);
	terminal_close();
	/* Messages on stderr disappeared with the alternate screen. */
	if (code != EXIT_FINE)
		fputs("weir: the daemon no longer answers; has it ended?\n", stderr);
	return code;
}

enum exit_code cli_top(const struct cli_args *a)
{
	const bool live = !a->once && !a->json && terminal_can_draw(STDOUT_FILENO) &&
			  isatty(STDIN_FILENO) == 1;
	struct top t = {.newest = 0};
	enum exit_code code = ask_find(a, &t.spec);

	if (code != EXIT_FINE)
		return code;
	view_init(&t.views[0]);
	view_init(&t.views[1]);
	code = take_view(&t);
	if (code == EXIT_FINE)
		code = live ? show_live(&t) : show_once(a, &t);
	view_free(&t.views[0]);
	view_free(&t.views[1]);
	return code;
}
