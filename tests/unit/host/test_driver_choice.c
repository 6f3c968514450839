/* SPDX-License-Identifier: MIT
 *
 * test_driver_choice.c - each value of `driver`, with and without a ring, whichever driver auto prefers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/config/options.h"
#include "weir/host/driver_choice.h"

/* ---- a kernel that has rings or not, in place of uring_probe.c ---- */

static const struct io_driver fake_uring = {.name = "io_uring"};
static const char *refusal; /* NULL = there are rings */
static unsigned probes;

bool uring_is_built(void)
{
	return true;
}

const struct io_driver *uring_driver(char *why, size_t room)
{
	probes++;
	(void)snprintf(why, room, "%s", refusal != NULL ? refusal : "left over");
	return refusal != NULL ? NULL : &fake_uring;
}

void uring_explain(int err, char *why, size_t room)
{
	(void)snprintf(why, room, "no ring: %s", strerror(-err));
}

/* ---- the tests ---- */

#define A CONFIG_DRIVER_AUTO
#define E CONFIG_DRIVER_EPOLL
#define U CONFIG_DRIVER_IO_URING

static const struct row {
	enum config_driver asked, of_auto;
	bool rings;
	const char *name; /* of the driver; NULL = none, and no start */
	const char *why;
	unsigned probes;
} rows[] = {
    {E, E, true, "epoll", "", 0},    {E, E, false, "epoll", "", 0},
    {E, U, true, "epoll", "", 0},    {E, U, false, "epoll", "", 0},
    {A, E, true, "epoll", "", 0},    {A, E, false, "epoll", "", 0},
    {A, U, true, "io_uring", "", 1}, {A, U, false, "epoll", "it is switched off", 1},
    {U, E, true, "io_uring", "", 1}, {U, E, false, NULL, "it is switched off", 1},
    {U, U, true, "io_uring", "", 1}, {U, U, false, NULL, "it is switched off", 1},
};

static void what_was_asked_for_is_had_or_a_reason_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct driver_choice c;

		print_message("row %zu\n", i);
		refusal = rows[i].rings ? NULL : "it is switched off";
		probes = 0;
		driver_choose(&c, rows[i].asked, rows[i].of_auto);
		assert_int_equal(probes, rows[i].probes); /* no ring is made where none is wanted */
		assert_int_equal(driver_wants_ring(rows[i].asked, rows[i].of_auto), rows[i].probes > 0);
		assert_string_equal(c.why, rows[i].why);
		if (rows[i].name == NULL)
			assert_null(c.driver);
		else
			assert_string_equal(c.driver->name, rows[i].name);
	}
}

static void auto_falls_back_when_rings_run_out(void **state)
{
	struct driver_choice c;

	(void)state;
	refusal = NULL;
	driver_choose(&c, A, U);
	assert_true(driver_fall_back(&c, -ENOMEM));
	assert_string_equal(c.driver->name, "epoll");
	assert_string_equal(c.why, "no ring: Cannot allocate memory");
	assert_false(driver_fall_back(&c, -ENOMEM)); /* there is no third one */
	assert_string_equal(c.driver->name, "epoll");
}

static void who_asks_for_io_uring_gets_nothing_else(void **state)
{
	struct driver_choice c;

	(void)state;
	refusal = NULL;
	driver_choose(&c, U, U);
	assert_false(driver_fall_back(&c, -EMFILE));
	assert_string_equal(c.driver->name, "io_uring");
	assert_string_equal(c.why, "no ring: Too many open files");
}

static void epoll_has_nothing_to_fall_back_to(void **state)
{
	struct driver_choice c;

	(void)state;
	driver_choose(&c, E, U);
	assert_false(driver_fall_back(&c, -ENOMEM));
	assert_string_equal(c.why, "");
}

static void auto_prefers_a_driver_that_there_is(void **state)
{
	(void)state;
	assert_true(DRIVER_OF_AUTO == E || DRIVER_OF_AUTO == U);
}

/* `weir help driver`, weir.ini(5) and reference.md come from this row. */
static void the_help_says_what_auto_is(void **state)
{
	const char *words = DRIVER_OF_AUTO == E ? "; auto = epoll;" : "; auto = io_uring";
	const struct option *row = NULL;

	(void)state;
	for (size_t i = 0; i < option_count; i++)
		if (strcmp(options[i].key, "driver") == 0)
			row = &options[i];
	assert_non_null(row);
	assert_non_null(strstr(row->help, words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_asked_for_is_had_or_a_reason_given),
	    cmocka_unit_test(auto_falls_back_when_rings_run_out),
	    cmocka_unit_test(who_asks_for_io_uring_gets_nothing_else),
	    cmocka_unit_test(epoll_has_nothing_to_fall_back_to),
	    cmocka_unit_test(auto_prefers_a_driver_that_there_is),
	    cmocka_unit_test(the_help_says_what_auto_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
