/* SPDX-License-Identifier: MIT
 *
 * test_admin_frontends.c - the commands that take frontends out of service and set limits: what they do, and
 * what they refuse in which words. On a real engine, whose workers have no thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../entry/entry_rig.h"
#include "weir/admin/admin_answers.h"
#include "weir/admin/admin_commands.h"
#include "weir/entry/unlisten.h"

static struct entry_rig r;
static struct frontend *fe;
static struct admin_context context;
static struct admin_peer peer;
static unsigned raised, lowered;

static int raise_right(void *arg)
{
	(void)arg;
	raised++;
	return 0;
}

static void lower_right(void *arg)
{
	(void)arg;
	lowered++;
}

static const struct unlisten_rights rights = {.raise = raise_right, .lower = lower_right};

static int setup(void **state)
{
	(void)state;
	rig_open(&r);
	fe = first_frontend(&r.engine);
	(void)rig_settle(&r);
	raised = lowered = 0;
	context = (struct admin_context){.engine = &r.engine, .state = DAEMON_READY, .bind_rights = &rights};
	peer = (struct admin_peer){.uid = 7, .level = CONFIG_ADMIN_ADMIN};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

static void assert_answer(const char *command, bool ours, const char *answer)
{
	struct admin_question q;
	struct text out;

	peer.ours = ours;
	text_init(&out);
	assert_int_equal(admin_command(&context, &peer, command, &out, &q), ADMIN_ANSWERED);
	assert_false(out.failed);
	if (strcmp(out.bytes != NULL ? out.bytes : "", answer) != 0)
		fail_msg("%s: '%s', not '%s'", command, out.bytes != NULL ? out.bytes : "", answer);
	text_free(&out);
}

static void settle(void)
{
	r.now_ns = clock_mono_ns() + NS_PER_SEC;
	(void)rig_control(&r);
	(void)rig_settle(&r);
}

static void frontend_goes_and_comes_back(void **state)
{
	(void)state;
	assert_answer("enable frontend f", false, "All sockets are already enabled.\n");
	assert_answer("enable frontend f", true, "error: frontend 'f' is already enabled\n");
	assert_answer("disable frontend f", false, "");
	assert_int_equal(fe->admin, FRONTEND_ADMIN_DISABLED);
	assert_int_equal(fe->marks[FRONTEND_MARK_STATE].by, 7);
	assert_true(mark_is_set(&fe->marks[FRONTEND_MARK_STATE]));
	assert_answer("disable frontend #1", false, "All sockets are already disabled.\n");
	assert_answer("disable frontend f", true, "error: frontend 'f' is already disabled\n");
	settle();
	assert_int_equal(first_endpoint(&r.engine)->stage, ENDPOINT_AWAY);
	assert_answer("enable frontend f", false, "");
	assert_int_equal(fe->admin, FRONTEND_ADMIN_READY);
	assert_int_equal(raised, 1);
	assert_int_equal(lowered, 1);
	assert_answer("shutdown frontend f", true, "");
	assert_answer("shutdown frontend f", false, "Frontend was already shut down.\n");
	assert_answer("shutdown frontend f", true, "error: frontend 'f' is already shut down\n");
	assert_answer("disable frontend f", false, "Frontend was previously shut down, cannot disable.\n");
	assert_answer("enable frontend f", false, "Frontend was previously shut down, cannot enable.\n");
	assert_answer("enable frontend f", true,
		      "error: frontend 'f' is shut down; change its section and reload, or restart the "
		      "daemon\n");
	settle();
}

static void frontend_without_an_address_to_be_had_stays_disabled(void **state)
{
	struct addr theirs = first_endpoint(&r.engine)->addr;
	char at[ADDR_TEXT_MAX], answer[256];
	int fd;

	(void)state;
	log_set_level(LOG_LEVEL_ALERT);
	assert_answer("disable frontend f", false, "");
	settle();
	fd = rig_listen_at(&theirs);
	assert_answer("enable frontend f", false,
		      "Failed to resume frontend, check logs for precise cause (port conflict?).\n");
	(void)snprintf(answer, sizeof(answer),
		       "error: frontend 'f' stays disabled: cannot listen on %s: Address already in use\n",
		       addr_format(&theirs, at));
	assert_answer("enable frontend f", true, answer);
	close(fd);
	r.engine.entries.ending = true;
	assert_answer("enable frontend f", true,
		      "error: frontend 'f' stays disabled: the daemon is stopping\n");
	r.engine.entries.ending = false;
}

static void name_that_is_none_is_refused(void **state)
{
	(void)state;
	assert_answer("disable frontend", false, "A frontend name is expected.\n");
	assert_answer("disable frontend b", false, "No such frontend.\n");
	assert_answer("disable frontend #2", false, "No such frontend.\n");
	assert_answer("shutdown frontend b", true, "error: no frontend 'b'; available: f\n");
	assert_answer("set maxconn frontend x 3", false, "No such frontend.\n");
	assert_int_equal(fe->admin, FRONTEND_ADMIN_READY);
}

static void limits_are_set(void **state)
{
	struct engine *e = &r.engine;

	(void)state;
	assert_answer("set maxconn frontend f 7", false, "");
	assert_int_equal(frontend_limit(fe), 7);
	assert_int_equal(fe->marks[FRONTEND_MARK_MAXCONN].by, 7);
	assert_answer("set maxconn frontend f x", false, ""); /* as atoi() */
	assert_int_equal(frontend_limit(fe), 0);
	assert_answer("set maxconn frontend f 100", true, "");
	assert_false(mark_is_set(&fe->marks[FRONTEND_MARK_MAXCONN]));
	assert_answer("set maxconn global 50", false, "");
	assert_int_equal(atomic_load(&e->settings.maxconn), 50);
	assert_int_equal(e->marks[ENGINE_MARK_MAXCONN].by, 7);
	assert_answer("set maxconn global -3", false, "");
	assert_int_equal(atomic_load(&e->settings.maxconn), SMALL_MAXCONN);
	assert_answer("set rate-limit connections global 9", false, "");
	assert_int_equal(atomic_load(&e->settings.rate_limit), 9);
	assert_int_equal(e->marks[ENGINE_MARK_RATE_LIMIT].by, 7);
	assert_answer("set rate-limit connections global 0", false, "");
	assert_false(mark_is_set(&e->marks[ENGINE_MARK_RATE_LIMIT]));
}

