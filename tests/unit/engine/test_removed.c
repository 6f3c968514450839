/* SPDX-License-Identifier: MIT
 *
 * test_removed.c - what becomes of sessions when their server, frontend or backend is removed: with
 * `on-removed = keep` they go on, with `close` they end, and nobody who comes later is forgotten.
 */
#include "leaving_rig.h"

#define CLIENTS 20 /* more than end in one turn */

static void all_sections_close(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig.frontends[i].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
		rig.backends[i].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	}
}

static void remove_server(struct server *s)
{
	assert_int_equal(server_prepare_remove(s), 0);
	server_remove(&rig.hand.updates, s);
}

/* As a reload does: its frontend leads to the other one first. */
static void remove_backend(unsigned i)
{
	struct backend *b = rig.engine.backends[i];
	struct config_frontend to = rig.frontends[i];
	const struct entry_wish wish = {.config = &to, .backend = rig.engine.backends[!i]};
	struct entry_change change;

	to.routes = NULL;
	to.route_count = 0;
	assert_int_equal(backend_prepare_remove(b), 0);
	assert_int_equal(entries_prepare_change(&rig.engine.entries, rig_frontend(i), &wish, &change), 0);
	entries_commit_change(&rig.engine.entries, &change);
	engine_drop_backend(&rig.engine, b);
	backend_remove(&rig.hand.updates, b);
}

static void join(unsigned frontend, unsigned count)
{
	while (count-- > 0)
		(void)rig_join(frontend);
}

/* What has left is freed. */
static void settle(void)
{
	rig_turn(); /* a server leaves at the end of a turn */
	rig_turn_until(retire_count(&rig.engine.live.retire) == 0);
}

/* ---- keep ---- */

static void sessions_of_what_is_removed_go_on(void **state)
{
	(void)state;
	rig_start();
	join(0, 4);
	join(1, 2);
	remove_server(rig_server(0, 0));
	entries_remove_frontend(&rig.engine.entries, rig_frontend(1), rig_now_ns());
	rig.later_ns = NS_PER_SEC; /* its endpoint has left */
	rig_turns(50);
	remove_backend(0);
	rig_turns(50);
	assert_int_equal(rig_forwarding(), 6);
	assert_true(retire_count(&rig.engine.live.retire) > 0);
}

/* ---- close ---- */

static void sessions_of_a_removed_server_end_and_others_go_on(void **state)
{
	struct frontend *f;
	uint32_t slot;

	(void)state;
	rig.backends[0].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	rig_start();
	f = rig_frontend(0);
	slot = rig.engine.backends[0]->slot;
	join(0, 2 * CLIENTS);
	join(1, 2);
	assert_int_equal(atomic_load(&rig_server(0, 0)->sessions), CLIENTS);
	remove_server(rig_server(0, 0));
	settle();
	assert_int_equal(rig_forwarding(), CLIENTS + 2);
	assert_int_equal(rig_tally(f->slot).removed_ends, CLIENTS);
	assert_int_equal(rig_tally(slot).removed_ends, CLIENTS);
	join(0, 1); /* the other server serves */
}

/* Before the roster without it is in force. */
static void who_comes_to_a_server_while_it_leaves_ends_too(void **state)
{
	(void)state;
	all_sections_close();
	rig_start();
	assert_int_equal(server_prepare_remove(rig_server(0, 0)), 0);
	server_remove(&rig.hand.updates, rig_server(0, 0));
	for (unsigned i = 0; i < 4; i++)
		(void)rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	for (int i = 0; i < 3; i++) { /* control has no turn */
		io_loop_wake(&rig.worker->loop);
		worker_turn(rig.worker);
	}
	settle();
	rig_turn_until(rig_forwarding() == 2);
}

/* The server's queue is full, so that its SYN is not answered. */
static void a_client_that_is_still_connecting_goes_to_another_server(void **state)
{
	const struct addr *full = &rig.servers[0].addr.addr;
	const struct session *s;

	(void)state;
	all_sections_close();
	rig.backends[0].timeouts.connect_ns = 10 * NS_PER_SEC;
	assert_int_equal(listen(rig.listeners[0], 0), 0);
	for (int i = 0; i < 3; i++) {
		const int fd = rig_keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

		assert_true(connect(fd, &full->sa, full->len) == 0 || errno == EINPROGRESS);
	}
	rig_start();
	(void)rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	rig_turn_until(rig.worker->sessions == 1);
	rig_turns(20);
	s = list_entry(rig.worker->live.next, struct session, link);
	assert_int_equal(s->state, SESSION_CONNECTING);
	assert_ptr_equal(s->at->server, rig_server(0, 0));
	remove_server(rig_server(0, 0));
	rig_turn_until(s->state == SESSION_WAITING); /* as there is only one other */
	while (s->state != SESSION_FORWARDING) {
		(void)poll(NULL, 0, 1); /* until the pause is over */
		rig_turn();
		assert_int_not_equal(s->state, SESSION_CLOSING);
	}
	assert_ptr_equal(s->at->server, rig_server(0, 0)); /* the one that is left */
	settle();
}

