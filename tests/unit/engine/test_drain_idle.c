/* SPDX-License-Identifier: MIT
 *
 * test_drain_idle.c - `drain = idle`: sessions of what drains or was removed end once they are idle, and
 * neither before nor otherwise.
 */
#include "leaving_rig.h"

#define GRACE_MS 1000 /* after the server's last byte */
#define PATIENCE_MS 8000 /* less than after the client's */

static int64_t began_ns;

static void all_backends_drain_idle(void)
{
	for (unsigned i = 0; i < 2; i++)
		rig.backends[i].drain = CONFIG_DRAIN_IDLE;
}

static int64_t past_ms(void)
{
	return (clock_mono_ns() - began_ns) / NS_PER_MS;
}

/* Turns with pauses until so many sessions are left. */
static void wait_until_left(unsigned count)
{
	while (rig.worker->sessions > count) {
		assert_in_range(past_ms(), 0, PATIENCE_MS);
		(void)poll(NULL, 0, 2);
		rig_turn();
	}
}

static void turn_for_ms(int64_t ms)
{
	const int64_t end_ms = past_ms() + ms;

	while (past_ms() < end_ms) {
		(void)poll(NULL, 0, 2);
		rig_turn();
	}
}

static void begin(void)
{
	began_ns = clock_mono_ns();
}

/* One byte from `from` arrives at `to`. */
static void pass_byte(int from, int to)
{
	char byte = 'x';

	assert_int_equal(send(from, &byte, 1, MSG_NOSIGNAL), 1);
	rig_turn_until(recv(to, &byte, 1, MSG_DONTWAIT) == 1);
}

static void set_admin(struct server *s, enum server_admin admin)
{
	assert_int_equal(server_updates_set_admin(&rig.hand.updates, s, admin, ""), 0);
}

static uint64_t drained(unsigned backend)
{
	return rig_tally(rig.engine.backends[backend]->slot).drained_ends;
}

/* One that was answered, one that asked last, and one of another server. */
static void a_draining_server_loses_those_that_were_answered(void **state)
{
	int answered, asks, other;

	(void)state;
	all_backends_drain_idle();
	rig_start();
	answered = rig_join(0); /* at the first server */
	other = rig_join(0);
	asks = rig_join(0); /* at the first one again */
	pass_byte(answered, rig_accept(0));
	begin();
	pass_byte(rig.fds[rig.fd_count - 1], answered);
	pass_byte(rig_accept(1), other);
	pass_byte(asks, rig_accept(0));
	set_admin(rig_server(0, 0), SERVER_ADMIN_DRAIN);
	wait_until_left(2);
	assert_true(past_ms() >= GRACE_MS - 50);
	rig_turn_until(rig_has_ended(answered));
	assert_int_equal(drained(0), 1);
	turn_for_ms(GRACE_MS);
	assert_int_equal(rig.worker->sessions, 2);
	assert_false(rig_has_ended(asks));
	assert_false(rig_has_ended(other));
	/* It is answered: and the server is in use again, too late for a second one. */
	pass_byte(rig.fds[rig.fd_count - 1], asks);
	set_admin(rig_server(0, 0), SERVER_ADMIN_READY);
	turn_for_ms(2 * GRACE_MS);
	assert_int_equal(rig.worker->sessions, 2);
	/* And out again. */
	begin();
	set_admin(rig_server(0, 0), SERVER_ADMIN_MAINT);
	wait_until_left(1);
	assert_false(rig_has_ended(other));
}

static void with_wait_nobody_ends(void **state)
{
	int fd;

	(void)state;
	rig_start();
	fd = rig_join(0);
	pass_byte(rig_accept(0), fd);
	begin();
	set_admin(rig_server(0, 0), SERVER_ADMIN_DRAIN);
	entries_remove_frontend(&rig.engine.entries, rig_frontend(0), rig_now_ns());
	turn_for_ms(2 * GRACE_MS);
	assert_int_equal(rig.worker->sessions, 1);
}

