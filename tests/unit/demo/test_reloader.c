/* SPDX-License-Identifier: MIT
 *
 * test_reloader.c - what the demo keeps of the answer to a reload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "demo/reloader.h"

#define CHANGE ", server demo/b4 added"

struct rig {
	struct ev_loop *loop;
	struct reloader r;
};

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	assert_non_null(rig->loop);
	reloader_init(&rig->r, rig->loop, "unix:@weir-demo-test-nobody-listens");
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	reloader_stop(&rig->r);
	ev_loop_destroy(rig->loop);
	free(rig);
	return 0;
}

static void reloader_keeps_the_first_error_and_the_last_line(void **state)
{
	struct reloader *r = &((struct rig *)*state)->r;

	reloader_take(r, "f:3:1: error: 'x' is wrong\n  3 | x\n    | ^ write y\nf:4:1: error: another\n"
			 "not reloaded: it cannot be used\n");
	assert_string_equal(r->error, "'x' is wrong");
	assert_string_equal(r->last, "not reloaded: it cannot be used");
	assert_true(reloader_is_refused(r));
	assert_false(reloader_has_changed(r, ""));
}

static void reloader_tells_what_has_changed(void **state)
{
	struct reloader *r = &((struct rig *)*state)->r;

	reloader_take(r, "f:1:1: warning: w\nreloaded: generation 2" CHANGE "\n");
	assert_string_equal(r->error, "");
	assert_false(reloader_is_refused(r));
	assert_true(reloader_has_changed(r, CHANGE));
	reloader_take(r, "reloaded: generation 2, nothing has changed");
	assert_false(reloader_has_changed(r, CHANGE));
	reloader_take(r, "");
	assert_string_equal(r->last, "");
	assert_false(reloader_is_refused(r));
	assert_false(reloader_has_changed(r, ""));
}

static void reloader_waits_for_a_daemon_but_not_for_ever(void **state)
{
	struct reloader *r = &((struct rig *)*state)->r;

	assert_false(reloader_is_busy(r));
	for (int i = 0; i < 3; i++)
		assert_false(reloader_go_on(r));
	assert_true(reloader_is_busy(r));
	r->began_ns -= (RELOADER_PATIENCE_S + 1) * NS_PER_SEC;
	assert_true(reloader_go_on(r));
	assert_string_equal(r->last, "weir did not answer");
	assert_false(reloader_is_busy(r));
	assert_false(reloader_go_on(r)); /* the next reload */
}

static void reloader_notices_a_lost_connection(void **state)
{
	struct reloader *r = &((struct rig *)*state)->r;

	assert_false(reloader_go_on(r));
	r->sent = true; /* and the connection has been closed since */
	assert_true(reloader_go_on(r));
	assert_string_equal(r->last, "weir closed the connection without an answer");
	assert_false(reloader_is_refused(r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(reloader_keeps_the_first_error_and_the_last_line, set_up,
					    tear_down),
	    cmocka_unit_test_setup_teardown(reloader_tells_what_has_changed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(reloader_waits_for_a_daemon_but_not_for_ever, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(reloader_notices_a_lost_connection, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
