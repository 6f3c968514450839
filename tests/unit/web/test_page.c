/* SPDX-License-Identifier: MIT
 *
 * test_page.c - the page: complete as served, well formed whatever names and texts contain, and on its own.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page_text.h"
#include "sample_facts.h"
#include "web/page_assets.h"
#include "web/page_row.h"

#define HOSTILE "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;\x1b\xe2\x80\xae"
#define DEPTH_MAX 32

/* ---- a small reader of HTML ---- */

struct tag {
	const char *name;
	size_t name_len;
	bool is_end;
	const char *behind;
};

static bool tag_is(const struct tag *t, const char *name)
{
	return strlen(name) == t->name_len && memcmp(t->name, name, t->name_len) == 0;
}

/* The next tag; within it, quotes are paired and values are in quotes. Under ASan, strchr() and strspn()
 * would read the rest of the page each time. */
static bool next_tag(const char *at, struct tag *t)
{
	bool quoted = false;

	at = memchr(at, '<', (size_t)(page.bytes + page.len - at));
	if (at == NULL)
		return false;
	t->is_end = at[1] == '/';
	t->name = at + 1 + t->is_end;
	t->name_len = 0;
	while (isalnum((unsigned char)t->name[t->name_len]) || t->name[t->name_len] == '!')
		t->name_len++;
	assert_true(t->name_len > 0);
	for (at = t->name + t->name_len; quoted || *at != '>'; at++) {
		assert_true(*at != '\0' && *at != '<');
		quoted ^= *at == '"';
		assert_true(quoted || *at != '=' || at[1] == '"');
	}
	t->behind = at + 1;
	return true;
}

/* Style and script are not markup. */
static const char *behind_raw(const struct tag *t)
{
	if (!t->is_end && tag_is(t, "style"))
		return strstr(t->behind, "</style>");
	if (!t->is_end && tag_is(t, "script"))
		return strstr(t->behind, "</script>");
	return t->behind;
}

/* Each element ends where it must, and none comes from a name or a text. */
static void assert_well_formed(void)
{
	static const char *const alone[] = {"!DOCTYPE", "meta", "link"};
	struct tag open[DEPTH_MAX], t;
	const char *at = page.bytes;
	size_t depth = 0;

	while (next_tag(at, &t)) {
		bool ends = false;

		for (size_t i = 0; i < ARRAY_LEN(alone); i++)
			ends |= tag_is(&t, alone[i]);
		assert_false(tag_is(&t, "img"));
		if (t.is_end) {
			assert_true(depth-- > 0);
			assert_int_equal(open[depth].name_len, t.name_len);
			assert_memory_equal(open[depth].name, t.name, t.name_len);
		} else if (!ends) {
			assert_true(depth < DEPTH_MAX);
			open[depth++] = t;
		}
		at = behind_raw(&t);
		assert_non_null(at);
	}
	assert_int_equal(depth, 0);
}

/* The only address in it is the name of SVG's namespace. */
static void assert_on_its_own(void)
{
	assert_int_equal(count_of("http:"), count_of("\"http://www.w3.org/2000/svg\""));
	assert_lacks("https:");
	assert_lacks("url(");
	assert_int_equal(count_of("<link"), count_of("<link rel=\"icon\" href=\"data:,\">"));
}

/* ---- the list ---- */

