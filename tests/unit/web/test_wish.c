/* SPDX-License-Identifier: MIT
 *
 * test_wish.c - paths, queries and Accept headers, and what they select.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "web/wish.h"

static struct wish wish_for(const char *path)
{
	const struct route_row *route = route_find(path);
	struct wish w;

	assert_non_null(route);
	wish_init(&w, route);
	return w;
}

static void each_path_has_its_route_and_others_have_none(void **state)
{
	(void)state;
	for (size_t i = 0; route_row(i) != NULL; i++)
		assert_ptr_equal(route_find(route_row(i)->path), route_row(i));
	assert_int_equal(route_find("/;csv")->name, ROUTE_CSV);
	assert_int_equal(route_find("/stats;csv")->name, ROUTE_CSV);
	assert_null(route_find(""));
	assert_null(route_find("/metrics/"));
	assert_null(route_find("/METRICS"));
	assert_null(route_find("/../metrics"));
}

static void scopes_add_up_as_in_haproxy(void **state)
{
	struct wish w = wish_for("/metrics");

	(void)state;
	assert_int_equal(w.scope & SCOPE_ALL, SCOPE_ALL);
	assert_true(wish_argument(&w, "scope", "server"));
	assert_int_equal(w.scope & SCOPE_ALL, SCOPE_SERVER);
	assert_true(wish_argument(&w, "scope", "global"));
	assert_int_equal(w.scope & SCOPE_ALL, SCOPE_SERVER | SCOPE_GLOBAL);
	assert_true(wish_argument(&w, "scope", ""));
	assert_int_equal(w.scope & SCOPE_ALL, 0);
	assert_true(wish_argument(&w, "scope", "backend"));
	assert_int_equal(w.scope & SCOPE_ALL, SCOPE_BACKEND);
	assert_true(wish_argument(&w, "scope", "*"));
	assert_int_equal(w.scope & SCOPE_ALL, SCOPE_ALL);
	assert_true(wish_argument(&w, "scope", NULL));
	assert_int_equal(w.scope & SCOPE_ALL, 0);
	assert_false(wish_argument(&w, "scope", "servers"));
	/* HAProxy's, of which there is nothing here: all else is left out. */
	w = wish_for("/metrics");
	assert_true(wish_argument(&w, "scope", "sticktable"));
	assert_int_equal(w.scope & SCOPE_ALL, 0);
}

static void names_are_haproxys_or_ours_and_nothing_else(void **state)
{
	struct wish w = wish_for("/metrics");

	(void)state;
	assert_false(w.haproxy);
	assert_true(wish_argument(&w, "names", "haproxy"));
	assert_true(w.haproxy);
	assert_true(wish_argument(&w, "names", "weir"));
	assert_false(w.haproxy);
	assert_false(wish_argument(&w, "names", "nginx"));
	assert_false(wish_argument(&w, "names", NULL));
	assert_true(wish_argument(&w, "no-maint", NULL));
	assert_true(w.no_maint);
	assert_true(wish_argument(&w, "whatever", "x"));
}

static bool is_open(const char *path, const char *accept)
{
	struct wish w = wish_for(path);

	wish_accept(&w, accept);
	return w.openmetrics;
}

static void openmetrics_is_chosen_by_quality(void **state)
{
	(void)state;
	assert_false(is_open("/metrics", NULL));
	assert_false(is_open("/metrics", ""));
	assert_false(is_open("/metrics", "*/*"));
	assert_true(is_open("/metrics", "application/openmetrics-text"));
	assert_true(is_open("/metrics", "application/openmetrics-text;version=1.0.0;q=0.5,"
					"application/openmetrics-text;version=0.0.1;q=0.4,"
					"text/plain;version=0.0.4;q=0.3,*/*;q=0.2"));
	assert_false(is_open("/metrics", "text/plain;q=0.9, application/openmetrics-text; q=0.5"));
	assert_false(is_open("/metrics", "application/openmetrics-text;q=0"));
	assert_false(is_open("/metrics", "application/openmetrics-textual"));
	assert_false(is_open("/metrics", ",,;;q=,;q"));
	assert_false(is_open("/api/v1/info", "application/openmetrics-text"));
}

static void wishes_are_equal_if_their_answers_are(void **state)
{
	struct wish a = wish_for("/metrics"), b = wish_for("/metrics");

	(void)state;
	assert_true(wish_equal(&a, &b));
	assert_true(wish_argument(&a, "scope", "*"));
	assert_true(wish_equal(&a, &b));
	assert_true(wish_argument(&a, "names", "haproxy"));
	assert_false(wish_equal(&a, &b));
	b.haproxy = true;
	b.openmetrics = true;
	assert_false(wish_equal(&a, &b));
	a = wish_for("/;csv");
	b = wish_for("/stats;csv");
	assert_true(wish_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_has_its_route_and_others_have_none),
		cmocka_unit_test(scopes_add_up_as_in_haproxy),
		cmocka_unit_test(names_are_haproxys_or_ours_and_nothing_else),
		cmocka_unit_test(openmetrics_is_chosen_by_quality),
		cmocka_unit_test(wishes_are_equal_if_their_answers_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