static void number_that_is_none_is_refused(void **state)
{
	(void)state;
	assert_answer("set maxconn frontend f", false, "Integer value expected.\n");
	assert_answer("set maxconn frontend f -1", false, "Value out of range.\n");
	assert_answer("set maxconn frontend f 2147483648", false, "Value out of range.\n");
	assert_answer("set maxconn frontend f 99999999999999999999", true,
		      "error: the number must be from 0 to 2147483647\n");
	assert_answer("set maxconn frontend f 7x", true, "error: '7x' is not a number\n");
	assert_answer("set maxconn global", false, "Expects an integer value.\n");
	assert_answer("set maxconn global 101", false, "Value out of range.\n");
	assert_answer("set maxconn global 101", true, "error: the most is 100, the maxconn of [global]\n");
	assert_answer("set rate-limit connections global", false, "Expects an integer value.\n");
	assert_answer("set rate-limit sessions global 1", false,
		      "'set rate-limit' only supports :\n   - 'connections global' to set the per-process "
		      "maximum connection rate\n");
	assert_answer("set rate-limit sessions global 1", true,
		      "error: write 'set rate-limit connections global N'\n");
	assert_int_equal(frontend_limit(fe), SMALL_MAXCONN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frontend_goes_and_comes_back),
		TEST(frontend_without_an_address_to_be_had_stays_disabled),
		TEST(name_that_is_none_is_refused),
		TEST(limits_are_set),
		TEST(number_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