static void everything_is_in_the_page_as_served(void **state)
{
	struct sample s = {.backends = 2, .servers = 3, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	render(&facts);
	assert_well_formed();
	assert_on_its_own();
	assert_int_equal(count_of("<tbody data-key=\"app"), 2);
	assert_int_equal(count_of("<tr data-key=\"s:"), 6);
	assert_int_equal(count_of("<tr data-key=\"b:"), 2);
	assert_int_equal(count_of("<tr data-key=\"f:"), 1);
	assert_has("<a href=\"?backend=app1&amp;server=web2\">web2</a> <small>10.0.0.3:8080</small>");
	assert_has("<b class=\"state bad\">DOWN</b> <small>1 h ");
	assert_has("health check failed: connection refused");
	assert_has("L4CON, connection refused");
	assert_has("0.0.0.0:443, [::]:443");
	assert_has("<b>edge1</b>");
	assert_has("up 1 d 2 h, 4 workers, pid 4711, version 0.1.0");
	assert_has(">4<small> of 6</small>");
	assert_has("data-live=\"spliced\" data-v=\"90\"><span>90 %</span>");
	assert_has("18446744073709551615");
}

/* Each row of the table has its columns, in the order of the head. */
static void each_column_is_shown_of_who_has_it(void **state)
{
	struct sample s = {.backends = 1, .servers = 1, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	render(&facts);
	for (size_t i = 0; i < PAGE_COLUMNS; i++) {
		const struct page_column_row *c = page_column_row((enum page_column)i);
		const size_t tables = (c->kinds & PAGE_KINDS_F ? 1u : 0u) +
				      (c->kinds & PAGE_KINDS_BS ? 1u : 0u);
		char id[64];

		(void)snprintf(id, sizeof(id), "data-id=\"%s\"", c->id);
		assert_int_equal(count_of(id), tables);
	}
	/* Of 1 GiB and more, the exact value is there for the script. */
	assert_has("data-v=\"888987653432\"");
}

static void numbers_that_do_not_exist_are_empty(void **state)
{
	struct page_row row = {.kind = PAGE_BACKEND, .name = "b", .state = "UP", .since_s = -1};

	(void)state;
	for (size_t i = 0; i < PAGE_COLUMNS; i++)
		row.values[i] = PAGE_NO_VALUE;
	text_free(&page);
	page_row_put(&page, PAGE_KINDS_BS, &row);
	assert_false(page.failed);
	assert_lacks("18446744073709551615");
	assert_has("<td class=\"w\"></td>");
	assert_has("<b class=\"state good\">UP</b></td>");
}

static void hostile_names_stay_text(void **state)
{
	struct sample s = {.backends = 2, .servers = 8, .suffix = HOSTILE};
	struct page_facts facts = sample_facts(&s);

	(void)state;
	facts.node = facts.state = facts.version = HOSTILE;
	render(&facts);
	assert_well_formed();
	assert_on_its_own();
	assert_lacks("<script>alert");
	assert_int_equal(count_of("<script>"), 1);
	assert_lacks("\x1b");
	assert_lacks("\xe2");
	assert_has("&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;lt;\\x1b");
	facts.missing = HOSTILE;
	render(&facts);
	assert_well_formed();
	assert_int_equal(count_of("<script>"), 1);
	assert_has("There is no server '&quot;");
}

static void a_thousand_servers_fit(void **state)
{
	struct sample s = {.backends = 10, .servers = 100, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);

	(void)state;
	render(&facts);
	assert_well_formed();
	assert_int_equal(count_of("<tr data-key=\"s:"), 1000);
	assert_in_range(page.len, 100000, 1500000);
}

static void no_backend_and_no_server_is_a_page_too(void **state)
{
	struct sample s = {.suffix = ""};
	struct page_facts facts = sample_facts(&s);

	(void)state;
	facts.node = "";
	facts.bytes_to_server = facts.bytes_to_client = 0;
	render(&facts);
	assert_well_formed();
	assert_has(">0<small> of 0</small>");
	assert_has("data-live=\"spliced\" data-v=\"0\"><span>0 %</span>");
	/* A part that is counted first may be more than all. */
	facts.bytes_to_client = 1;
	render(&facts);
	assert_has("<span>100 %</span>");
}

static void an_update_leaves_out_style_and_script(void **state)
{
	struct sample s = {.backends = 1, .servers = 2, .suffix = ""};
	struct page_facts facts = sample_facts(&s);

	(void)state;
	facts.is_update = true;
	render(&facts);
	assert_well_formed();
	assert_lacks("<style>");
	assert_lacks("<script>");
	assert_int_equal(count_of("<tr data-key=\"s:"), 2);
}

static void only_what_is_built_in_may_run(void **state)
{
	(void)state;
	assert_non_null(strstr(page_policy(), "default-src 'none'"));
	assert_non_null(strstr(page_policy(), "script-src 'sha256-"));
	assert_non_null(strstr(page_policy(), "style-src 'sha256-"));
	assert_null(strstr(page_policy(), "unsafe"));
	assert_null(strstr(page_style, "</"));
	assert_null(strstr(page_script, "</"));
}

/* ---- one server ---- */

static void render_server(struct page_facts *facts, struct sample *s, const struct history *h)
{
	static const struct tally_sum tally = {.retries = 77, .last_ns = 424242};
	struct page_server server = {.tally = &tally, .history = h};
	struct sample_row r;

	sample_server(s, 0, 2, &r);
	server.row = r.row;
	facts->server = &server;
	render(facts);
	facts->server = NULL;
	assert_well_formed();
	assert_on_its_own();
}

static void a_server_has_its_history(void **state)
{
	struct sample s = {.backends = 1, .servers = 3, .suffix = ""};
	struct page_facts facts = sample_facts(&s);
	struct history h = {0};

	(void)state;
	sample_history(&h, "");
	render_server(&facts, &s, &h);
	assert_has("<title>app0/web2 - weir on edge1</title>");
	assert_has("<h2>app0/web2</h2>");
	assert_has("weight 1 &rarr; 10</td><td class=\"text\">set by the administrator");
	assert_has("<td class=\"text\">1 d 0 h</td>");
	/* The newest first. */
	assert_true(strstr(page.bytes, ">1 h 6 min</td>") < strstr(page.bytes, ">2 h 30 min</td>"));
	assert_has("weir_server_retry_warnings_total</th><td class=\"number\">77</td>");
	assert_lacks("424242");
	history_free(&h);
}

/* From side to side, without a gap: down, up, in maintenance, up. */
static void its_states_are_drawn(void **state)
{
	struct sample s = {.backends = 1, .servers = 3, .suffix = ""};
	struct page_facts facts = sample_facts(&s);
	struct history h = {0};

	(void)state;
	sample_history(&h, "");
	render_server(&facts, &s, &h);
	assert_int_equal(count_of("<rect "), 4);
	assert_has("<rect class=\"bad\" x=\"0\" width=\"74\" height=\"20\"><title>DOWN</title>");
	assert_has("<rect class=\"good\" x=\"74\" width=\"821\"");
	assert_has("<rect class=\"off\" x=\"895\" width=\"58\"");
	assert_has("<rect class=\"good\" x=\"953\" width=\"47\"");
	/* The clock was set back: nothing is drawn, and nothing is negative. */
	facts.wall_ns = SAMPLE_WALL_NS - 100000 * NS_PER_SEC;
	render_server(&facts, &s, &h);
	assert_int_equal(count_of("<rect "), 0);
	assert_lacks("width=\"-");
	history_free(&h);
}

static void a_server_without_changes_has_a_page(void **state)
{
	struct sample s = {.backends = 1, .servers = 3, .suffix = HOSTILE};
	struct page_facts facts = sample_facts(&s);
	struct history h = {0};

	(void)state;
	render_server(&facts, &s, &h);
	assert_has("No changes since start.");
	sample_history(&h, HOSTILE);
	render_server(&facts, &s, &h);
	assert_int_equal(count_of("<script>"), 1);
	history_free(&h);
}

/* ---- without memory ---- */

static void a_page_that_does_not_fit_fails(void **state)
{
	struct sample s = {.backends = 3, .servers = 200, .suffix = ""};
	const struct page_facts facts = sample_facts(&s);
	long number = 0;

	(void)state;
	text_free(&page);
	for (;; number++) {
		const long before = allocated;

		fail_allocations_from(number);
		page_render(&facts, &page);
		fail_allocations_from(-1);
		if (!page.failed)
			break;
		text_free(&page);
		assert_int_equal(allocated, before);
	}
	assert_true(number > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_in_the_page_as_served),
		cmocka_unit_test(each_column_is_shown_of_who_has_it),
		cmocka_unit_test(numbers_that_do_not_exist_are_empty),
		cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(a_thousand_servers_fit),
		cmocka_unit_test(no_backend_and_no_server_is_a_page_too),
		cmocka_unit_test(an_update_leaves_out_style_and_script),
		cmocka_unit_test(only_what_is_built_in_may_run),
		cmocka_unit_test(a_server_has_its_history),
		cmocka_unit_test(its_states_are_drawn),
		cmocka_unit_test(a_server_without_changes_has_a_page),
		cmocka_unit_test(a_page_that_does_not_fit_fails),
	};

	text_init(&page);
	return cmocka_run_group_tests(tests, NULL, teardown);
}
