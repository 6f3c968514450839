/* SPDX-License-Identifier: MIT
 *
 * facts_ring.h - what an io_uring does, as tests that run against Linux and against the model alike.
 *
 * Included by tests/unit/io/test_ring_facts.c (Linux) and tests/sim/test_model_ring.c (the model), each of
 * which defines the few functions declared first. The driver is built on these sentences. Owns one ring and
 * its descriptors for one test each. One thread. Tests only.
 */
#ifndef SIM_FACTS_RING_H
#define SIM_FACTS_RING_H

/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sluice/io/ring.h"
#include "sluice/io/sys.h"

/* ---- what each side provides ---- */

/* Two connected sockets; `oobinline` is of both. */
static void port_pair(bool tcp, bool oobinline, int fds[2]);
/* Sends one urgent byte. */
static void port_urgent(int fd);
/* Waits until everything sent has arrived and was acknowledged as far as there is room. */
static void port_settle(void);
/* What `from` can send before `to` reads becomes little. */
static void port_small_queue(int from, int to);
/* From now on a wait may be long. */
static void port_long_sleep(void);

/* ---- helpers ---- */

#define POLL_MASK (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI)
#define NO_DONE 12345

static struct ring *ring;
static uint8_t lent[4][4096];
static uint8_t facts_mem[1 << 20];

static int ring_setup(void **state)
{
	const struct ring_shape shape = {.submissions = 8, .completions = 8, .bufs = 4};

	(void)state; /* the ring is global */
	ring = NULL;
	return ring_open(&ring, &shape) || ring_enable(ring);
}

static int ring_teardown(void **state)
{
	(void)state; /* as above */
	if (ring != NULL)
		ring_close(ring);
	return 0;
}

static void lend(uint16_t id)
{
	ring_lend(ring, id, lent[id], sizeof(lent[id]));
}

static struct io_uring_sqe *entry(uint64_t user_data)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	assert_non_null(sqe);
	sqe->user_data = user_data;
	return sqe;
}

static void ask_recv(int fd, uint64_t user_data, uint16_t how)
{
	struct io_uring_sqe *sqe = entry(user_data);

	io_uring_prep_recv(sqe, fd, NULL, 1000, 0);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = RING_BUF_GROUP;
	sqe->ioprio = how;
	sqe->user_data = user_data;
}

static void ask_poll(int fd, uint64_t user_data, uint32_t events, bool multi)
{
	struct io_uring_sqe *sqe = entry(user_data);

	io_uring_prep_poll_add(sqe, fd, events);
	sqe->len = multi ? IORING_POLL_ADD_MULTI : 0;
	sqe->user_data = user_data;
}

static void ask_cancel(uint64_t what)
{
	struct io_uring_sqe *sqe = entry(99);

	io_uring_prep_cancel64(sqe, what, 0);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = 99;
}

static void ask_close(int fd)
{
	struct io_uring_sqe *sqe = entry(98);

	io_uring_prep_close(sqe, fd);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = 98;
}

/* The next completion; NO_DONE in `res` when there is none. */
static struct ring_done next(void)
{
	struct ring_done d = {0, NO_DONE, 0};

	port_settle();
	assert_int_equal(ring_enter(ring, 0), 0);
	(void)ring_take(ring, &d, 1); /* none: `d` says so */
	return d;
}

static void expect(uint64_t user_data, int32_t res)
{
	const struct ring_done d = next();

	assert_int_equal(d.res, res);
	if (res != NO_DONE)
		assert_int_equal(d.user_data, user_data);
}

static void nothing(void)
{
	expect(0, NO_DONE);
}

static void send_some(int fd, size_t len)
{
	assert_int_equal(sys_send(fd, facts_mem, len), len);
	port_settle();
}

static void hang_up(int fds[2])
{
	sys_close(fds[0]);
	sys_close(fds[1]);
}

/* ---- reads and lent buffers ---- */

static void a_recv_without_buffers_fails_at_once(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	ask_recv(s[0], 1, 0);
	expect(1, -ENOBUFS);
	ask_recv(s[0], 2, IORING_RECVSEND_POLL_FIRST);
	nothing();
	send_some(s[1], 10);
	expect(2, -ENOBUFS);
	assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
	ask_recv(s[0], 3, IORING_RECVSEND_POLL_FIRST);
	nothing();
	assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
	expect(3, -ENOBUFS); /* FIN too */
	hang_up(s);
}

