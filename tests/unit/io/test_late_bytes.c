/* SPDX-License-Identifier: MIT
 *
 * test_late_bytes.c - bytes of many sockets and a timer that is due at the same time, as after a suspension
 * of the process: no timer fires before all bytes are delivered. For each driver, over the real kernel.
 *
 * Owns one loop, its sockets and their far ends for one test each. One thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/io/io.h"
#include "weir/io/uring.h"
#include "weir/sys/sys.h"

/* More than one wait of epoll brings, and more than the ring has buffers. */
#define SOCKETS 300
#define TURNS_MAX 100
#define HEAP_BYTES (64u * 1024u * 1024u)
#define SOON_NS NS_PER_MS

static struct io_loop loop;
static struct pipe_pool pipes;
static struct buf_pool bufs;
static struct io_sock socks[SOCKETS];
static struct io_op ops[SOCKETS];
static int fars[SOCKETS];
static int delivered;
static int delivered_when_fired;

static void on_bytes(struct io_op *op, int result)
{
	(void)op;
	delivered += result == 1;
}

static void on_fire(struct timer *t)
{
	(void)t;
	delivered_when_fired = delivered;
}

static void turn(void)
{
	io_loop_wake(&loop); /* no wait without an end */
	io_loop_turn(&loop);
}

static void begin(const struct io_driver *driver)
{
	int fds[2];

	delivered = 0;
	delivered_when_fired = -1;
	pipe_pool_init(&pipes, 4, 65536, UINT64_MAX);
	buf_pool_init(&bufs, HEAP_BYTES);
	assert_int_equal(io_loop_init(&loop, driver), 0);
	pipe_cache_init(&loop.pipes, &pipes, 4);
	buf_cache_init(&loop.bufs, &bufs);
	turn(); /* a ring is off until then, and has room for few reads */
	for (int i = 0; i < SOCKETS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
		fars[i] = fds[1];
		io_sock_init(&socks[i], fds[0], false);
		assert_int_equal(io_attach(&loop, &socks[i]), 0);
		io_op_init(&ops[i], &socks[i], on_bytes);
		ops[i].kind = IO_READ;
		ops[i].max = 1000;
		assert_int_equal(io_start(&loop, &ops[i]), IO_PENDING);
	}
}

static void end(void)
{
	for (int i = 0; i < SOCKETS; i++)
		io_cancel(&loop, &ops[i]);
	for (int i = 0; i < TURNS_MAX && loop.pending > 0; i++)
		turn();
	assert_int_equal(loop.pending, 0);
	for (int i = 0; i < SOCKETS; i++) {
		ops[i].kind = IO_CLOSE;
		assert_int_equal(io_start(&loop, &ops[i]), 0);
		close(fars[i]);
	}
	pipe_cache_free(&loop.pipes);
	io_loop_release(&loop);
	buf_cache_free(&loop.bufs);
	io_loop_free(&loop);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
}

static void bytes_go_first(const struct io_driver *driver)
{
	struct timer t;
	int64_t due_ns;

	begin(driver);
	turn(); /* the kernel hears of the reads */
	turn();
	assert_int_equal(delivered, 0);
	timer_init(&t, on_fire);
	due_ns = sys_now_ns() + SOON_NS;
	assert_int_equal(timer_set(&loop.timers, &t, due_ns), 0);
	for (int i = 0; i < SOCKETS; i++)
		assert_int_equal(send(fars[i], "x", 1, MSG_NOSIGNAL), 1);
	while (sys_now_ns() <= due_ns)
		; /* the loop does not turn, as if it were suspended */
	for (int i = 0; i < TURNS_MAX && delivered_when_fired < 0; i++)
		io_loop_turn(&loop);
	assert_int_equal(delivered_when_fired, SOCKETS);
	end();
}

static void bytes_go_before_a_timer_with_epoll(void **state)
{
	(void)state;
	bytes_go_first(&io_epoll_driver);
}

static void bytes_go_before_a_timer_with_io_uring(void **state)
{
	char why[URING_WHY_MAX];
	const struct io_driver *driver = uring_driver(why, sizeof(why));

	(void)state;
	if (driver == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		skip();
	}
	bytes_go_first(driver);
}

/* The budget of the pools is planned with that (engine_start()). */
static void a_driver_borrows_no_more_than_it_says(const struct io_driver *driver)
{
	begin(driver);
	turn();
	turn();
	assert_true(bufs.bytes <= driver->borrows_bytes);
	end();
}

static void epoll_borrows_no_more_than_it_says(void **state)
{
	(void)state;
	a_driver_borrows_no_more_than_it_says(&io_epoll_driver);
}

static void io_uring_borrows_no_more_than_it_says(void **state)
{
	char why[URING_WHY_MAX];
	const struct io_driver *driver = uring_driver(why, sizeof(why));

	(void)state;
	if (driver == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		skip();
	}
	a_driver_borrows_no_more_than_it_says(driver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_before_a_timer_with_epoll),
		cmocka_unit_test(bytes_go_before_a_timer_with_io_uring),
		cmocka_unit_test(epoll_borrows_no_more_than_it_says),
		cmocka_unit_test(io_uring_borrows_no_more_than_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
