/* SPDX-License-Identifier: MIT
 *
 * test_read.c - HAProxy's lines become words as HAProxy cuts them, and its conditions choose lines.
 */
#include "../draft/read_rig.h"
#include "weir/haproxy/haproxy.h"

static void expect(const char *text, const char *wanted)
{
	static char *const environment[] = {(char *)"A=1", NULL};
	struct read_rig rig;
	const char *path;

	rig_begin(&rig, text);
	path = rig.path;
	rig.reading.environment = environment;
	assert_true(haproxy_read(&rig.reading, &path, 1));
	assert_string_equal(rig_text(&rig, &rig.reading.lines), wanted);
	assert_int_equal(rig.reading.every.count, rig.reading.lines.count);
	rig_end(&rig);
}

static void expect_error(const char *text, unsigned line, const char *why)
{
	struct read_rig rig;
	const char *path;

	rig_begin(&rig, text);
	path = rig.path;
	assert_false(haproxy_read(&rig.reading, &path, 1));
	assert_int_equal(rig.reading.error.line, line);
	assert_string_equal(rig.reading.error.file, rig.path);
	assert_non_null(strstr(rig.reading.error.text, why));
	rig_end(&rig);
}

static void words_are_cut_as_haproxy_cuts_them(void **state)
{
	(void)state;
	expect("a  b\tc # d\n\n e\n", "1:a|b|c 3:e");
	expect("a b\\ c \"d e\" 'f g' \"h\"i'j'\n", "1:a|b c|d e|f g|hij");
	expect("a \\# \\\\ \\\" \\' b#c\n", "1:a|#|\\|\"|'|b");
	expect("a \"\\x41\\$\" '\\x41$' \\x42\n", "1:a|A$|\\x41$|B");
	expect("a \"\"\n", "1:a|");
	expect("a b\r\n", "1:a|b");
	expect("a \\r\\n\n", "1:a|\r\n");
}

static void variables_stay_and_get_our_form(void **state)
{
	(void)state;
	expect("a \"$B\" \"${C}x\" \"${D-e}\" '$F' $G\n", "1:a|${B}|${C}x|${D:-e}|$F|$G");
}

static void conditions_choose_lines(void **state)
{
	(void)state;
	expect(".if 1\na\n.else\nb\n.endif\n", "2:a");
	expect(".if 0\na\n.elif 1\nb\n.elif 1\nc\n.else\nd\n.endif\ne\n", "4:b 10:e");
	expect(".if defined(A) && !defined(B)\na\n.endif\n", "2:a");
	expect(".if streq(\"$A\",1) || version_atleast(9)\na\n.endif\n", "2:a");
	expect(".if strneq(\"$A\",1)\na\n.endif\n", "");
	expect(".if 0\n.if feature(X)\na\n.endif\n\"\n.endif\nb\n", "7:b");
	expect(".if (0 || 1) && !0\na\n.endif\n.if\nb\n.endif\n", "2:a");
}

static void what_cannot_be_read_is_named_with_its_line(void **state)
{
	(void)state;
	expect_error("a\nb \"\n", 2, "double quote");
	expect_error("a '\n", 1, "single quote");
	expect_error("a \\\n", 1, "backslash");
	expect_error("a \"${b\n", 1, "'$'");
	expect_error("a \\xg0\n", 1, "\\x");
	expect_error("a\n.if version_atleast(2.0)\n.endif\n", 2, "depends on");
	expect_error(".if 1\n", 1, "no '.endif'");
	expect_error(".else\n", 1, "without '.if'");
	expect_error(".if 0\n.else\n.else\n.endif\n", 3, "without '.if'");
	expect_error(".foo\n", 1, "not a directive");
	expect_error("a {{ b }}\n", 1, "template");
}

static void levels_have_a_limit(void **state)
{
	char text[17 * 6 + 1] = "";

	(void)state;
	for (size_t i = 0; i < 17; i++)
		memcpy(text + 6 * i, ".if 1\n", 7);
	expect_error(text, 17, "16 levels");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(words_are_cut_as_haproxy_cuts_them),
	    cmocka_unit_test(variables_stay_and_get_our_form),
	    cmocka_unit_test(conditions_choose_lines),
	    cmocka_unit_test(what_cannot_be_read_is_named_with_its_line),
	    cmocka_unit_test(levels_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
