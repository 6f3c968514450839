/* SPDX-License-Identifier: MIT
 *
 * facts_ring_poll.h - polls, sends, accepts and a full queue of completions, as tests for both kernels.
 *
 * A part of facts_ring.h, which includes it and says the rest. One thread. Tests only.
 */
#ifndef SIM_FACTS_RING_POLL_H
#define SIM_FACTS_RING_POLL_H

/* ---- polls ---- */

static void expect_poll(uint32_t events)
{
	const struct ring_done d = next();

	assert_int_not_equal(d.res, NO_DONE);
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, events);
	assert_int_equal(d.flags, IORING_CQE_F_MORE);
}

static void a_multishot_poll_tells_of_the_edge(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	send_some(s[1], 10);
	ask_poll(s[0], 1, POLL_MASK, true);
	expect_poll(EPOLLIN | EPOLLOUT); /* what is so when it begins */
	nothing();
	assert_int_equal(sys_recv(s[0], facts_mem, 5, 0), 5);
	nothing();
	send_some(s[1], 10);
	port_settle();
	send_some(s[1], 10); /* two wake-ups in one: it looks, and tells all */
	expect_poll(EPOLLIN | EPOLLOUT);
	assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
	expect_poll(EPOLLIN | EPOLLOUT | EPOLLRDHUP);
	nothing();
	hang_up(s);
}

/* Not so in epoll, which looks each time. */
static void one_wake_up_shows_its_own_bits_alone(void **state)
{
	int s[2];

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		ask_poll(s[0], 1, POLL_MASK, true);
		expect_poll(EPOLLOUT);
		send_some(s[1], 10);
		expect_poll(EPOLLIN | EPOLLPRI); /* no mark, and there is room */
		assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
		send_some(s[1], 10);
		assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
		expect_poll(EPOLLIN | EPOLLPRI); /* nothing is left of that */
		ask_cancel(1);
		expect(1, -ECANCELED);
		hang_up(s);
	}
}

static size_t fill(int fd)
{
	size_t sent = 0;
	ssize_t n;

	for (; (n = sys_send(fd, facts_mem, 65536)) > 0; port_settle())
		sent += (size_t)n;
	assert_int_equal(n, -EAGAIN);
	return sent;
}

static void drain(int fd, size_t left)
{
	while (left > 0) {
		const ssize_t n = sys_recv(fd, facts_mem, 65536, 0);

		if (n > 0)
			left -= (size_t)n;
		else
			port_settle();
	}
}

static void an_event_of_room_hides_the_mark(void **state)
{
	size_t sent;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	port_small_queue(s[0], s[1]);
	port_urgent(s[1]);
	port_settle();
	sent = fill(s[0]);
	ask_poll(s[0], 1, POLL_MASK, true);
	expect_poll(EPOLLIN | EPOLLPRI);
	nothing();
	drain(s[1], sent);
	expect_poll(EPOLLOUT);
	hang_up(s);
}

static void a_reset_shows_all_bits(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	ask_poll(s[0], 1, EPOLLIN, true);
	nothing();
	reset_by(s[1]);
	expect_poll(EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP); /* asked for or not */
	sys_close(s[0]);
}

static void a_poll_once_tells_once(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	ask_poll(s[0], 1, EPOLLIN, false);
	nothing();
	send_some(s[1], 10);
	d = next();
	assert_int_equal(d.res, EPOLLIN);
	assert_int_equal(d.flags, 0);
	send_some(s[1], 10);
	nothing();
	ask_poll(s[0], 2, EPOLLIN, false);
	expect(2, EPOLLIN);
	hang_up(s);
}

/* IO_POLL_UNMASK in poll.c */
static void a_poll_once_tells_of_ends_unasked(void **state)
{
	int s[2];

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		ask_poll(s[0], 1, EPOLLOUT, false);
		expect(1, EPOLLOUT);
		ask_poll(s[0], 2, EPOLLPRI, false);
		nothing();
		assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
		expect(2, EPOLLRDHUP);
		hang_up(s);
	}
	port_pair(true, true, s);
	ask_poll(s[0], 3, EPOLLIN, false);
	nothing();
	reset_by(s[1]);
	expect(3, EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP);
	sys_close(s[0]);
}

/* ---- sends ---- */

static void ask_send(int fd, uint64_t user_data, size_t len)
{
	struct io_uring_sqe *sqe = entry(user_data);

	io_uring_prep_send(sqe, fd, facts_mem, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	sqe->user_data = user_data;
}

/* So that not even a hundred bytes more find room. */
static size_t fill_up(int fd)
{
	size_t sent = 0;
	ssize_t n;

	for (int i = 0; i < 4; i++) {
		sent += fill(fd);
		for (; (n = sys_send(fd, facts_mem, 100)) > 0; port_settle())
			sent += (size_t)n;
	}
	return sent;
}

static void a_send_that_may_not_wait_says_so(void **state)
{
	int s[2];

	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		port_small_queue(s[0], s[1]);
		(void)fill_up(s[0]); /* nobody reads it */
		ask_send(s[0], 1, 1000);
		expect(1, -EAGAIN);
		hang_up(s);
	}
}

