/* SPDX-License-Identifier: MIT
 *
 * test_read.c - nginx's directives and blocks are cut as nginx cuts them.
 */
#include "../draft/read_rig.h"
#include "weir/nginx/nginx.h"

static void expect(const char *text, const char *wanted)
{
	struct read_rig rig;

	rig_begin(&rig, text);
	rig.reading.prefix = "/nonexistent";
	assert_true(nginx_read(&rig.reading, rig.path));
	assert_string_equal(rig_text(&rig, &rig.reading.lines), wanted);
	rig_end(&rig);
}

static void expect_error(const char *text, unsigned line, const char *why)
{
	struct read_rig rig;

	rig_begin(&rig, text);
	rig.reading.prefix = "/nonexistent";
	assert_false(nginx_read(&rig.reading, rig.path));
	assert_int_equal(rig.reading.error.line, line);
	assert_non_null(strstr(rig.reading.error.text, why));
	rig_end(&rig);
}

static void directives_and_blocks(void **state)
{
	(void)state;
	expect("a b;\nc {\n d; # e\n}\n", "1:a|b 2:c{3:d}");
	expect("a\n b\n c;", "1:a|b|c");
	expect("a 'b c' \"d\\\"e\" f\\ g;", "1:a|b c|d\"e|f\\ g");
	expect("a ${b}c $d;", "1:a|${b}c|$d");
	expect("a{b;}c;", "1:a{1:b} 1:c");
	expect("include /nonexistent/x; a;", "1:include|/nonexistent/x 1:a");
	expect("'' x; \"~^a$\" y;", "1:|x 1:~^a$|y");
	expect("a 'b\nc';\nd;", "1:a|b\nc 3:d");
}

static void code_of_others_is_skipped(void **state)
{
	(void)state;
	expect("x_by_lua_block { if a then b = {} end }\nc;", "1:x_by_lua_block{} 2:c");
	expect("http { include gone; a b; }", "1:http{1:include|gone 1:a|b}");
}

static void what_cannot_be_read_is_named_with_its_line(void **state)
{
	(void)state;
	expect_error("a;\nb {\n", 2, "not closed");
	expect_error("}\n", 1, "closes nothing");
	expect_error("a\n", 1, "without its ';'");
	expect_error("a \"b\n;", 1, "not closed");
	expect_error("a 'b'c;", 1, "after a quote");
	expect_error("{ }", 1, "without a directive");
	expect_error("include /;", 1, "cannot be read");
	expect_error("a \1b;", 1, "control character");
	expect_error("a;\nlisten <%= port %>;", 2, "template");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(directives_and_blocks),
	    cmocka_unit_test(code_of_others_is_skipped),
	    cmocka_unit_test(what_cannot_be_read_is_named_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
