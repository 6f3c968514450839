/* SPDX-License-Identifier: MIT
 *
 * test_sessions_view.c - the sessions of `top`: read from `show sess`, with rates, sorted and filtered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "cli/sessions_view.h"

#define LINE(key, id, client, server, age, in, out)                                                          \
	"0x" key ": proto=tcpv4 src=" client " fe=web be=web srv=" server " age=1s id=" id                   \
	" state=forwarding client=" client " frontend=web backend=web server=" server                        \
	" server_address=10.0.0.1:80 age_ms=" age " tries=1 bytes_in=" in " bytes_out=" out " held=0,0\n"

static const char first[] = LINE("200000001", "1.1", "10.0.0.9:1", "b", "70000", "10", "20")
	LINE("100000007", "0.7", "10.0.0.8:2", "a", "5000", "1000", "0");
static const char second[] = "not a session\n"
	LINE("100000007", "0.7", "10.0.0.8:2", "a", "6000", "3000", "0")
	LINE("200000001", "1.1", "10.0.0.9:1", "b", "71000", "10", "70")
	LINE("200000002", "1.2", "10.0.0.7:3", "-", "0", "0", "0") "\n";

static void make(struct sessions_view *v, const char *answer, int64_t taken_ns)
{
	sessions_view_init(v);
	text_add(&v->answer, answer, strlen(answer));
	assert_true(sessions_view_read(v));
	v->taken_ns = taken_ns;
}

static const char *shown(const char *filter, enum view_sort sort, unsigned columns)
{
	const struct view_style style = {.columns = columns, .sort = sort, .filter = filter};
	struct sessions_view before, now;
	static char page[4096];
	struct text out;

	make(&before, first, NS_PER_SEC);
	make(&now, second, 3 * NS_PER_SEC);
	text_over(&out, page, sizeof(page));
	sessions_view_show(&now, &before, &style, &out);
	assert_false(out.failed);
	sessions_view_free(&before);
	sessions_view_free(&now);
	return page;
}

static void a_session_has_a_line(void **state)
{
	(void)state;
	assert_string_equal(shown(NULL, VIEW_SORT_BYTES, 80),
			    "\n"
			    "SESSION    CLIENT                 SERVER      AGE  IN/S OUT/S    IN   OUT\n"
			    "0.7        10.0.0.8:2             web/a     0m06s  1000     0  2.9k     0\n"
			    "1.1        10.0.0.9:1             web/b     1m11s     0    25    10    70\n"
			    "1.2        10.0.0.7:3             web       0m00s     0     0     0     0\n");
}

static void sessions_are_sorted(void **state)
{
	static const char *const order[VIEW_SORTS] = {
		[VIEW_SORT_STATE] = "1.1", [VIEW_SORT_SESSIONS] = "0.7", [VIEW_SORT_NEW] = "1.2",
		[VIEW_SORT_BYTES] = "0.7", [VIEW_SORT_NAME] = "1.2",
	};

	(void)state;
	for (int sort = 0; sort < VIEW_SORTS; sort++) {
		const char *page = strchr(shown(NULL, (enum view_sort)sort, 80) + 1, '\n') + 1;

		assert_int_equal(strncmp(page, order[sort], strlen(order[sort])), 0);
	}
}

static void a_filter_looks_at_names_and_addresses(void **state)
{
	static const struct {
		const char *filter;
		const char *there;
		const char *gone;
	} cases[] = {
		{"WEB/B", "\n1.1 ", "\n0.7 "}, {"10.0.0.8", "\n0.7 ", "\n1.1 "}, {"1.2", "\n1.2 ", "\n1.1 "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_non_null(strstr(shown(cases[i].filter, VIEW_SORT_STATE, 80), cases[i].there));
		assert_null(strstr(shown(cases[i].filter, VIEW_SORT_STATE, 80), cases[i].gone));
	}
	assert_null(strstr(shown("nothing", VIEW_SORT_STATE, 80), "10.0.0"));
}

static void a_wide_page_has_the_state(void **state)
{
	(void)state;
	assert_non_null(strstr(shown(NULL, VIEW_SORT_STATE, 0), " forwarding "));
	assert_null(strstr(shown(NULL, VIEW_SORT_STATE, 99), " forwarding "));
}

static void a_refusal_is_shown(void **state)
{
	const struct view_style style = {.columns = 80};
	struct sessions_view v;
	char page[512];
	struct text out;

	(void)state;
	make(&v, "error: uid 1000 may not\n", NS_PER_SEC);
	assert_int_equal(v.count, 0);
	v.refusal = v.answer.bytes + strlen("error: ");
	text_over(&out, page, sizeof(page));
	sessions_view_show(&v, NULL, &style, &out);
	assert_non_null(strstr(page, "\nuid 1000 may not\n"));
	sessions_view_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_has_a_line),
		cmocka_unit_test(sessions_are_sorted),
		cmocka_unit_test(a_filter_looks_at_names_and_addresses),
		cmocka_unit_test(a_wide_page_has_the_state),
		cmocka_unit_test(a_refusal_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
