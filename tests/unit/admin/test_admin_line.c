/* SPDX-License-Identifier: MIT
 *
 * test_admin_line.c - lines of commands: changes take effect together, and one that is refused does not
 * hinder the others; a long line needs memory. On real backends, through a socket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../balance/updates_by_hand.h"
#include "../base/alloc_fail.h"
#include "admin_rig.h"

static struct config_server servers[] = {
	{.name = "a", .weight = 10, .addr.kind = ADDR_IP},
	{.name = "b", .weight = 10, .addr.kind = ADDR_IP},
};
static struct config_backend backends[] = {
	{.name = "web", .servers = servers, .server_count = 2},
	{.name = "app", .servers = servers, .server_count = 1},
};
static const struct config config = {.backends = backends, .backend_count = 2};
static struct updates_by_hand hand;

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct addr *a = &servers[i].addr.addr;

		a->len = sizeof(a->in);
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons((uint16_t)(80 + i));
		a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	if (rig_open_with(&config) != 0)
		return -1;
	updates_by_hand_init(&hand, rig.engine.backends, 2);
	rig.context.updates = &hand.updates;
	return 0;
}

static int teardown(void **state)
{
	fail_allocations_from(-1);
	server_updates_free(&hand.updates);
	return rig_close(state);
}

static uint64_t roster_number(size_t backend)
{
	return backend_roster(rig.engine.backends[backend])->number;
}

static void assert_answer(const char *line, const char *answer)
{
	char out[16384];
	const int fd = connect_client();

	say(fd, line);
	hear(fd, out, sizeof(out));
	assert_string_equal(out, answer);
}

static void changes_of_a_line_need_one_roster_each_backend(void **state)
{
	const uint64_t web = roster_number(0), app = roster_number(1);

	(void)state;
	assert_answer("set weight web/a 5; set weight web/b 6; set server app/a weight 7; "
		      "disable server web/a; set server web/b state drain\n",
		      "\n\n\n\n\n");
	assert_int_equal(roster_number(0), web + 1);
	assert_int_equal(roster_number(1), app + 1);
	assert_answer("set weight web/a 1\n", "\n");
	assert_answer("enable server web/a\n", "\n");
	assert_int_equal(roster_number(0), web + 3);
	assert_false(hand.updates.together);
}

static void one_that_is_refused_does_not_hinder_the_others(void **state)
{
	const uint64_t web = roster_number(0);

	(void)state;
	assert_answer("set weight web/a 5; set weight web/x 6; set weight web/b x; "
		      "set server web/b weight 7\n",
		      "\nNo such server.\n\nEmpty weight string empty or preceded by garbage\n\n\n");
	assert_int_equal(rig.engine.backends[0]->servers[0]->weight, 5);
	assert_int_equal(rig.engine.backends[0]->servers[1]->weight, 7);
	assert_int_equal(roster_number(0), web + 1);
}

/* It sees all that was changed before it. */
static void what_only_shows_comes_between_changes(void **state)
{
	const uint64_t web = roster_number(0);

	(void)state;
	assert_answer("set weight web/a 5; set weight web/b 6; get weight web/a; set weight web/a 8; "
		      "set weight web/b 9\n",
		      "\n\n5 (initial 10)\n\n\n\n");
	assert_int_equal(roster_number(0), web + 2);
}

/* Nobody is told of a state before clients are served by it. */
static void what_a_check_has_found_is_in_effect_when_it_is_shown(void **state)
{
	const uint64_t web = roster_number(0);

	(void)state;
	server_updates_set_health(&hand.updates, rig.engine.backends[0]->servers[0], false, "L4CON");
	assert_int_equal(roster_number(0), web);
	assert_answer("get weight web/b\n", "10 (initial 10)\n\n");
	assert_int_equal(roster_number(0), web + 1);
}

static void each_line_at_a_prompt_is_in_effect_when_it_is_answered(void **state)
{
	const uint64_t web = roster_number(0);
	char out[4096];
	const int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	say(fd, "set weight web/a 5; set weight web/b 6\n");
	hear_until(fd, "\n> \n> ", out, sizeof(out));
	assert_int_equal(roster_number(0), web + 1);
	say(fd, "set weight web/a 6; set weight web/b 7; quit; set weight web/a 9\n");
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "\n> \n> ");
	assert_int_equal(roster_number(0), web + 2);
	assert_int_equal(rig.engine.backends[0]->servers[0]->weight, 6);
}

static void without_memory_the_last_answer_says_what_became_of_them(void **state)
{
	const uint64_t web = roster_number(0);
	char out[4096];
	const int fd = connect_client();

	(void)state;
	say(fd, "prompt\n");
	hear_until(fd, "\n> ", out, sizeof(out));
	say(fd, "get weight web/a; set weight web/a 5; set weight web/b 6\n"); /* the answer has its memory */
	fail_allocations_from(1);
	hear_until(fd, "> ", out, sizeof(out));
	fail_allocations_from(-1);
	assert_non_null(strstr(out, "error: changed, but not in effect yet: Cannot allocate memory\n"));
	assert_int_equal(roster_number(0), web);
	assert_int_equal(rig.engine.backends[0]->servers[1]->weight, 6);
	assert_true(hand.due_ns != CLOCK_NEVER); /* it is tried again */
	updates_by_hand_turn(&hand, hand.due_ns);
	assert_int_equal(roster_number(0), web + 1);
	close(fd);
	turn();
}

static void a_long_line_without_memory_is_refused(void **state)
{
	static char line[ADMIN_REQUEST_MAX + 1], out[4096];
	long before;
	int fd;

	(void)state;
	memset(line, ' ', ADMIN_REQUEST_MAX);
	memcpy(line, "get weight web/a", 16);
	line[ADMIN_REQUEST_MAX - 1] = '\n';
	assert_answer("get weight web/a\n", "10 (initial 10)\n\n");
	before = allocated;
	assert_answer(line, "10 (initial 10)\n\n");
	assert_int_equal(allocated, before);
	fd = connect_client();
	turn();
	before = allocated;
	say(fd, line);
	failure_lasts = false;
	until_failure = 0; /* the next one alone: that for the line */
	hear(fd, out, sizeof(out));
	assert_string_equal(out, "error: no memory for a request of this length; try help\n\n");
	turn();
	assert_int_equal(allocated, before);
}

#define LINE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINE_TEST(changes_of_a_line_need_one_roster_each_backend),
		LINE_TEST(one_that_is_refused_does_not_hinder_the_others),
		LINE_TEST(what_only_shows_comes_between_changes),
		LINE_TEST(what_a_check_has_found_is_in_effect_when_it_is_shown),
		LINE_TEST(each_line_at_a_prompt_is_in_effect_when_it_is_answered),
		LINE_TEST(a_long_line_without_memory_is_refused),
		LINE_TEST(without_memory_the_last_answer_says_what_became_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