/* Bytes that a slow client has yet to take are in flight, in one place or another. */
static void who_has_bytes_in_flight_goes_on(void **state)
{
	static char bytes[1 << 16];
	int fd, server, quiet = 0;

	(void)state;
	all_backends_drain_idle();
	rig_start();
	fd = rig_join(0);
	server = rig_accept(0);
	while (quiet < 50) {
		quiet = send(server, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0 ? 0 : quiet + 1;
		rig_turn();
	}
	begin();
	set_admin(rig_server(0, 0), SERVER_ADMIN_DRAIN);
	turn_for_ms(2 * GRACE_MS);
	assert_int_equal(rig.worker->sessions, 1);
	begin();
	while (rig.worker->sessions > 0) {
		assert_in_range(past_ms(), 0, PATIENCE_MS);
		if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			(void)poll(NULL, 0, 1);
		rig_turn();
	}
	assert_true(past_ms() >= GRACE_MS - 50);
	assert_int_equal(drained(0), 1);
}

/* A client that has sent FIN waits for the rest. */
static void who_is_half_closed_goes_on(void **state)
{
	int fd;

	(void)state;
	all_backends_drain_idle();
	rig_start();
	fd = rig_join(0);
	pass_byte(rig_accept(0), fd);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	begin();
	set_admin(rig_server(0, 0), SERVER_ADMIN_DRAIN);
	turn_for_ms(2 * GRACE_MS);
	assert_int_equal(rig.worker->sessions, 1);
}

/* A server, a frontend and a backend at once. */
static void what_was_removed_loses_those_that_were_answered(void **state)
{
	struct frontend *f, *g;
	int fds[3];

	(void)state;
	all_backends_drain_idle();
	rig_start();
	f = rig_frontend(0);
	g = rig_frontend(1);
	for (unsigned i = 0; i < 2; i++) {
		fds[i] = rig_join(0);
		pass_byte(rig_accept(i), fds[i]);
	}
	fds[2] = rig_join(1);
	pass_byte(rig_accept(2), fds[2]);
	begin();
	assert_int_equal(server_prepare_remove(rig_server(0, 0)), 0);
	server_remove(&rig.hand.updates, rig_server(0, 0));
	wait_until_left(2);
	rig_turn_until(rig_has_ended(fds[0]));
	entries_remove_frontend(&rig.engine.entries, f, rig_now_ns());
	begin();
	wait_until_left(1);
	rig_turn_until(rig_has_ended(fds[1]));
	entries_remove_frontend(&rig.engine.entries, g, rig_now_ns());
	begin();
	wait_until_left(0);
	rig.later_ns = NS_PER_SEC;
	rig_turn_until(retire_count(&rig.engine.live.retire) == 0);
	assert_int_equal(drained(0) + drained(1), 3);
}

static void a_removed_backend_loses_those_that_were_answered(void **state)
{
	struct backend *b;
	struct config_frontend to;
	struct entry_wish wish = {.config = &to};
	struct entry_change change;
	int fd;

	(void)state;
	all_backends_drain_idle();
	rig_start();
	b = rig.engine.backends[0];
	to = rig.frontends[0];
	wish.backend = rig.engine.backends[1];
	fd = rig_join(0);
	pass_byte(rig_accept(0), fd);
	begin();
	assert_int_equal(backend_prepare_remove(b), 0);
	assert_int_equal(entries_prepare_change(&rig.engine.entries, rig_frontend(0), &wish, &change), 0);
	entries_commit_change(&rig.engine.entries, &change);
	engine_drop_backend(&rig.engine, b);
	backend_remove(&rig.hand.updates, b);
	wait_until_left(0);
	rig_turn_until(retire_count(&rig.engine.live.retire) == 0);
	assert_int_equal(rig_tally(rig_frontend(0)->slot).drained_ends, 1);
}

/* Also who comes in by the last accept. */
static void a_process_that_drains_ends_with_its_idle_sessions(void **state)
{
	int fd, late;

	(void)state;
	all_backends_drain_idle();
	rig_start();
	fd = rig_join(0);
	pass_byte(rig_accept(0), fd);
	begin();
	late = rig_connect(&rig_endpoint(rig_frontend(0))->addr);
	engine_drain(&rig.engine, clock_mono_ns());
	rig_turn_until(rig_forwarding() == 2);
	pass_byte(rig_accept(1), late);
	while (!rig.worker->finished) {
		assert_in_range(past_ms(), 0, PATIENCE_MS);
		(void)poll(NULL, 0, 2);
		(void)engine_wake(&rig.engine, clock_mono_ns());
		io_loop_wake(&rig.worker->loop);
		worker_turn(rig.worker);
	}
	assert_true(past_ms() >= GRACE_MS - 50);
	assert_int_equal(drained(0), 2);
}

#define TESTS(driver)                                                                                        \
	{                                                                                                    \
		RIG_TEST(a_draining_server_loses_those_that_were_answered, driver),                          \
		RIG_TEST(with_wait_nobody_ends, driver),                                                     \
		RIG_TEST(who_has_bytes_in_flight_goes_on, driver),                                           \
		RIG_TEST(who_is_half_closed_goes_on, driver),                                                \
		RIG_TEST(what_was_removed_loses_those_that_were_answered, driver),                           \
		RIG_TEST(a_removed_backend_loses_those_that_were_answered, driver),                          \
		RIG_TEST(a_process_that_drains_ends_with_its_idle_sessions, driver),                         \
	}

/* test_drain_idle [epoll|io_uring [FILTER]]: they wait, so that several run at once. */
int main(int argc, char **argv)
{
	char why[URING_WHY_MAX];
	const char *only = argc > 1 ? argv[1] : NULL;
	const struct io_driver *uring = uring_driver(why, sizeof(why));
	const struct CMUnitTest on_epoll[] = TESTS(&io_epoll_driver);
	const struct CMUnitTest on_uring[] = TESTS(uring);
	int failed = 0;

	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (only == NULL || strcmp(only, "epoll") == 0)
		failed += cmocka_run_group_tests_name("epoll", on_epoll, NULL, NULL);
	if (uring == NULL)
		print_message("without io_uring: %s\n", why);
	else if (only == NULL || strcmp(only, "io_uring") == 0)
		failed += cmocka_run_group_tests_name("io_uring", on_uring, NULL, NULL);
	return failed != 0;
}
