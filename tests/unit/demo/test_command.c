/* SPDX-License-Identifier: MIT
 *
 * test_command.c - what the demo keeps of the answer to a command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "demo/command.h"

#define CHANGE ", server demo/b3 removed"

struct rig {
	struct ev_loop *loop;
	struct command c;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	assert_non_null(rig->loop);
	command_init(&rig->c, rig->loop, "unix:@weir-demo-test-nobody-listens");
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	command_stop(&rig->c);
	ev_loop_destroy(rig->loop);
	free(rig);
	return 0;
}

static void command_keeps_the_first_error_and_the_last_line(void **state)
{
	struct command *c = &((struct rig *)*state)->c;

	command_take(c, "f:3:1: error: 'x' is wrong\n  3 | x\n    | ^ write y\nf:4:1: error: another\n"
			 "not reloaded: it cannot be used\n");
	assert_string_equal(c->error, "'x' is wrong");
	assert_string_equal(c->last, "not reloaded: it cannot be used");
	assert_true(command_is_refused(c));
	assert_null(command_change(c, ""));
}

static void command_tells_what_a_reload_has_changed(void **state)
{
	struct command *c = &((struct rig *)*state)->c;

	command_take(c, "f:1:1: warning: w\nreloaded: generation 2" CHANGE "\n");
	assert_string_equal(c->error, "");
	assert_false(command_is_refused(c));
	assert_string_equal(command_change(c, CHANGE), "generation 2" CHANGE);
	command_take(c, "reloaded: generation 2, nothing has changed");
	assert_null(command_change(c, CHANGE));
	command_take(c, "");
	assert_string_equal(c->last, "");
	assert_false(command_is_refused(c));
	assert_null(command_change(c, ""));
}

static void command_skips_empty_lines(void **state)
{
	struct command *c = &((struct rig *)*state)->c;

	command_take(c, "New server registered.\n\n");
	assert_string_equal(c->error, "");
	assert_string_equal(c->last, "New server registered.");
}

static void command_waits_for_a_daemon_but_not_for_ever(void **state)
{
	struct command *c = &((struct rig *)*state)->c;

	assert_false(command_is_busy(c));
	assert_false(command_go_on(c, "reload confirm=1s"));
	for (int i = 0; i < 2; i++)
		assert_false(command_go_on(c, "reload"));
	assert_true(command_is_busy(c));
	assert_string_equal(c->question, "@weir reload confirm=1s\n"); /* the one that has begun */
	c->began_ns -= (COMMAND_PATIENCE_S + 1) * NS_PER_SEC;
	assert_true(command_go_on(c, "reload"));
	assert_string_equal(c->last, "weir did not answer");
	assert_false(command_is_busy(c));
	assert_false(command_go_on(c, "reload")); /* the next reload */
}

static void command_notices_a_lost_connection(void **state)
{
	struct command *c = &((struct rig *)*state)->c;

	assert_false(command_go_on(c, "reload"));
	c->sent = true; /* and the connection has been closed since */
	assert_true(command_go_on(c, "reload"));
	assert_string_equal(c->last, "weir closed the connection without an answer");
	assert_false(command_is_refused(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(command_keeps_the_first_error_and_the_last_line, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(command_tells_what_a_reload_has_changed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(command_skips_empty_lines, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(command_waits_for_a_daemon_but_not_for_ever, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(command_notices_a_lost_connection, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
