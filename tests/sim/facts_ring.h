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

#include "weir/sys/ring.h"
#include "weir/sys/sys.h"

/* ---- what each side provides ---- */

/* Two connected sockets; `oobinline` is of both. */
static void port_pair(bool tcp, bool oobinline, int fds[2]);
/* Sends one urgent byte. */
static void port_urgent(int fd);
/* The mark of an urgent byte reaches the other end of `fd` (TCP), whose bytes are still on their way: nothing
 * can be read. False when we may not do that; the reason is printed. */
static bool port_urgent_ahead(int fd);
/* How many threads this program has, those included that the kernel has begun for its ring. */
static unsigned port_threads(void);
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

static void ask_poll(int fd, uint64_t user_data, uint32_t events, bool multi)
{
	struct io_uring_sqe *sqe = entry(user_data);

	io_uring_prep_poll_add(sqe, fd, events);
	sqe->len = multi ? IORING_POLL_ADD_MULTI : 0;
	sqe->user_data = user_data;
}

/* As the driver does: a poll that only tells of its failure, and a read that is linked to it. */
static void ask_read(int fd, uint64_t user_data)
{
	struct io_uring_sqe *sqe;

	ring_reserve(ring, 2);
	sqe = entry(user_data);
	io_uring_prep_poll_add(sqe, fd, EPOLLIN);
	sqe->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = user_data;
	sqe = entry(user_data);
	io_uring_prep_recv(sqe, fd, NULL, 1000, MSG_DONTWAIT);
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = RING_BUF_GROUP;
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

/* The next completion; NO_DONE in `res` when there is none. An enter that waits for nothing ends a poll, and
 * the next one the read behind it. */
static struct ring_done next(void)
{
	struct ring_done d = {0, NO_DONE, 0};

	port_settle();
	for (int i = 0; i < 2 && d.res == NO_DONE; i++) {
		assert_int_equal(ring_enter(ring, 0), 0);
		(void)ring_take(ring, &d, 1); /* none: `d` says so */
	}
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

#include "facts_ring_read.h"
#include "facts_ring_poll.h"

#define RING_FACT(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define RING_FACTS_TESTS                                                                                   \
	RING_FACT(a_read_waits_and_brings_the_bytes_in_one_completion),                                    \
		RING_FACT(one_wait_lets_the_poll_go_and_brings_the_bytes),                                 \
		RING_FACT(a_read_without_buffers_says_so_when_there_is_something),                         \
		RING_FACT(a_read_takes_the_oldest_buffer),                                                 \
		RING_FACT(a_fin_behind_the_bytes_counts_as_more_to_read),                                  \
		RING_FACT(a_read_stops_before_the_mark),                                                   \
		RING_FACT(a_reset_is_told_once_after_the_bytes),                                           \
		RING_FACT(a_reset_ends_a_read_that_waits),                                                 \
		RING_FACT(a_read_whose_poll_was_wrong_says_so_and_keeps_no_buffer),                        \
		RING_FACT(an_urgent_mark_without_bytes_lets_a_read_wait),                                  \
		RING_FACT(a_cancel_ends_a_read_with_one_completion),                                       \
		RING_FACT(a_cancel_wins_although_bytes_have_come),                                         \
		RING_FACT(a_cancel_between_poll_and_read_finds_nothing),                                   \
		RING_FACT(a_pending_read_holds_back_the_fin),                                              \
		RING_FACT(a_linked_read_takes_its_descriptor_when_it_starts),                              \
		RING_FACT(a_cancel_before_the_close_lets_the_fin_go),                                      \
		RING_FACT(a_multishot_poll_tells_of_the_edge),                                             \
		RING_FACT(one_wake_up_shows_its_own_bits_alone),                                           \
		RING_FACT(an_event_of_room_hides_the_mark),                                                \
		RING_FACT(a_reset_shows_all_bits),                                                         \
		RING_FACT(a_poll_once_tells_once),                                                         \
		RING_FACT(a_poll_once_tells_of_ends_unasked),                                              \
		RING_FACT(a_send_that_may_not_wait_says_so),                                               \
		RING_FACT(a_send_tells_of_the_reset),                                                      \
		RING_FACT(a_timeout_ends_once_in_its_time),                                                \
		RING_FACT(more_completions_than_room_are_brought_later),                                   \
		RING_FACT(only_an_enter_for_all_brings_all_that_is_ready),                                 \
		RING_FACT(an_enter_for_all_brings_what_is_read_behind_polls)

#endif
