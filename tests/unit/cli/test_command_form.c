/* SPDX-License-Identifier: MIT
 *
 * test_command_form.c - the form of a command is followed word by word, with and without what is in
 * brackets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "cli/command_form.h"

/* The places after all words of a line; 0 if one of them does not match. */
static uint32_t follow(struct command_form *form, const char *words, const char *more,
		       const char *const *typed, size_t count)
{
	const struct admin_form text = {.words = words, .more = more, .help = ""};
	uint32_t places;

	command_form_read(form, &text);
	places = command_form_begin(form);
	for (size_t i = 0; i < count; i++)
		places = command_form_step(form, places, typed[i]);
	return places;
}

static void a_word_follows_the_one_before(void **state)
{
	const char *const typed[] = {"set", "server", "web/a", "state"};
	const char *const other[] = {"set", "server", "web/a", "stat"};
	struct command_form form;

	(void)state;
	assert_int_equal(follow(&form, "set server", "BACKEND/SERVER state ready|drain", typed, 0), 1);
	assert_int_equal(form.count, 5);
	for (uint32_t n = 0; n <= 4; n++)
		assert_int_equal(follow(&form, "set server", "BACKEND/SERVER state ready|drain", typed, n),
				 UINT32_C(1) << n);
	assert_int_equal(follow(&form, "set server", "BACKEND/SERVER state ready|drain", other, 4), 0);
}

static void what_is_in_brackets_may_be_left_out(void **state)
{
	const char *const wait[] = {"reload", "wait"}, *const confirm[] = {"reload", "confirm=3s"};
	const char *const none[] = {"reload", "confirm"};
	struct command_form form;

	(void)state;
	/* reload 0, wait 1, confirm= 2, hold 3, the end 4 */
	assert_int_equal(follow(&form, "reload", "[wait] [confirm=TIME [hold]]", wait, 1), 0x16);
	assert_int_equal(follow(&form, "reload", "[wait] [confirm=TIME [hold]]", wait, 2), 0x14);
	assert_int_equal(follow(&form, "reload", "[wait] [confirm=TIME [hold]]", confirm, 2), 0x18);
	assert_int_equal(follow(&form, "reload", "[wait] [confirm=TIME [hold]]", none, 2), 0);
}

static void brackets_within_a_word_are_part_of_it(void **state)
{
	struct command_form form;

	(void)state;
	(void)follow(&form, "show servers history", "[BACKEND[/SERVER]] [json]", NULL, 0);
	assert_int_equal(form.count, 5);
	assert_int_equal(form.words[3].len, strlen("BACKEND[/SERVER]"));
	assert_memory_equal(form.words[3].text, "BACKEND[/SERVER]", form.words[3].len);
	assert_int_equal(form.words[3].skip_to, 4);
	assert_int_equal(form.words[4].skip_to, 5);
	assert_int_equal(form.words[2].skip_to, 0);
}

static void a_word_with_dots_may_be_repeated(void **state)
{
	const char *const typed[] = {"add", "x", "check", "inter", "1s"};
	struct command_form form;

	(void)state;
	for (size_t n = 2; n <= ARRAY_LEN(typed); n++)
		assert_int_equal(follow(&form, "add", "NAME [WORD...]", typed, n), 0xc);
}

static void every_form_of_the_daemon_can_be_read(void **state)
{
	struct command_form form;
	struct admin_form text;
	size_t count = 0;

	(void)state;
	for (; admin_form_at(count, &text); count++) {
		command_form_read(&form, &text);
		assert_true(form.count > 0);
	}
	assert_true(count > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_follows_the_one_before),
		cmocka_unit_test(what_is_in_brackets_may_be_left_out),
		cmocka_unit_test(brackets_within_a_word_are_part_of_it),
		cmocka_unit_test(a_word_with_dots_may_be_repeated),
		cmocka_unit_test(every_form_of_the_daemon_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
