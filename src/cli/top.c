/* SPDX-License-Identifier: MIT
 *
 * top.c - `weir top`: the page of `status` with rates, refreshed every second, and pages of servers, of
 * one server and of sessions.
 *
 * On a terminal it uses the alternate screen, which it restores on every way out. The head stays in place;
 * the lists below it can be scrolled, sorted and filtered. Without a terminal, and with --once or --json, it
 * measures for a second and prints one page. Main thread.
 */
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/clock.h"
#include "weir/cli/cli.h"
#include "ask.h"
#include "server_view.h"
#include "sessions_view.h"
#include "terminal.h"
#include "trend.h"
#include "view_text.h"

#define TOP_PERIOD_MS 1000
#define TOP_WAIT_MS   5000
#define FILTER_MAX    40

/* Two views, to calculate rates from: the previous and the current one. */
struct top {
	struct addr_spec spec;
	struct view views[2];
	struct sessions_view sessions[2]; /* only on their page */
	unsigned newest;		  /* index of the current view, and of its sessions */
	struct server_view server;	  /* the same: the server chosen */
	struct view_choice choice;
	struct trends trends;
	enum view_page page;
	enum view_sort sort;
	char filter[FILTER_MAX];
	bool typing; /* the filter */
	bool blocks; /* the terminal can show them */
	size_t first; /* first line of the lists that is on the screen */
	size_t seen;  /* lines of the lists that fit on the screen */
};

static const char *const page_words[VIEW_PAGES] = {
	[VIEW_PAGE_ALL] = "all", [VIEW_PAGE_SERVERS] = "servers", [VIEW_PAGE_SERVER] = "server",
	[VIEW_PAGE_SESSIONS] = "sessions",
};

static const char *const sort_words[VIEW_SORTS] = {
	[VIEW_SORT_STATE] = "down first", [VIEW_SORT_SESSIONS] = "connections",
	[VIEW_SORT_NEW] = "new/s", [VIEW_SORT_BYTES] = "bytes/s", [VIEW_SORT_NAME] = "name",
};

