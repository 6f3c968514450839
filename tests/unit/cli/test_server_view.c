/* SPDX-License-Identifier: MIT
 *
 * test_server_view.c - the page of one server: which one it is, its state and why, its trends, its changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "cli/server_view.h"
#include "cli/trend.h"

#define WHEN "2026-11-23T20:08:28.0"

static const char changes[] = WHEN "98Z web/a \"?\" -> \"UP\": configured\n" WHEN
				   "99Z web/a \"UP\" -> \"DOWN\": L4CON: refused\n" WHEN
				   "99Z web/a weight 1 -> 5: by uid 0 over the admin socket\n\n";

static struct view_row first[] = {
	{.proxy = "web", .name = "a", .state = "up", .total = 4, .bytes_in = 100},
	{.proxy = "web", .name = "b", .state = "up"},
};
static struct view_row second[] = {
	{.proxy = "web", .name = "a", .state = "down", .address = "10.0.0.1:80", .check = "L4CON: refused",
	 .since_s = 65, .total = 8, .bytes_in = 300, .weight = 5},
	{.proxy = "web", .name = "b", .state = "up"},
	{.proxy = "db", .name = "a", .state = "maint"},
};
static const struct view before = {.servers = first, .server_count = 2, .taken_ns = NS_PER_SEC};
static const struct view now = {.servers = second, .server_count = 3, .taken_ns = 3 * NS_PER_SEC};

static const char *shown(const char *proxy, const char *name, const char *answer, unsigned columns)
{
	struct view_style style = {.columns = columns};
	struct view_choice choice = {.proxy = ""};
	struct server_view v;
	struct trends trends;
	static char page[4096];
	struct text out;

	(void)snprintf(choice.proxy, sizeof(choice.proxy), "%s", proxy);
	(void)snprintf(choice.name, sizeof(choice.name), "%s", name);
	trends_init(&trends);
	trends_add(&trends, &now, &before);
	style.trends = &trends;
	server_view_init(&v);
	text_add(&v.answer, answer, strlen(answer));
	text_over(&out, page, sizeof(page));
	server_view_show(&v, &now, &before, &choice, &style, &out);
	assert_false(out.failed);
	server_view_free(&v);
	trends_free(&trends);
	return page;
}

static void a_server_is_shown_with_its_reason_and_its_changes(void **state)
{
	(void)state;
	assert_string_equal(shown("web", "a", changes, 0),
			    "\n"
			    "SERVER       web/a  10.0.0.1:80\n"
			    "state        down for 1m05s: L4CON: refused\n"
			    "check        L4CON: refused\n"
			    "connections  0 open, 0 at most, 8 in all, 0 failed, 0 wait; weight 5\n"
			    "bytes        100 to the server, 0 to clients, 2 new a second\n"
			    "\n"
			    "CHANGES\n" WHEN "99Z weight 1 -> 5: by uid 0 over the admin socket\n" WHEN
			    "99Z \"UP\" -> \"DOWN\": L4CON: refused\n" WHEN
			    "98Z \"?\" -> \"UP\": configured\n");
}

static void its_trends_are_those_of_the_same_server(void **state)
{
	(void)state;
	assert_non_null(strstr(shown("web", "a", "", 17), "\nnew             #\nbytes           #\n"));
	assert_non_null(strstr(shown("web", "b", "", 17), "\nnew             _\nbytes           _\n"));
	assert_null(strstr(shown("web", "b", "", 13), "\nnew "));
}

static void the_page_fits(void **state)
{
	(void)state;
	for (unsigned columns = 14; columns < 120; columns++) {
		const char *line = shown("web", "a", changes, columns);

		for (; *line != '\0'; line = strchr(line, '\n') + 1)
			assert_true(strcspn(line, "\n") <= columns);
	}
}

static void what_is_not_known_is_left_out(void **state)
{
	static const char refusal[] = "error: uid 1000 may not\n";

	(void)state;
	assert_non_null(strstr(shown("db", "a", refusal, 0), "\nerror: uid 1000 may not\n"));
	assert_non_null(strstr(shown("db", "a", refusal, 0), "\nstate        maint for 0m00s\n"));
	assert_null(strstr(shown("db", "a", refusal, 0), "\ncheck "));
	assert_non_null(strstr(shown("db", "a", "", 0), " 0 new in all\n")); /* it was not there before */
	assert_string_equal(shown("db", "b", "", 0), "\nSERVER\nis gone\n");
	assert_string_equal(shown("", "", "", 0), "\nSERVER\nnone that the filter shows\n");
}

static void choose(const char *filter, struct view_choice *choice, int steps, const char *proxy,
		   const char *name)
{
	const struct view_style style = {.filter = filter};

	view_choose(&now, &before, &style, choice, steps);
	assert_string_equal(choice->proxy, proxy);
	assert_string_equal(choice->name, name);
}

static void a_server_is_chosen_as_the_list_shows_it(void **state)
{
	struct view_choice choice = {.name = ""};

	(void)state;
	choose(NULL, &choice, 0, "web", "a"); /* down first, then what was taken out */
	choose(NULL, &choice, 1, "db", "a");
	choose(NULL, &choice, 0, "db", "a");
	choose(NULL, &choice, 1, "web", "b");
	choose(NULL, &choice, 1, "web", "b");
	choose(NULL, &choice, -1, "db", "a");
	choose(NULL, &choice, -1, "web", "a");
	choose(NULL, &choice, -1, "web", "a");
	choose("/b", &choice, 0, "web", "b");
	choose("no such", &choice, 0, "", "");
	choose(NULL, &choice, 2, "web", "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_is_shown_with_its_reason_and_its_changes),
		cmocka_unit_test(its_trends_are_those_of_the_same_server),
		cmocka_unit_test(the_page_fits),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(a_server_is_chosen_as_the_list_shows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
