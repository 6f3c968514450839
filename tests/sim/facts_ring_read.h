/* SPDX-License-Identifier: MIT
 *
 * facts_ring_read.h - reads behind a poll, the buffers lent to them, and how they end, as tests for both
 * kernels.
 *
 * A part of facts_ring.h, which includes it and says the rest. One thread. Tests only.
 */
#ifndef SIM_FACTS_RING_READ_H
#define SIM_FACTS_RING_READ_H

static void reset_by(int fd)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	assert_int_equal(sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	sys_close(fd);
	port_settle();
}

/* ---- reads and lent buffers ---- */

static void a_read_waits_and_brings_the_bytes_in_one_completion(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	lend(0);
	for (int tcp = 0; tcp < 2; tcp++) {
		port_pair(tcp == 1, true, s);
		ask_read(s[0], 1);
		nothing();
		send_some(s[1], 10);
		d = next();
		assert_int_equal(d.user_data, 1);
		assert_int_equal(d.res, 10);
		assert_int_equal(d.flags & ~(uint32_t)IORING_CQE_F_SOCK_NONEMPTY,
				 (uint32_t)tcp << IORING_CQE_BUFFER_SHIFT | IORING_CQE_F_BUFFER);
		nothing();
		ask_read(s[0], 2);
		nothing();
		assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
		lend((uint16_t)(tcp + 1));
		d = next();
		assert_int_equal(d.user_data, 2);
		assert_int_equal(d.res, 0);
		assert_false(d.flags & IORING_CQE_F_BUFFER);
		nothing();
		hang_up(s);
	}
}

static void one_wait_lets_the_poll_go_and_brings_the_bytes(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	nothing();
	send_some(s[1], 10);
	assert_int_equal(ring_enter(ring, 1000000000), 0);
	assert_int_equal(ring_take(ring, &d, 1), 1);
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, 10);
	hang_up(s);
}

static void a_read_without_buffers_says_so_when_there_is_something(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	ask_read(s[0], 1);
	nothing();
	send_some(s[1], 10);
	expect(1, -ENOBUFS);
	nothing();
	ask_read(s[0], 2);
	expect(2, -ENOBUFS);
	assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
	ask_read(s[0], 3);
	nothing();
	assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
	expect(3, -ENOBUFS); /* FIN too */
	nothing();
	hang_up(s);
}

