/* SPDX-License-Identifier: MIT
 *
 * test_admin_places.c - who has a place at the admin socket, and who must leave for a newcomer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "admin/admin_places.h"

static struct admin admin;
static const struct admin_peer root = {.uid = 0, .trusted = true};
static const struct admin_peer ann = {.uid = 1000};
static const struct admin_peer bob = {.uid = 1001};
static const struct admin_peer cid = {.uid = 1002};

static int setup(void **state)
{
	(void)state;
	memset(&admin, 0, sizeof(admin));
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		admin.clients[i].admin = &admin;
		admin.clients[i].fd = -1;
	}
	return 0;
}

/* `count` clients of `peer` from place `from` on, each idle for less long than the one before. */
static void seat(size_t from, size_t count, const struct admin_peer *peer)
{
	for (size_t i = from; i < from + count; i++) {
		assert_true(i < ADMIN_CLIENTS_MAX);
		admin.clients[i].state = CLIENT_READING;
		admin.clients[i].peer = *peer;
		admin.clients[i].request.len = 1;
		admin.clients[i].progress_ns = (int64_t)i;
	}
}

static void assert_place(const struct admin_peer *peer, int place)
{
	assert_ptr_equal(admin_places_find(&admin, peer), place < 0 ? NULL : &admin.clients[place]);
}

static void a_free_place_costs_nobody_his(void **state)
{
	(void)state;
	seat(0, 9, &ann);
	assert_false(admin_places_full(&admin));
	assert_place(&ann, 9);
	assert_place(&root, 9);
	seat(9, 2, &bob);
	assert_false(admin_places_full(&admin));
	assert_place(&cid, 11);
}

static void who_has_the_most_places_loses_one(void **state)
{
	(void)state;
	seat(0, 3, &bob);
	seat(3, 8, &ann);
	assert_false(admin_places_full(&admin));
	seat(11, 1, &cid);
	assert_true(admin_places_full(&admin));
	assert_place(&ann, 3);
	assert_place(&bob, 3);
	assert_place(&root, 12);
	seat(3, 5, &bob);
	assert_place(&ann, 0);
	assert_place(&cid, 0);
}

static void strangers_leave_the_last_four_to_root(void **state)
{
	(void)state;
	seat(0, 1, &root);
	seat(1, 6, &bob);
	seat(7, 6, &ann);
	assert_true(admin_places_full(&admin));
	assert_place(&ann, 7);
	assert_place(&bob, 1);
	assert_place(&cid, 1);
	assert_place(&root, 13);
	seat(13, 3, &root);
	assert_place(&root, 1);
	assert_place(&cid, 1);
}

static void only_root_costs_root_a_place(void **state)
{
	(void)state;
	seat(0, 16, &root);
	assert_true(admin_places_full(&admin));
	assert_place(&ann, -1);
	assert_place(&root, 0);
	admin.clients[9].state = CLIENT_LINGERING; /* served */
	assert_false(admin_places_full(&admin));
	assert_place(&ann, 9);
}

static void the_idlest_leaves_first_and_a_prompt_last(void **state)
{
	(void)state;
	seat(0, 16, &root);
	for (size_t i = 0; i < 4; i++) {
		admin.clients[i].prompt = true;
		admin.clients[i].request.len = 0;
	}
	admin.clients[2].request.len = 3; /* has begun a line */
	admin.clients[4].state = CLIENT_ASKING;
	assert_place(&root, 2);
	admin.clients[2].request.len = 0;
	assert_place(&root, 5);
	admin.clients[5].progress_ns = 100;
	admin.clients[6].state = CLIENT_WRITING;
	assert_place(&root, 6);
	for (size_t i = 5; i < 16; i++) {
		admin.clients[i].prompt = true;
		admin.clients[i].request.len = 0;
		admin.clients[i].state = CLIENT_READING;
	}
	assert_place(&root, 4);
	admin.clients[4].state = CLIENT_READING;
	admin.clients[4].prompt = true;
	admin.clients[4].request.len = 0;
	assert_place(&root, 0);
}

/* A place may have been that of a client that held one. */
static void who_holds_a_trial_leaves_last_and_nobody_else_on_his_account(void **state)
{
	static const struct reload_asker asker;

	(void)state;
	seat(0, 16, &root);
	for (size_t i = 0; i < 16; i++) {
		admin.clients[i].prompt = true;
		admin.clients[i].request.len = 0;
	}
	for (size_t i = 0; i < 2; i++) {
		admin.clients[i].state = CLIENT_RELOADING;
		admin.clients[i].wish.hold = true;
	}
	admin.clients[0].asker = &asker;
	assert_place(&root, 1); /* in `wait` */
	admin.clients[1].state = CLIENT_READING;
	assert_place(&root, 1);
	admin.clients[1].asker = &asker;
	admin.clients[1].state = CLIENT_RELOADING;
	assert_place(&root, 2);
}