static void sessions_of_a_removed_frontend_end_and_others_go_on(void **state)
{
	struct frontend *f;
	uint32_t slot;

	(void)state;
	rig.frontends[0].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	rig_start();
	f = rig_frontend(0);
	slot = rig.engine.backends[0]->slot;
	join(0, CLIENTS);
	join(1, 2);
	entries_remove_frontend(&rig.engine.entries, f, rig_now_ns());
	rig_turn_until(rig.worker->sessions == 2);
	assert_int_equal(rig_tally(slot).removed_ends, CLIENTS);
	rig.later_ns = NS_PER_SEC;
	settle();
	assert_int_equal(rig_forwarding(), 2);
}

/* It is still served, because its packets were on their way; no longer than others. */
static void who_comes_in_while_a_frontend_leaves_ends_when_it_has_left(void **state)
{
	struct frontend *f;
	struct addr addr;

	(void)state;
	all_sections_close();
	rig_start();
	f = rig_frontend(0);
	addr = rig_endpoint(f)->addr;
	engine_pause_accept(&rig.engine, true);
	(void)rig_connect(&addr); /* in the kernel's queue */
	entries_remove_frontend(&rig.engine.entries, f, rig_now_ns());
	rig_turns(20);
	engine_pause_accept(&rig.engine, false);
	rig_turn_until(rig_forwarding() == 1);
	rig_turns(20);
	assert_int_equal(rig_forwarding(), 1);
	rig.later_ns = NS_PER_SEC;
	settle();
	assert_int_equal(rig_forwarding(), 0);
}

static void sessions_of_a_removed_backend_end_also_those_in_its_queue(void **state)
{
	uint32_t slot;

	(void)state;
	rig.backends[0].timeouts.on_removed = CONFIG_ON_REMOVED_CLOSE;
	rig.servers[0].maxconn = 1;
	rig.servers[1].maxconn = 1;
	rig_start();
	slot = rig.engine.backends[0]->slot;
	join(0, 2);
	join(1, 2);
	for (unsigned i = 0; i < 3; i++)
		(void)rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	rig_turn_until(atomic_load(&rig.engine.backends[0]->queue.waiting) == 3);
	remove_backend(0);
	rig_turn_until(rig.worker->sessions == 2);
	settle();
	assert_int_equal(rig_forwarding(), 2);
	assert_int_equal(rig_tally(rig_frontend(0)->slot).removed_ends, 5);
	(void)slot;
	join(0, 1); /* where its frontend leads now */
}

/* It came in by settings that lead there, and is admitted only now. */
static void who_is_admitted_to_a_removed_backend_ends(void **state)
{
	int fd;

	(void)state;
	all_sections_close();
	rig.binds[0].accept_proxy = CONFIG_ACCEPT_PROXY_ALWAYS;
	rig_start();
	fd = rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	rig_turn_until(rig.worker->sessions == 1);
	remove_backend(0);
	rig_turns(50);
	assert_int_equal(rig.worker->sessions, 1);
	assert_int_equal(send(fd, "PROXY UNKNOWN\r\n", 15, MSG_NOSIGNAL), 15);
	rig_turn_until(rig.worker->sessions == 0);
	rig_turn_until(rig_has_ended(fd));
	assert_int_equal(rig_tally(rig_frontend(0)->slot).removed_ends, 1);
	settle();
}

#define TESTS(driver)                                                                                        \
	{                                                                                                    \
		RIG_TEST(sessions_of_what_is_removed_go_on, driver),                                         \
		RIG_TEST(sessions_of_a_removed_server_end_and_others_go_on, driver),                         \
		RIG_TEST(who_comes_to_a_server_while_it_leaves_ends_too, driver),                            \
		RIG_TEST(a_client_that_is_still_connecting_goes_to_another_server, driver),                  \
		RIG_TEST(sessions_of_a_removed_frontend_end_and_others_go_on, driver),                       \
		RIG_TEST(who_comes_in_while_a_frontend_leaves_ends_when_it_has_left, driver),                \
		RIG_TEST(sessions_of_a_removed_backend_end_also_those_in_its_queue, driver),                 \
		RIG_TEST(who_is_admitted_to_a_removed_backend_ends, driver),                                 \
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