static void a_send_tells_of_the_reset(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	reset_by(s[1]);
	ask_send(s[0], 1, 10);
	expect(1, -ECONNRESET);
	ask_send(s[0], 2, 10);
	expect(2, -EPIPE);
	sys_close(s[0]);
}

/* ---- timeouts ---- */

static void a_timeout_ends_once_in_its_time(void **state)
{
	const struct __kernel_timespec ts = {.tv_nsec = 20000000};
	struct io_uring_sqe *sqe = entry(1);
	struct ring_done d = {0};

	(void)state;
	io_uring_prep_timeout(sqe, (struct __kernel_timespec *)(uintptr_t)&ts, 0, 0);
	sqe->user_data = 1;
	nothing();
	port_long_sleep();
	for (int i = 0; i < 3 && d.user_data == 0; i++) {
		assert_int_equal(ring_enter(ring, -1), 0); /* without a wake-up it would never return */
		(void)ring_take(ring, &d, 1);
	}
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, -ETIME);
	nothing();
}

/* ---- accepts, and many completions ---- */

static void more_completions_than_room_are_brought_later(void **state)
{
	struct ring_done d[32];

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		struct io_uring_sqe *sqe = entry(i);

		io_uring_prep_nop(sqe);
		sqe->user_data = i;
	}
	assert_int_equal(ring_enter(ring, 0), 0);
	assert_true(ring_is_behind(ring));
	assert_int_equal(ring_take(ring, d, 32), 8);
	assert_int_equal(ring_enter(ring, 0), 0);
	assert_true(ring_is_behind(ring));
	assert_int_equal(ring_take(ring, d + 8, 24), 8);
	assert_int_equal(ring_enter(ring, 0), 0);
	assert_false(ring_is_behind(ring));
	assert_int_equal(ring_take(ring, d + 16, 16), 4);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(d[i].user_data, i);
}

#define READY_PAIRS 60

/* All of them have bytes, of which each enter that has already been made knew nothing. */
static void make_all_ready(int pairs[READY_PAIRS][2])
{
	for (int i = 0; i < READY_PAIRS; i++)
		ask_poll(pairs[i][0], (uint64_t)i, EPOLLIN, false);
	nothing();
	for (int i = 0; i < READY_PAIRS; i++)
		assert_int_equal(sys_send(pairs[i][1], facts_mem, 1), 1);
	port_settle();
}

static void take_all_bytes(int pairs[READY_PAIRS][2])
{
	for (int i = 0; i < READY_PAIRS; i++)
		assert_int_equal(sys_recv(pairs[i][0], facts_mem, 100, 0), 1);
}

static void open_large_ring(void)
{
	const struct ring_shape shape = {.submissions = 8, .completions = 128, .bufs = 4};

	ring_close(ring);
	ring = NULL;
	assert_int_equal(ring_open(&ring, &shape), 0);
	assert_int_equal(ring_enable(ring), 0);
}

/* Linux does 20 of what it put off, or as many as are waited for (IO_LOCAL_TW_DEFAULT_MAX in io_uring.c): who
 * asks for all must not say that one will do. */
static void only_an_enter_for_all_brings_all_that_is_ready(void **state)
{
	struct ring_done d[2 * READY_PAIRS];
	int pairs[READY_PAIRS][2];
	uint32_t some;

	(void)state;
	open_large_ring();
	for (int i = 0; i < READY_PAIRS; i++)
		port_pair(false, true, pairs[i]);
	make_all_ready(pairs);
	assert_int_equal(ring_enter(ring, RING_ALL), 0);
	assert_int_equal(ring_take(ring, d, 2 * READY_PAIRS), READY_PAIRS);
	take_all_bytes(pairs);
	make_all_ready(pairs);
	assert_int_equal(ring_enter(ring, 1000000000), 0);
	some = ring_take(ring, d, 2 * READY_PAIRS);
	assert_in_range(some, 1, READY_PAIRS);
	assert_int_equal(ring_enter(ring, RING_ALL), 0);
	assert_int_equal(ring_take(ring, d, 2 * READY_PAIRS), READY_PAIRS - some);
	for (int i = 0; i < READY_PAIRS; i++)
		hang_up(pairs[i]);
}

/* The same of reads, each of which has two steps. Without buffers, which are fewer than they. */
static void an_enter_for_all_brings_what_is_read_behind_polls(void **state)
{
	struct ring_done d[2 * READY_PAIRS];
	int pairs[READY_PAIRS][2];

	(void)state;
	open_large_ring();
	for (int i = 0; i < READY_PAIRS; i++) {
		port_pair(false, true, pairs[i]);
		ask_read(pairs[i][0], (uint64_t)i);
	}
	nothing();
	for (int i = 0; i < READY_PAIRS; i++)
		assert_int_equal(sys_send(pairs[i][1], facts_mem, 1), 1);
	port_settle();
	assert_int_equal(ring_enter(ring, RING_ALL), 0);
	assert_int_equal(ring_take(ring, d, 2 * READY_PAIRS), READY_PAIRS);
	for (int i = 0; i < READY_PAIRS; i++) {
		assert_int_equal(d[i].res, -ENOBUFS);
		hang_up(pairs[i]);
	}
}

#endif
