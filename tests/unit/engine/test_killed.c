/* SPDX-License-Identifier: MIT
 *
 * test_killed.c - an administrator ends one session: that one, both of its sides, and no other.
 */
#include "leaving_rig.h"
#include "weir/engine/inquiry.h"

#define CLIENTS 40 /* more than a slice holds */

static struct inquiry q;

static void begin(uint64_t session, bool kill)
{
	rig_start();
	inquiry_init(&q, false);
	q.filter = (struct inquiry_filter){.session = session, .kill = kill};
}

static void ask(void)
{
	q.place = 0;
	do {
		inquiry_ask(&rig.engine, 0, &q);
		rig_turn_until(!inquiry_is_lent(&q));
	} while (!q.over);
}

static void one_session_ends_and_the_others_go_on(void **state)
{
	int clients[CLIENTS];
	unsigned ended = 0;

	(void)state;
	begin(session_key(0, CLIENTS / 2), true);
	for (unsigned i = 0; i < CLIENTS; i++)
		clients[i] = rig_join(0);
	ask();
	assert_int_equal(q.count, 1);
	assert_int_equal(q.sessions[0].number, CLIENTS / 2);
	rig_turn_until(rig.worker->sessions == CLIENTS - 1);
	rig_turn_until(rig_has_ended(clients[CLIENTS / 2]));
	for (unsigned i = 0; i < CLIENTS; i++)
		ended += rig_has_ended(clients[i]);
	assert_int_equal(ended, 1);
	ask(); /* there is none any more */
	assert_int_equal(q.count, 0);
	assert_int_equal(rig_forwarding(), CLIENTS - 1);
}

static void a_session_that_is_shown_goes_on(void **state)
{
	(void)state;
	begin(session_key(0, 1), false);
	for (unsigned i = 0; i < 3; i++)
		(void)rig_join(0);
	ask();
	assert_int_equal(q.count, 1);
	assert_true(q.sessions[0].fds[0] >= 0);
	assert_true(q.sessions[0].fds[1] >= 0);
	assert_int_not_equal(q.sessions[0].fds[0], q.sessions[0].fds[1]);
	rig_turns(20);
	assert_int_equal(rig_forwarding(), 3);
}

/* The server's queue is full, so that its SYN is not answered. */
static void a_session_that_is_still_connecting_ends_too(void **state)
{
	const struct addr *full = &rig.servers[0].addr.addr;
	int client;

	(void)state;
	assert_int_equal(listen(rig.listeners[0], 0), 0);
	for (int i = 0; i < 3; i++) {
		const int fd = rig_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

		assert_true(connect(fd, &full->sa, full->len) == 0 || errno == EINPROGRESS);
	}
	begin(session_key(0, 0), true);
	client = rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	rig_turn_until(rig.worker->sessions == 1);
	rig_turns(20);
	assert_int_equal(rig_forwarding(), 0);
	ask();
	assert_int_equal(q.count, 1);
	rig_turn_until(rig.worker->sessions == 0);
	rig_turn_until(rig_has_ended(client));
}

#define TESTS(driver)                                                                                        \
	{                                                                                                    \
		RIG_TEST(one_session_ends_and_the_others_go_on, driver),                                     \
		RIG_TEST(a_session_that_is_shown_goes_on, driver),                                           \
		RIG_TEST(a_session_that_is_still_connecting_ends_too, driver),                               \
	}

int main(void)
{
	char why[URING_WHY_MAX];
	const struct io_driver *uring = uring_driver(why, sizeof(why));
	const struct CMUnitTest on_epoll[] = TESTS(&io_epoll_driver);
	const struct CMUnitTest on_uring[] = TESTS(uring);
	const int failed = cmocka_run_group_tests_name("epoll", on_epoll, NULL, NULL);

	if (uring == NULL)
		print_message("without io_uring: %s\n", why);
	else if (cmocka_run_group_tests_name("io_uring", on_uring, NULL, NULL) != 0)
		return 1;
	return failed;
}