static const char *const session_sort_words[VIEW_SORTS] = {
	[VIEW_SORT_STATE] = "oldest", [VIEW_SORT_SESSIONS] = "most bytes", [VIEW_SORT_NEW] = "newest",
	[VIEW_SORT_BYTES] = "bytes/s", [VIEW_SORT_NAME] = "client",
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

/* The same for sessions: NULL also if they were not asked for then. */
static const struct sessions_view *sessions_before(const struct top *t)
{
	const struct sessions_view *before = &t->sessions[!t->newest];

	return before->taken_ns != 0 && before->refusal == NULL ? before : NULL;
}

static enum exit_code take_sessions(struct top *t)
{
	if (t->page != VIEW_PAGE_SESSIONS) {
		sessions_view_free(&t->sessions[t->newest]);
		return EXIT_FINE;
	}
	return sessions_view_take(&t->sessions[t->newest], &t->spec, TOP_WAIT_MS) == 0 ? EXIT_FINE
											: EXIT_ENVIRONMENT;
}

static struct view_style style_of(const struct top *t, unsigned columns)
{
	return (struct view_style){
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = columns,
		.page = t->page,
		.sort = t->sort,
		.filter = t->filter,
		.trends = &t->trends,
		.blocks = t->blocks,
	};
}

/* Asks for the changes of the server that is chosen, which is moved by `steps`. */
static enum exit_code take_server(struct top *t, int steps)
{
	const struct view_style style = style_of(t, 0);

	if (t->page != VIEW_PAGE_SERVER)
		return EXIT_FINE;
	view_choose(newest_view(t), view_before(t), &style, &t->choice, steps);
	return server_view_take(&t->server, &t->spec, &t->choice, TOP_WAIT_MS) == 0 ? EXIT_FINE
										    : EXIT_ENVIRONMENT;
}

static enum exit_code take_view(struct top *t)
{
	enum exit_code code;

	t->newest = !t->newest;
	code = view_take(newest_view(t), &t->spec, TOP_WAIT_MS);
	if (code == EXIT_FINE)
		code = take_sessions(t);
	if (code == EXIT_FINE)
		code = take_server(t, 0);
	if (code == EXIT_FINE && view_before(t) != NULL)
		trends_add(&t->trends, newest_view(t), view_before(t));
	return code;
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

static void put_lines(const char *text, size_t count)
{
	for (; count > 0; count--) {
		const size_t len = strcspn(text, "\n");

		/* Erased before: after a full line, the cursor is still on its last character. */
		printf("\x1b[2K%.*s\n", (int)len, text);
		text += len + 1;
	}
}

static const char *sort_word(const struct top *t)
{
	return t->page == VIEW_PAGE_SESSIONS ? session_sort_words[t->sort] : sort_words[t->sort];
}

/* The last line: the keys, and which part of the lists is visible. */
static void put_keys(const struct top *t, const struct terminal_size *size, size_t all)
{
	const bool server = t->page == VIEW_PAGE_SERVER;
	char line[256], lines[64] = "";

	if (all > t->seen)
		(void)snprintf(lines, sizeof(lines), "  lines %zu-%zu of %zu", t->first + 1,
			       t->first + t->seen, all);
	if (t->typing)
		(void)snprintf(line, sizeof(line), "filter: %s_  (Enter keeps it, Esc removes it)%s",
			       t->filter, lines);
	else
		(void)snprintf(line, sizeof(line), "q quit  v view: %s  %s%s  / filter%s%s%s",
			       page_words[t->page], server ? "n p next, previous" : "s sort: ",
			       server ? "" : sort_word(t), t->filter[0] != '\0' ? ": " : "", t->filter,
			       lines); /* fits */
	printf("\x1b[J%.*s", (int)size->columns, line);
}

static void make_page(struct top *t, unsigned columns, struct text *page)
{
	const struct view_style style = style_of(t, columns);
	const struct view *now = newest_view(t), *before = view_before(t);

	if (t->page == VIEW_PAGE_ALL || t->page == VIEW_PAGE_SERVERS) {
		view_show(now, before, &style, page);
		return;
	}
	view_head(now, before, &style, page);
	if (t->page == VIEW_PAGE_SERVER)
		server_view_show(&t->server, now, before, &t->choice, &style, page);
	else
		sessions_view_show(&t->sessions[t->newest], sessions_before(t), &style, page);
}

/* What can be scrolled: the lists, without the titles if there is but one. */
static const char *find_lists(const struct top *t, const struct text *page)
{
	const char *lists = page->failed ? NULL : strstr(page->bytes, "\n\n");

	if (lists == NULL)
		return NULL;
	lists++;
	if (t->page == VIEW_PAGE_ALL)
		return lists;
	return strchr(lists + 1, '\n') + 1;
}

/* Writes the page from the top left corner: its head, then as much of the lists as fits. */
static void draw(struct top *t)
{
	const struct terminal_size size = terminal_size(STDOUT_FILENO);
	struct text page;
	const char *lists;
	size_t head, all;

	text_init(&page);
	make_page(t, size.columns, &page);
	lists = find_lists(t, &page);
	if (lists == NULL) {
		text_free(&page);
		return;
	}
	all = view_count_lines(lists);
	head = view_count_lines(page.bytes) - all;
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

static void set_typing(struct top *t, bool on)
{
	t->typing = on;
	terminal_type(on);
}

/* Changes the filter; the list begins at its top again. */
static void edit_filter(struct top *t, enum terminal_event event)
{
	const size_t len = strlen(t->filter);

	switch (event) {
	case TERMINAL_FILTER:
		set_typing(t, true);
		return;
	case TERMINAL_ENTER:
		set_typing(t, false);
		return;
	case TERMINAL_ESCAPE:
		t->filter[0] = '\0';
		set_typing(t, false);
		break;
	case TERMINAL_ERASE:
		t->filter[len > 0 ? len - 1 : 0] = '\0';
		break;
	case TERMINAL_CHARACTER:
		if (len + 1 < sizeof(t->filter)) {
			t->filter[len] = terminal_character();
			t->filter[len + 1] = '\0';
		}
		break;
	default:
		return;
	}
	t->first = 0;
}

/* Shows another page; what only it has is asked for at once. */
static enum exit_code turn_to(struct top *t, enum view_page page)
{
	/* From the list of servers, to the one at the top of the screen. */
	const int at = t->page == VIEW_PAGE_SERVERS && t->first < INT_MAX ? (int)t->first : 0;

	if (t->page == VIEW_PAGE_SERVERS)
		memset(&t->choice, 0, sizeof(t->choice));
	t->page = page;
	t->first = 0;
	if (page == VIEW_PAGE_SERVER)
		return take_server(t, at);
	return page == VIEW_PAGE_SESSIONS ? take_sessions(t) : EXIT_FINE;
}

/* Enter and Esc go from the lists of servers to one of them and back. */
static enum exit_code go_in_or_out(struct top *t, enum terminal_event event)
{
	const bool list = t->page == VIEW_PAGE_ALL || t->page == VIEW_PAGE_SERVERS;

	if (event == TERMINAL_ENTER && list)
		return turn_to(t, VIEW_PAGE_SERVER);
	if (event == TERMINAL_ESCAPE && t->page == VIEW_PAGE_SERVER)
		return turn_to(t, VIEW_PAGE_SERVERS);
	edit_filter(t, event);
	return EXIT_FINE;
}

static enum exit_code handle(struct top *t, enum terminal_event event)
{
	if (event == TERMINAL_TIME)
		return take_view(t);
	if (event == TERMINAL_PAGE)
		return turn_to(t, (t->page + 1) % VIEW_PAGES);
	if (event == TERMINAL_NEXT || event == TERMINAL_PREVIOUS)
		return take_server(t, event == TERMINAL_NEXT ? 1 : -1);
	if (!t->typing && (event == TERMINAL_ENTER || event == TERMINAL_ESCAPE))
		return go_in_or_out(t, event);
	edit_filter(t, event);
	move_window(t, event);
	return EXIT_FINE;
}

/* How long to wait for a key: until the next view is due, whatever is typed. */
static int wait_ms(struct top *t)
{
	const int64_t due_ns = newest_view(t)->taken_ns + TOP_PERIOD_MS * NS_PER_MS;
	const int64_t left_ns = due_ns - clock_mono_ns();

	return left_ns > 0 ? (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : 0;
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
		event = terminal_wait(wait_ms(t));
		code = handle(t, event);
	} while (event != TERMINAL_QUIT && code == EXIT_FINE);
	terminal_close();
	/* Messages on stderr disappeared with the alternate screen. */
	if (code != EXIT_FINE)
		fputs("weir: the daemon no longer answers; has it ended?\n", stderr);
	return code;
}

static void top_free(struct top *t)
{
	for (size_t i = 0; i < 2; i++) {
		view_free(&t->views[i]);
		sessions_view_free(&t->sessions[i]);
	}
	server_view_free(&t->server);
	trends_free(&t->trends);
}

enum exit_code cli_top(const struct cli_args *a)
{
	const bool live = !a->once && !a->json && terminal_can_draw(STDOUT_FILENO) &&
			  isatty(STDIN_FILENO) == 1;
	struct top t = {.blocks = view_blocks()};
	enum exit_code code = ask_find(a, &t.spec);

	if (code != EXIT_FINE)
		return code;
	for (size_t i = 0; i < 2; i++) {
		view_init(&t.views[i]);
		sessions_view_init(&t.sessions[i]);
	}
	server_view_init(&t.server);
	trends_init(&t.trends);
	code = take_view(&t);
	if (code == EXIT_FINE)
		code = live ? show_live(&t) : show_once(a, &t);
	top_free(&t);
	return code;
}