static void a_read_takes_the_oldest_buffer(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(2);
	lend(1);
	ask_read(s[0], 1);
	nothing();
	send_some(s[1], 1500);
	d = next();
	assert_int_equal(d.res, 1000);
	assert_int_equal(d.flags, (2u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER |
					  IORING_CQE_F_SOCK_NONEMPTY);
	ask_read(s[0], 2);
	d = next();
	assert_int_equal(d.res, 500);
	assert_int_equal(d.flags, (1u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER);
	hang_up(s);
}

static void a_fin_behind_the_bytes_counts_as_more_to_read(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	send_some(s[1], 10);
	assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
	port_settle();
	ask_read(s[0], 1);
	d = next();
	assert_int_equal(d.res, 10);
	assert_int_equal(d.flags, IORING_CQE_F_BUFFER | IORING_CQE_F_SOCK_NONEMPTY);
	hang_up(s);
}

static void a_read_stops_before_the_mark(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	for (uint16_t id = 0; id < 3; id++)
		lend(id);
	send_some(s[1], 10);
	port_urgent(s[1]);
	port_settle();
	send_some(s[1], 5);
	ask_read(s[0], 1);
	expect(1, 10);
	ask_read(s[0], 2);
	expect(2, 6);
	hang_up(s);
}

static void a_reset_is_told_once_after_the_bytes(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	for (uint16_t id = 0; id < 4; id++)
		lend(id);
	send_some(s[1], 10);
	reset_by(s[1]);
	ask_read(s[0], 1);
	expect(1, 10);
	ask_read(s[0], 2);
	expect(2, -ECONNRESET);
	ask_read(s[0], 3);
	expect(3, 0);
	sys_close(s[0]);
}

static void a_reset_ends_a_read_that_waits(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(3);
	ask_read(s[0], 1);
	nothing();
	reset_by(s[1]);
	d = next();
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, -ECONNRESET);
	assert_int_equal(d.flags, 0);
	nothing();
	sys_close(s[0]);
}

/* Each wake-up is believed: the bytes that it told of may be gone. */
static void a_read_whose_poll_was_wrong_says_so_and_keeps_no_buffer(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(3);
	ask_read(s[0], 1);
	nothing();
	send_some(s[1], 10);
	assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
	d = next();
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, -EAGAIN);
	assert_int_equal(d.flags, 0);
	nothing();
	ask_read(s[0], 2);
	nothing();
	send_some(s[1], 20);
	d = next();
	assert_int_equal(d.user_data, 2);
	assert_int_equal(d.res, 20);
	assert_int_equal(d.flags, (3u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER);
	hang_up(s);
}

/* The mark wakes by the bits of bytes too, once. A read that waited by itself would be tried again and again
 * from then on, and at last go to a thread of the kernel. */
static void an_urgent_mark_without_bytes_lets_a_read_wait(void **state)
{
	unsigned threads;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	nothing();
	threads = port_threads();
	if (!port_urgent_ahead(s[1])) {
		hang_up(s);
		skip();
	}
	expect(1, -EAGAIN);
	ask_read(s[0], 2);
	for (int i = 0; i < 20; i++)
		nothing();
	assert_int_equal(port_threads(), threads);
	ask_poll(s[0], 3, EPOLLPRI, false); /* it is there */
	expect(3, EPOLLPRI);
	ask_cancel(2);
	expect(2, -ECANCELED);
	nothing();
	hang_up(s);
}

/* ---- cancel and close ---- */

static void a_cancel_ends_a_read_with_one_completion(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(2);
	ask_read(s[0], 1);
	nothing();
	ask_cancel(1);
	d = next();
	assert_int_equal(d.user_data, 1);
	assert_int_equal(d.res, -ECANCELED);
	assert_int_equal(d.flags, 0);
	nothing();
	send_some(s[1], 10);
	nothing();
	ask_read(s[0], 2);
	ask_cancel(3); /* another's name */
	d = next();
	assert_int_equal(d.user_data, 99);
	assert_int_equal(d.res, -ENOENT);
	d = next();
	assert_int_equal(d.user_data, 2);
	assert_int_equal(d.res, 10);
	assert_int_equal(d.flags, (2u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER);
	hang_up(s);
}

static void a_cancel_wins_although_bytes_have_come(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	nothing();
	send_some(s[1], 10);
	ask_cancel(1);
	expect(1, -ECANCELED);
	nothing();
	assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
	hang_up(s);
}

/* Bytes that wait already: the poll has ended, the read is neither done nor to be found. */
static void a_cancel_between_poll_and_read_finds_nothing(void **state)
{
	struct ring_done a;
	struct ring_done b;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	send_some(s[1], 10);
	ask_read(s[0], 1);
	ask_cancel(1);
	a = next();
	b = next();
	assert_int_equal(a.user_data, 99);
	assert_int_equal(a.res, -ENOENT);
	assert_int_equal(b.user_data, 1);
	assert_int_equal(b.res, 10);
	nothing();
	hang_up(s);
}

static void a_pending_read_holds_back_the_fin(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	nothing();
	ask_close(s[0]);
	nothing();
	assert_int_equal(sys_recv(s[1], facts_mem, 1, 0), -EAGAIN);
	ask_cancel(1);
	expect(1, -ECANCELED);
	port_settle();
	assert_int_equal(sys_recv(s[1], facts_mem, 1, 0), 0);
	sys_close(s[1]);
}

/* The poll holds its file, but the read looks for the descriptor when its turn comes: who has closed it, and
 * opened another, would read from that. */
static void a_linked_read_takes_its_descriptor_when_it_starts(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	nothing();
	ask_close(s[0]);
	nothing();
	send_some(s[1], 1);
	expect(1, -EBADF);
	nothing();
	sys_close(s[1]);
}

static void a_cancel_before_the_close_lets_the_fin_go(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_read(s[0], 1);
	ask_poll(s[0], 2, POLL_MASK, true);
	expect(2, EPOLLOUT);
	ask_cancel(1);
	ask_cancel(2);
	ask_close(s[0]);
	expect(1, -ECANCELED);
	expect(2, -ECANCELED);
	nothing();
	assert_int_equal(sys_recv(s[1], facts_mem, 1, 0), 0);
	sys_close(s[1]);
}

#endif
