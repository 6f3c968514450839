/* SPDX-License-Identifier: MIT
 *
 * test_view.c - the lists of `top`: rates of servers that come and go, a filter, a page with trends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "cli/trend.h"
#include "cli/view.h"

static struct view_row server(const char *name, const char *state, uint64_t total)
{
	struct view_row row = {.proxy = "web", .total = total};

	(void)snprintf(row.name, sizeof(row.name), "%s", name);
	(void)snprintf(row.state, sizeof(row.state), "%s", state);
	(void)snprintf(row.address, sizeof(row.address), "10.0.0.1:80");
	return row;
}

/* One server left, one came, one stayed. */
static const char *shown(enum view_page page, const char *filter, unsigned columns)
{
	struct view_row first[] = {server("gone", "up", 900), server("old", "up", 1000)};
	struct view_row second[] = {server("old", "up", 1004), server("new", "down", 2)};
	struct view_row frontend = {.proxy = "entry", .state = "open", .address = ":80"};
	const struct view before = {.servers = first, .server_count = 2, .frontends = &frontend,
				    .frontend_count = 1, .taken_ns = NS_PER_SEC, .state = "ready"};
	const struct view now = {.servers = second, .server_count = 2, .frontends = &frontend,
				 .frontend_count = 1, .taken_ns = 3 * NS_PER_SEC, .state = "ready"};
	struct view_style style = {.columns = columns, .page = page, .filter = filter};
	static char text[8192];
	struct trends trends;
	struct text out;

	trends_init(&trends);
	trends_add(&trends, &now, &before);
	style.trends = &trends;
	text_over(&out, text, sizeof(text));
	view_show(&now, &before, &style, &out);
	assert_false(out.failed);
	trends_free(&trends);
	return strstr(text, "\n\n") + 1;
}

static void rates_are_those_of_the_same_server(void **state)
{
	const char *page = shown(VIEW_PAGE_ALL, NULL, 80);

	(void)state;
	assert_non_null(strstr(page, "\nweb/old   up        0     0  1004     2     0     0  10.0.0.1:80\n"));
	assert_non_null(strstr(page, "\nweb/new   down      0     0     2     1     0     0  10.0.0.1:80\n"));
	assert_true(strstr(page, "web/new") < strstr(page, "web/old")); /* down first */
	assert_non_null(strstr(page, "\nFRONTEND"));
}

static void a_filter_hides_what_does_not_match(void **state)
{
	(void)state;
	assert_null(strstr(shown(VIEW_PAGE_ALL, "OLD", 80), "web/new"));
	assert_non_null(strstr(shown(VIEW_PAGE_ALL, "OLD", 80), "web/old"));
	assert_null(strstr(shown(VIEW_PAGE_ALL, "OLD", 80), "entry"));
	assert_non_null(strstr(shown(VIEW_PAGE_ALL, "down", 80), "web/new"));
	assert_null(strstr(shown(VIEW_PAGE_ALL, "down", 80), "web/old"));
	assert_non_null(strstr(shown(VIEW_PAGE_ALL, ":80", 80), "entry"));
}

static void the_page_of_servers_fits(void **state)
{
	(void)state;
	for (unsigned columns = 20; columns <= 200; columns++) {
		const char *line = shown(VIEW_PAGE_SERVERS, NULL, columns);

		assert_null(strstr(line, "FRONTEND"));
		for (line++; *line != '\0'; line = strchr(line, '\n') + 1)
			assert_true(strcspn(line, "\n") <= columns);
	}
	assert_non_null(strstr(shown(VIEW_PAGE_SERVERS, NULL, 80), " BYTES/S\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_those_of_the_same_server),
		cmocka_unit_test(a_filter_hides_what_does_not_match),
		cmocka_unit_test(the_page_of_servers_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
