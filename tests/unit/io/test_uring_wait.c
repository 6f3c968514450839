/* SPDX-License-Identifier: MIT
 *
 * test_uring_wait.c - the waits of the io_uring driver under load: more ready sockets than one wait brings.
 * Over the real kernel.
 *
 * Owns one loop, its sockets and their far ends for one test each; wraps sys_epoll_ctl(). Where
 * no ring is to be had the program says why and is skipped. One thread. Floor 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sluice/io/io.h"
#include "sluice/io/sys.h"
#include "sluice/io/uring.h"
#include "sluice/io/uring_state.h"

/* Three waits for all. */
#define WATCHED (3 * IO_EVENTS)
/* Where a turn that does not end is ended. */
#define EVENTS_MAX (2 * URING_COMPLETIONS)
#define TURNS_MAX 10000
/* The kernel brings some twenty more each time. */
#define CROWD_TURNS (WATCHED / 10)
#define FAR_NS (5 * NS_PER_SEC)
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
static struct timer timer;
static bool fired;
static struct probe watched[WATCHED];
static int events; /* of all that are watched */
static int events_when_fired;
static bool again; /* they are ready again at once */
static int woken;
static bool set_is_full;

int __real_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data);
int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data);
int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data)
{
	return set_is_full ? -ENOSPC : __real_sys_epoll_ctl(epfd, op, fd, mask, data);
}

/* ---- callbacks ---- */

static void on_done(struct io_op *op, int result)
{
	struct probe *p = (struct probe *)op;

	p->count++;
	p->result = result;
}

static void make_ready(const struct probe *p)
{
	assert_int_equal(eventfd_write(p->sock.fd, 1), 0);
}

static void on_watched(struct io_op *op, int result)
{
	struct probe *p = (struct probe *)op;

	on_done(op, result);
	if (result == -ECANCELED || events == EVENTS_MAX)
		return;
	events++;
	p->sock.bits &= (uint16_t)~IO_READABLE; /* as of a socket that was read */
	if (again)
		make_ready(p);
	assert_int_equal(io_start(&loop, op), IO_PENDING);
}

static void on_fire(struct timer *t)
{
	(void)t;
	fired = true;
	events_when_fired = events;
}

static void on_woken(struct io_loop *l)
{
	(void)l;
	woken++;
}

/* ---- the loop and its sockets ---- */

static void turn(void)
{
	io_loop_wake(&loop); /* no wait without an end */
	io_loop_turn(&loop);
}

static void begin(void)
{
	set_is_full = again = fired = false;
	events = woken = 0;
	events_when_fired = -1;
	pipe_pool_init(&pipes, 4, 65536, UINT64_MAX);
	buf_pool_init(&bufs, HEAP_BYTES);
	assert_int_equal(io_loop_init(&loop, &io_uring_driver), 0);
	pipe_cache_init(&loop.pipes, &pipes, 4);
	buf_cache_init(&loop.bufs, &bufs);
	timer_init(&timer, on_fire);
	loop.woken = on_woken;
	turn(); /* the ring is on */
}

static void end(void)
{
	for (int i = 0; i < TURNS_MAX && loop.pending > 0; i++)
		turn();
	assert_int_equal(loop.pending, 0);
	turn();
	timer_cancel(&loop.timers, &timer);
	pipe_cache_free(&loop.pipes);
	io_loop_rest(&loop);
	buf_cache_free(&loop.bufs);
	io_loop_free(&loop);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
}

static void set_timer(int64_t after_ns)
{
	fired = false;
	assert_int_equal(timer_set(&loop.timers, &timer, sys_now_ns() + after_ns), 0);
}

static void open_probe(struct probe *p, int fd, int far, bool tcp)
{
	memset(p, 0, sizeof(*p));
	p->far = far;
	io_sock_init(&p->sock, fd, tcp);
	assert_int_equal(io_attach(&loop, &p->sock), 0);
	io_op_init(&p->op, &p->sock, on_done);
}

static void close_probe(struct probe *p)
{
	io_cancel(&loop, &p->op);
	for (int i = 0; i < TURNS_MAX && io_is_pending(&p->op); i++)
		turn();
	assert_false(io_is_pending(&p->op));
	p->op.kind = IO_CLOSE;
	assert_int_equal(io_start(&loop, &p->op), 0);
	close(p->far);
}

static void open_watched(void)
{
	for (int i = 0; i < WATCHED; i++) {
		struct probe *p = &watched[i];

		open_probe(p, sys_eventfd(), -1, false);
		p->op.done = on_watched;
		p->op.kind = IO_READY;
		p->op.want = IO_WANT_IN;
		assert_int_equal(io_start(&loop, &p->op), IO_PENDING);
	}
	turn();
	turn();
	assert_int_equal(events, 0);
}

static void make_all_ready(void)
{
	for (int i = 0; i < WATCHED; i++)
		make_ready(&watched[i]);
}

static void close_watched(void)
{
	again = false;
	for (int i = 0; i < WATCHED; i++)
		close_probe(&watched[i]);
}

/* ---- more than a wait brings ---- */

static void a_turn_ends_although_all_are_ready_again_at_once(void **state)
{
	(void)state;
	begin();
	open_watched();
	make_all_ready();
	again = true;
	woken = 0;
	turn();
	assert_true(events <= 2 * IO_EVENTS);
	assert_int_equal(woken, 1);
	for (int i = 0; i < 9; i++)
		turn();
	for (int i = 0; i < WATCHED; i++)
		assert_true(watched[i].count >= 2); /* all in their turn */
	close_watched();
	end();
}

/* Each is polled by itself, and nobody reads them: they are ready at all times. */
static void a_turn_ends_although_completions_come_without_end(void **state)
{
	(void)state;
	begin();
	set_is_full = true;
	open_watched();
	make_all_ready();
	set_timer(FAR_NS);
	for (int i = 0; i < CROWD_TURNS; i++) {
		events = 0;
		io_loop_turn(&loop); /* nothing wakes it but what was left */
		assert_in_range(events, 1, URING_COMPLETIONS);
	}
	assert_false(fired);
	close_watched();
	end();
}

static void those_who_are_left_behind_are_told_of_in_the_next_turn(void **state)
{
	(void)state;
	begin();
	open_watched();
	make_all_ready();
	set_timer(FAR_NS);
	while (events < WATCHED && !fired)
		io_loop_turn(&loop); /* nothing else wakes it */
	assert_false(fired);
	for (int i = 0; i < WATCHED; i++)
		assert_int_equal(watched[i].count, 1);
	close_watched();
	end();
}

static void all_are_told_of_before_a_timer_fires(void **state)
{
	int64_t due_ns;

	(void)state;
	begin();
	open_watched();
	set_timer(NS_PER_MS);
	due_ns = sys_now_ns() + NS_PER_MS;
	make_all_ready();
	while (sys_now_ns() <= due_ns)
		; /* the loop does not turn, as if it were suspended */
	while (!fired)
		io_loop_turn(&loop);
	assert_int_equal(events_when_fired, WATCHED);
	close_watched();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_ends_although_all_are_ready_again_at_once),
		cmocka_unit_test(a_turn_ends_although_completions_come_without_end),
		cmocka_unit_test(those_who_are_left_behind_are_told_of_in_the_next_turn),
		cmocka_unit_test(all_are_told_of_before_a_timer_fires),
	};
	char why[URING_WHY_MAX];

	if (uring_driver(why, sizeof(why)) == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