static void a_recv_takes_the_oldest_buffer(void **state)
{
	struct ring_done d;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(2);
	lend(1);
	ask_recv(s[0], 1, 0);
	nothing();
	send_some(s[1], 1500);
	d = next();
	assert_int_equal(d.res, 1000);
	assert_int_equal(d.flags, (2u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER |
					  IORING_CQE_F_SOCK_NONEMPTY);
	ask_recv(s[0], 2, 0);
	d = next();
	assert_int_equal(d.res, 500);
	assert_int_equal(d.flags, (1u << IORING_CQE_BUFFER_SHIFT) | IORING_CQE_F_BUFFER);
	lend(2);
	assert_int_equal(sys_shutdown(s[1], SHUT_WR), 0);
	ask_recv(s[0], 3, 0);
	d = next();
	assert_int_equal(d.res, 0);
	assert_false(d.flags & IORING_CQE_F_BUFFER);
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
	ask_recv(s[0], 1, 0);
	d = next();
	assert_int_equal(d.res, 10);
	assert_int_equal(d.flags, IORING_CQE_F_BUFFER | IORING_CQE_F_SOCK_NONEMPTY);
	hang_up(s);
}

static void a_recv_stops_before_the_mark(void **state)
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
	ask_recv(s[0], 1, 0);
	expect(1, 10);
	ask_recv(s[0], 2, IORING_RECVSEND_POLL_FIRST);
	expect(2, 6);
	hang_up(s);
}

static void a_reset_is_told_once_after_the_bytes(void **state)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	int s[2];

	(void)state;
	port_pair(true, true, s);
	for (uint16_t id = 0; id < 4; id++)
		lend(id);
	send_some(s[1], 10);
	assert_int_equal(sys_setsockopt(s[1], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	ask_close(s[1]);
	nothing();
	ask_recv(s[0], 1, 0);
	expect(1, 10);
	ask_recv(s[0], 2, 0);
	expect(2, -ECONNRESET);
	ask_recv(s[0], 3, 0);
	expect(3, 0);
	sys_close(s[0]);
}

/* ---- cancel and close ---- */

static void a_cancel_wins_although_bytes_have_come(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_recv(s[0], 1, 0);
	nothing();
	send_some(s[1], 10);
	ask_cancel(1);
	expect(1, -ECANCELED);
	nothing();
	assert_int_equal(sys_recv(s[0], facts_mem, 100, 0), 10);
	hang_up(s);
}

static void a_cancel_that_comes_too_late_says_so(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	send_some(s[1], 10);
	ask_recv(s[0], 1, 0);
	ask_cancel(1);
	expect(1, 10);
	expect(99, -ENOENT);
	hang_up(s);
}

/* Bytes that wait already: the read is under way, neither done nor to be found. */
static void a_cancel_does_not_find_what_is_under_way(void **state)
{
	struct ring_done a;
	struct ring_done b;
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	send_some(s[1], 10);
	ask_recv(s[0], 1, IORING_RECVSEND_POLL_FIRST);
	ask_cancel(1);
	a = next();
	b = next();
	assert_int_equal(a.user_data, 99);
	assert_int_equal(a.res, -ENOENT);
	assert_int_equal(b.user_data, 1);
	assert_int_equal(b.res, 10);
	hang_up(s);
}

static void a_pending_recv_holds_back_the_fin(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_recv(s[0], 1, 0);
	nothing();
	ask_close(s[0]);
	nothing();
	assert_int_equal(sys_recv(s[1], facts_mem, 1, 0), -EAGAIN);
	send_some(s[1], 1);
	expect(1, 1); /* the byte is swallowed, and the end of the read closes */
	port_settle();
	assert_int_equal(sys_recv(s[1], facts_mem, 1, 0), 0);
	sys_close(s[1]);
}

static void a_cancel_before_the_close_lets_the_fin_go(void **state)
{
	int s[2];

	(void)state;
	port_pair(true, true, s);
	lend(0);
	ask_recv(s[0], 1, 0);
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

#include "facts_ring_poll.h"

#define RING_FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define RING_FACTS_TESTS                                                                                   \
	RING_FACT(a_recv_without_buffers_fails_at_once),                                                   \
		RING_FACT(a_recv_takes_the_oldest_buffer),                                                 \
		RING_FACT(a_fin_behind_the_bytes_counts_as_more_to_read),                                  \
		RING_FACT(a_recv_stops_before_the_mark),                                                   \
		RING_FACT(a_reset_is_told_once_after_the_bytes),                                           \
		RING_FACT(a_cancel_wins_although_bytes_have_come),                                         \
		RING_FACT(a_cancel_that_comes_too_late_says_so),                                           \
		RING_FACT(a_cancel_does_not_find_what_is_under_way),                                       \
		RING_FACT(a_pending_recv_holds_back_the_fin),                                              \
		RING_FACT(a_cancel_before_the_close_lets_the_fin_go),                                      \
		RING_FACT(a_multishot_poll_tells_of_the_edge),                                             \
		RING_FACT(one_wake_up_shows_its_own_bits_alone),                                           \
		RING_FACT(an_event_of_room_hides_the_mark),                                                \
		RING_FACT(a_reset_shows_all_bits),                                                         \
		RING_FACT(a_poll_once_tells_once),                                                         \
		RING_FACT(a_send_waits_for_room),                                                          \
		RING_FACT(a_send_that_may_not_wait_says_so),                                               \
		RING_FACT(a_send_tells_of_the_reset),                                                      \
		RING_FACT(a_timeout_ends_once_in_its_time),                                                \
		RING_FACT(more_completions_than_room_are_brought_later),                                   \
		RING_FACT(only_an_enter_for_all_brings_all_that_is_ready)

#endif
