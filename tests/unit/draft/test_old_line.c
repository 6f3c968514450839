/* SPDX-License-Identifier: MIT
 *
 * test_old_line.c - fates only get worse, passwords are masked, marks of templates are found.
 */
#include "read_rig.h"
#include "weir/base/check.h"

static void a_fate_only_gets_worse(void **state)
{
	struct arena a = {0};
	struct old_line line = {.count = 0};

	(void)state;
	old_set(&a, &line, OLD_CARRIED, NULL);
	old_set(&a, &line, OLD_LOST, "one");
	old_set(&a, &line, OLD_DIFFERENT, "two");
	old_set(&a, &line, OLD_LOST, "three");
	old_set(&a, &line, OLD_LOST, "one");
	assert_int_equal(line.fate, OLD_LOST);
	assert_string_equal(line.why, "one; three");
	arena_free(&a);
}

static void the_reasons_of_a_line_are_few(void **state)
{
	struct arena a = {0};
	struct old_line line = {.count = 0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		old_set(&a, &line, OLD_LOST, "its backend 'b%u' is not converted", i);
	assert_true(strlen(line.why) < 500);
	assert_string_equal(line.why + strlen(line.why) - 5, "; ...");
	arena_free(&a);
}

static void expect_mask(const char *const *words, size_t count, const char *wanted)
{
	struct arena a = {0};

	assert_string_equal(old_mask(&a, "as written", words, count), wanted);
	arena_free(&a);
}

static void passwords_are_masked(void **state)
{
	(void)state;
	expect_mask((const char *[]){"stats", "auth", "u:p"}, 3, "stats auth u:***");
	expect_mask((const char *[]){"user", "u", "insecure-password", "p"}, 4,
		    "user u insecure-password *** ...");
	expect_mask((const char *[]){"tcp-check", "send", "AUTH p\r\n"}, 3, "tcp-check send AUTH ***");
	expect_mask((const char *[]){"tcp-check", "send", "AUTH", "p"}, 4, "tcp-check send AUTH *** ...");
	expect_mask((const char *[]){"http-check", "send", "hdr", "authorization", "Basic x"}, 5,
		    "http-check send hdr authorization *** ...");
	expect_mask((const char *[]){"acl", "AUTH", "http_auth(u)"}, 3, "as written");
}

static void comments_that_may_have_a_password_are_not_copied(void **state)
{
	(void)state;
	assert_true(old_comment_ok("the old servers", 15));
	assert_false(old_comment_ok("stats auth a:b", 14));
	assert_false(old_comment_ok("Password: x", 11));
	assert_false(old_comment_ok("-------", 7));
	assert_false(old_comment_ok("a\033b", 3));
	assert_false(old_comment_ok("a\177b", 3));
}

static void marks_of_templates(void **state)
{
	static const char *const with[] = {"a {{ b }}", "{% if", "{%if x%}", "<%= x", "@@X@@", "$(x)"};
	static const char *const without[] = {"a { b }", "%[src]", "a@b", "${x}", "<x>", "{%ci}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(with); i++)
		assert_non_null(old_template_mark(with[i], strlen(with[i])));
	for (size_t i = 0; i < ARRAY_LEN(without); i++)
		assert_null(old_template_mark(without[i], strlen(without[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_fate_only_gets_worse),
	    cmocka_unit_test(the_reasons_of_a_line_are_few),
	    cmocka_unit_test(passwords_are_masked),
	    cmocka_unit_test(comments_that_may_have_a_password_are_not_copied),
	    cmocka_unit_test(marks_of_templates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
