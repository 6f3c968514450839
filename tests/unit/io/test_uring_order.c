/* SPDX-License-Identifier: MIT
 *
 * test_uring_order.c - completions of the io_uring driver in the order that hurts, over the real kernel: what
 * happens while the results of one wait are being handed out, and an epoll set that takes nobody more.
 *
 * Owns one loop, its sockets and their far ends for one test each; wraps sys_epoll_ctl(). Where no ring is to
 * be had the program says why and is skipped. One thread.
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

#include "weir/io/io.h"
#include "weir/io/uring.h"
#include "weir/sys/sys.h"
#include "io/uring_state.h"

/* A read and its cancel for each are more entries than the ring has room for: it submits in between. */
#define OTHERS (URING_SUBMISSIONS / 2 + 10)
#define TURNS_MAX 100
#define HEAP_BYTES (64u * 1024u * 1024u)

struct probe {
	struct io_op op; /* first: the callback gets it */
	struct io_sock sock;
	int far;
	int count;
	int result;
};

static struct io_loop loop;
static struct pipe_pool pipes;
static struct buf_pool bufs;
static struct probe others[OTHERS];
static struct probe rd; /* the two places of one socket, the writer's */
static struct probe wr;
static uint8_t memory[65536];
static bool set_is_full;

int __real_sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data);
int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data);

int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	return set_is_full ? -ENOSPC : __real_sys_epoll_ctl(epfd, op, fd, events, data);
}

static void on_done(struct io_op *op, int result)
{
	struct probe *p = (struct probe *)op;

	p->count++;
	p->result = result;
}

/* ---- the loop and its sockets ---- */

static void open_probe(struct probe *p)
{
	int fds[2];

	memset(p, 0, sizeof(*p));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	p->far = fds[1];
	io_sock_init(&p->sock, fds[0], false);
	assert_int_equal(io_attach(&loop, &p->sock), 0);
	io_op_init(&p->op, &p->sock, on_done);
}

static void turn(void)
{
	io_loop_wake(&loop); /* no wait without an end */
	io_loop_turn(&loop);
}

static void turn_until(const struct probe *p)
{
	for (int i = 0; i < TURNS_MAX && p->count == 0; i++)
		turn();
	assert_int_equal(p->count, 1);
	assert_false(io_is_pending(&p->op));
}

static void close_probe(struct probe *p)
{
	io_cancel(&loop, &p->op);
	for (int i = 0; i < TURNS_MAX && io_is_pending(&p->op); i++)
		turn();
	p->op.kind = IO_CLOSE;
	assert_int_equal(io_start(&loop, &p->op), 0);
	close(p->far);
}

static void fill(void)
{
	while (sys_send(wr.sock.fd, memory, sizeof(memory)) > 0)
		;
}

static void drain(void)
{
	while (sys_recv(wr.far, memory, sizeof(memory), 0) > 0)
		;
}

static void begin(void)
{
	set_is_full = false;
	pipe_pool_init(&pipes, 4, 65536, UINT64_MAX);
	buf_pool_init(&bufs, HEAP_BYTES);
	assert_int_equal(io_loop_init(&loop, &io_uring_driver), 0);
	pipe_cache_init(&loop.pipes, &pipes, 4);
	buf_cache_init(&loop.bufs, &bufs);
	open_probe(&wr);
	memset(&rd, 0, sizeof(rd));
	io_op_init(&rd.op, &wr.sock, on_done);
	wr.op.kind = IO_WRITE;
	wr.op.data = memory;
	wr.op.len = 100;
	rd.op.kind = IO_READY;
	rd.op.want = IO_WANT_IN;
	fill();
	turn();
}

static void end(void)
{
	io_cancel(&loop, &rd.op);
	close_probe(&wr);
	turn();
	assert_int_equal(loop.pending, 0);
	pipe_cache_free(&loop.pipes);
	io_loop_release(&loop);
	buf_cache_free(&loop.bufs);
	io_loop_free(&loop);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
}

/* ---- the tests ---- */

static void write_in_vain_and_make_room(struct io_loop *l)
{
	l->woken = NULL;
	assert_int_equal(io_start(l, &wr.op), IO_PENDING);
	assert_int_equal(io_start(l, &rd.op), IO_PENDING); /* from now on the socket is watched */
	for (int i = 1; i < OTHERS; i++) {
		others[i].op.kind = IO_READ;
		others[i].op.max = 1000;
		assert_int_equal(io_start(l, &others[i].op), IO_PENDING);
		io_cancel(l, &others[i].op);
	}
	drain();
}

/* The epoll set has a report under way, which brings the event of room before the refusal is looked at. */
static void a_write_hears_of_room_that_came_before_its_refusal(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < OTHERS; i++)
		open_probe(&others[i]);
	others[0].op.kind = IO_READY;
	others[0].op.want = IO_WANT_IN;
	assert_int_equal(io_start(&loop, &others[0].op), IO_PENDING);
	turn();
	turn();
	loop.woken = write_in_vain_and_make_room;
	io_loop_wake(&loop);
	assert_int_equal(send(others[0].far, "x", 1, MSG_NOSIGNAL), 1);
	turn_until(&wr);
	assert_int_equal(wr.result, 100);
	for (int i = 0; i < OTHERS; i++)
		close_probe(&others[i]);
	end();
}

static void take_the_room_and_cancel(struct io_loop *l)
{
	l->woken = NULL;
	fill();
	io_cancel(l, &wr.op);
}

static void a_polled_write_that_is_cancelled_before_its_try_ends(void **state)
{
	(void)state;
	begin();
	set_is_full = true;
	assert_int_equal(io_start(&loop, &wr.op), IO_PENDING);
	turn();
	turn();
	assert_int_equal(wr.count, 0);
	loop.woken = take_the_room_and_cancel;
	io_loop_wake(&loop);
	drain();
	turn_until(&wr);
	assert_int_equal(wr.result, -ECANCELED);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_hears_of_room_that_came_before_its_refusal),
		cmocka_unit_test(a_polled_write_that_is_cancelled_before_its_try_ends),
	};
	char why[URING_WHY_MAX];

	if (uring_driver(why, sizeof(why)) == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