static void whoever_is_refused_takes_no_place_that_root_would_miss(void **state)
{
	(void)state;
	assert_non_null(admin_places_find_spare(&admin));
	seat(0, 11, &ann);
	assert_ptr_equal(admin_places_find_spare(&admin), &admin.clients[11]);
	seat(11, 1, &ann);
	assert_null(admin_places_find_spare(&admin));
}

/* But only for a while: one line may ask very often. */
static void who_has_just_asked_a_worker_leaves_last(void **state)
{
	const int64_t now_ns = clock_mono_ns();

	(void)state;
	assert_false(admin_places_may_end(&admin));
	seat(0, 12, &ann);
	for (size_t i = 0; i < 12; i++) {
		admin.clients[i].state = CLIENT_ASKING;
		admin.clients[i].line_ns = now_ns;
	}
	assert_false(admin_places_may_end(&admin));
	admin.clients[7].state = CLIENT_WRITING;
	assert_true(admin_places_may_end(&admin));
	assert_place(&bob, 7);
	admin.clients[7].state = CLIENT_ASKING;
	admin.clients[3].line_ns = now_ns - (int64_t)(ADMIN_ASKING_S * (double)NS_PER_SEC);
	assert_true(admin_places_may_end(&admin));
	assert_place(&bob, 3);
}

static void who_has_sent_what_was_not_read_yet_leaves_last(void **state)
{
	int pair[2];
	char byte;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	seat(0, 12, &ann);
	for (size_t i = 0; i < 12; i++) {
		admin.clients[i].request.len = 0;
		admin.clients[i].fd = pair[0];
	}
	admin.clients[5].fd = -1;
	assert_place(&bob, 0);
	assert_int_equal(send(pair[1], "h", 1, 0), 1);
	assert_place(&bob, 5);
	assert_true(admin_places_may_end(&admin));
	admin.clients[5].fd = pair[0];
	assert_false(admin_places_may_end(&admin));
	admin.clients[7].request.len = 1; /* its first bytes were read */
	assert_place(&bob, 7);
	assert_true(admin_places_may_end(&admin));
	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	assert_place(&bob, 0);
	close(pair[0]);
	close(pair[1]);
}

/* Only others lose theirs to others, as long as there are any. */
static void a_trusted_prompt_ends_nobodys_time(void **state)
{
	(void)state;
	seat(0, 12, &ann);
	for (size_t i = 0; i < 12; i++) {
		admin.clients[i].state = CLIENT_ASKING;
		admin.clients[i].line_ns = clock_mono_ns();
	}
	seat(12, 1, &root);
	assert_false(admin_places_may_end(&admin));
	seat(3, 1, &ann);
	assert_true(admin_places_may_end(&admin));
	memset(admin.clients, 0, 12 * sizeof(admin.clients[0]));
	assert_true(admin_places_may_end(&admin));
}

static void prompts_have_limits_of_their_own(void **state)
{
	struct client *victim = NULL;

	(void)state;
	seat(0, 4, &ann);
	seat(4, 3, &bob);
	for (size_t i = 0; i < 7; i++) {
		admin.clients[i].prompt = true;
		admin.clients[i].request.len = 0;
	}
	seat(7, 1, &ann);
	seat(8, 2, &root);
	assert_false(admin_places_prompt(&admin.clients[7], &victim));
	assert_true(admin_places_prompt(&admin.clients[0], &victim)); /* has one */
	assert_true(admin_places_prompt(&admin.clients[8], &victim));
	assert_null(victim);
	admin.clients[8].prompt = true;
	assert_true(admin_places_prompt(&admin.clients[9], &victim));
	assert_ptr_equal(victim, &admin.clients[0]);
	for (size_t i = 0; i < 9; i++)
		admin.clients[i].peer = root;
	assert_false(admin_places_prompt(&admin.clients[9], &victim));
	assert_null(victim);
}

static void progress_begins_the_idle_time_again(void **state)
{
	(void)state;
	seat(0, 1, &ann);
	assert_true(admin_places_idle_s(&admin.clients[0]) > 0.);
	admin_places_progress(&admin.clients[0]);
	assert_true(admin_places_idle_s(&admin.clients[0]) < 10.);
}

#define PLACES_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACES_TEST(a_free_place_costs_nobody_his),
		PLACES_TEST(who_has_the_most_places_loses_one),
		PLACES_TEST(strangers_leave_the_last_four_to_root),
		PLACES_TEST(only_root_costs_root_a_place),
		PLACES_TEST(the_idlest_leaves_first_and_a_prompt_last),
		PLACES_TEST(who_holds_a_trial_leaves_last_and_nobody_else_on_his_account),
		PLACES_TEST(whoever_is_refused_takes_no_place_that_root_would_miss),
		PLACES_TEST(who_has_just_asked_a_worker_leaves_last),
		PLACES_TEST(who_has_sent_what_was_not_read_yet_leaves_last),
		PLACES_TEST(a_trusted_prompt_ends_nobodys_time),
		PLACES_TEST(prompts_have_limits_of_their_own),
		PLACES_TEST(progress_begins_the_idle_time_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
