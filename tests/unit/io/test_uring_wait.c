/* SPDX-License-Identifier: MIT
 *
 * test_uring_wait.c - the waits of the io_uring driver when there is too much or too little: more ready
 * sockets than one wait brings, an epoll set without room, polls that are refused, reads that find nothing.
 * Over the real kernel.
 *
 * Owns one loop, its sockets and their far ends for one test each; wraps sys_epoll_ctl() and ring_take().
 * Where no ring is to be had the program says why and is skipped. One thread.
 */
#include <arpa/inet.h>
#include <errno.h>
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

#include "weir/base/check.h"
#include "weir/io/io.h"
#include "weir/io/uring.h"
#include "weir/sys/sys.h"
#include "io/uring_state.h"

/* Three waits for all. */
#define WATCHED (3 * IO_EVENTS)
/* Where a turn that does not end is ended. */
#define EVENTS_MAX (2 * URING_COMPLETIONS)
#define TURNS_MAX 10000
/* The kernel brings some twenty more each time. */
#define CROWD_TURNS (WATCHED / 10)
/* A loop that spins makes thousands of turns in the time; one that looks at each tick makes some thirty. */
#define SPIN_NS (50 * NS_PER_MS)
#define SPIN_TURNS 200
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
static struct probe wr;
static uint8_t memory[65536];
static int drained_err;
static int events; /* of all that are watched */
static int events_when_fired;
static bool again; /* they are ready again at once */
static int woken;
static bool set_is_full;
static const struct io_sock *refused; /* whose entries fail, */
static int refused_with;              /* with this */
static bool own_is_refused;

int __real_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data);
int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data);
uint32_t __real_ring_take(struct ring *r, struct ring_done *out, uint32_t max);
uint32_t __wrap_ring_take(struct ring *r, struct ring_done *out, uint32_t max);

int __wrap_sys_epoll_ctl(int epfd, int op, int fd, uint32_t mask, uint64_t data)
{
	return set_is_full ? -ENOSPC : __real_sys_epoll_ctl(epfd, op, fd, mask, data);
}

static bool is_refused(uint64_t user_data)
{
	if (user_data == URING_WAKE || user_data == URING_ALARM || user_data == URING_EPOLL)
		return own_is_refused;
	return refused != NULL && (user_data & URING_POINTER_MASK) == (uint64_t)(uintptr_t)refused;
}

uint32_t __wrap_ring_take(struct ring *r, struct ring_done *out, uint32_t max)
{
	const uint32_t n = __real_ring_take(r, out, max);

	for (uint32_t i = 0; i < n; i++)
		if (is_refused(out[i].user_data))
			out[i] = (struct ring_done){out[i].user_data, refused_with, 0};
	return n;
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
	set_is_full = again = own_is_refused = fired = false;
	refused = NULL;
	refused_with = -ENOMEM;
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
	io_loop_release(&loop);
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

/* How many turns the loop makes by itself. */
static uint64_t turns_of_a_while(void)
{
	const uint64_t before = loop.turns;

	set_timer(SPIN_NS);
	while (!fired)
		io_loop_turn(&loop);
	return loop.turns - before;
}

static void turn_until(const struct probe *p)
{
	set_timer(FAR_NS);
	while (p->count == 0 && !fired)
		io_loop_turn(&loop);
	timer_cancel(&loop.timers, &timer);
	assert_int_equal(p->count, 1);
	assert_false(io_is_pending(&p->op));
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

static void open_unix(struct probe *p)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	open_probe(p, fds[0], fds[1], false);
}

static int listen_tcp(struct sockaddr_in *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*a);

	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)a, len), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)a, &len), 0);
	return fd;
}

static int connect_tcp(const struct sockaddr_in *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)a, sizeof(*a)), 0);
	return fd;
}

static void open_tcp(struct probe *p)
{
	struct sockaddr_in a;
	const int lfd = listen_tcp(&a);
	const int far = connect_tcp(&a);
	const int fd = accept4(lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	assert_true(fd >= 0);
	close(lfd);
	open_probe(p, fd, far, true);
}

/* Until nothing more goes; how much went. */
static size_t fill(void)
{
	size_t sum = 0;
	ssize_t n;

	while ((n = sys_send(wr.sock.fd, memory, sizeof(memory))) > 0)
		sum += (size_t)n;
	return sum;
}

/* What there is to be read at the far end; drained_err says why there is no more. */
static size_t drain(void)
{
	size_t sum = 0;
	ssize_t n;

	while ((n = recv(wr.far, memory, sizeof(memory), MSG_DONTWAIT)) > 0)
		sum += (size_t)n;
	drained_err = n < 0 ? -errno : 0;
	return sum;
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

/* ---- an epoll set without room ---- */

static void begin_stuck_write(void)
{
	begin();
	open_unix(&wr);
	fill();
	set_is_full = true;
	wr.op.kind = IO_WRITE;
	wr.op.data = memory;
	wr.op.len = 100;
	assert_int_equal(io_start(&loop, &wr.op), IO_PENDING);
	turn();
	assert_int_equal(shutdown(wr.far, SHUT_WR), 0);
	assert_true(turns_of_a_while() < SPIN_TURNS);
	assert_int_equal(wr.count, 0);
}

static void a_write_behind_a_fin_waits_for_room_without_spinning(void **state)
{
	(void)state;
	begin_stuck_write();
	drain();
	turn_until(&wr);
	assert_int_equal(wr.result, 100);
	close_probe(&wr);
	end();
}

static void a_write_behind_a_fin_is_watched_when_the_set_has_room(void **state)
{
	(void)state;
	begin_stuck_write();
	set_is_full = false;
	(void)turns_of_a_while();
	assert_true(wr.sock.bits & IO_POLLED);
	assert_int_equal(wr.count, 0);
	drain();
	turn_until(&wr);
	assert_int_equal(wr.result, 100);
	close_probe(&wr);
	end();
}

/* The other place of the socket is watched, so both are. */
static void a_write_that_is_stuck_hears_of_events_that_another_asked_for(void **state)
{
	struct probe rd;

	(void)state;
	begin_stuck_write();
	for (int i = 0; i < TURNS_MAX && wr.op.result != URING_STUCK; i++)
		io_loop_turn(&loop);
	assert_int_equal(wr.op.result, URING_STUCK);
	set_is_full = false;
	memset(&rd, 0, sizeof(rd));
	io_op_init(&rd.op, &wr.sock, on_done);
	rd.op.kind = IO_READY;
	rd.op.want = IO_WANT_IN;
	wr.sock.bits &= (uint16_t)~IO_READABLE; /* as if it were read */
	assert_int_equal(io_start(&loop, &rd.op), IO_PENDING);
	assert_int_equal(wr.op.result, IO_PARKED);
	drain();
	turn_until(&wr);
	assert_int_equal(wr.result, 100);
	io_cancel(&loop, &rd.op);
	close_probe(&wr);
	end();
}

static void a_write_that_is_stuck_is_cancelled(void **state)
{
	(void)state;
	begin_stuck_write();
	for (int i = 0; i < TURNS_MAX && wr.op.result != URING_STUCK; i++)
		io_loop_turn(&loop);
	assert_int_equal(wr.op.result, URING_STUCK);
	io_cancel(&loop, &wr.op);
	assert_int_equal(wr.count, 0);
	turn();
	assert_int_equal(wr.count, 1);
	assert_int_equal(wr.result, -ECANCELED);
	close_probe(&wr);
	assert_true(turns_of_a_while() < SPIN_TURNS);
	assert_int_equal(loop.stale_events, 0); /* nobody has asked for it since */
	end();
}

/* More than are looked at in one tick; they share the room of one socket. */
static void all_who_are_stuck_hear_of_room(void **state)
{
	int told = 0;

	(void)state;
	begin();
	open_unix(&wr);
	fill();
	set_is_full = true;
	assert_int_equal(shutdown(wr.far, SHUT_WR), 0);
	for (int i = 0; i < WATCHED; i++) {
		open_probe(&watched[i], dup(wr.sock.fd), -1, false);
		watched[i].sock.bits &= (uint16_t)~IO_WRITABLE;
		watched[i].op.kind = IO_READY;
		watched[i].op.want = IO_WANT_OUT;
		assert_int_equal(io_start(&loop, &watched[i].op), IO_PENDING);
	}
	(void)turns_of_a_while();
	drain();
	set_timer(FAR_NS);
	while (told < WATCHED && !fired) {
		io_loop_turn(&loop);
		told = 0;
		for (int i = 0; i < WATCHED; i++)
			told += watched[i].count;
	}
	assert_int_equal(told, WATCHED);
	close_watched();
	close_probe(&wr);
	end();
}

/* Sends a lot behind the far end's FIN, and starts the reset that waits for it. */
static size_t begin_stuck_reset(bool is_polled)
{
	size_t sent;

	begin();
	open_tcp(&wr);
	assert_int_equal(shutdown(wr.far, SHUT_WR), 0);
	sent = fill();
	set_is_full = true;
	refused = is_polled ? NULL : &wr.sock;
	wr.op.kind = IO_RESET;
	wr.op.flags = IO_FLUSH;
	assert_int_equal(io_start(&loop, &wr.op), IO_PENDING);
	assert_true(turns_of_a_while() < SPIN_TURNS);
	assert_int_equal(wr.count, 0);
	return sent;
}

static void a_reset_loses_no_bytes(bool is_polled)
{
	const size_t sent = begin_stuck_reset(is_polled);
	size_t got = 0;

	set_timer(FAR_NS);
	for (bool is_done = false; !is_done && !fired;) {
		is_done = wr.count > 0; /* what came before it is read below */
		got += drain();
		if (!is_done)
			turn();
	}
	assert_int_equal(got, sent);
	assert_int_equal(wr.count, 1);
	assert_int_equal(wr.result, 0);
	timer_cancel(&loop.timers, &timer);
	turn(); /* the kernel hears of the close */
	if (drained_err == -EAGAIN)
		assert_int_equal(drain(), 0);
	assert_int_equal(drained_err, -ECONNRESET); /* it is told once */
	close(wr.far);
	end();
}

static void a_reset_behind_a_fin_loses_no_bytes(void **state)
{
	(void)state;
	a_reset_loses_no_bytes(true);
}

static void a_reset_that_nothing_can_wait_for_loses_no_bytes(void **state)
{
	(void)state;
	a_reset_loses_no_bytes(false);
}

static void a_reset_that_waits_ends_with_the_peers_own(void **state)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	(void)state;
	(void)begin_stuck_reset(true);
	assert_int_equal(setsockopt(wr.far, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	close(wr.far);
	turn_until(&wr);
	assert_int_equal(wr.result, 0);
	end();
}

/* ---- polls that the kernel refuses ---- */

static bool admit(struct io_op *op)
{
	(void)op;
	return true;
}

static void a_listener_that_cannot_be_polled_tells_the_engine(void **state)
{
	struct sockaddr_in a;
	int far;

	(void)state;
	begin();
	open_probe(&wr, listen_tcp(&a), -1, true);
	wr.op.kind = IO_ACCEPT;
	wr.op.admit = admit;
	assert_int_equal(io_start(&loop, &wr.op), IO_PENDING);
	turn();
	refused = &wr.sock;
	far = connect_tcp(&a);
	turn_until(&wr);
	assert_int_equal(wr.result, -ENOMEM);
	refused = NULL;
	close_probe(&wr);
	close(far);
	end();
}

static void a_refused_poll_of_the_driver_is_asked_again_in_a_while(void **state)
{
	(void)state;
	begin();
	turn();
	own_is_refused = true;
	io_loop_wake(&loop);
	assert_true(turns_of_a_while() < SPIN_TURNS);
	own_is_refused = false;
	woken = 0;
	io_loop_wake(&loop);
	set_timer(FAR_NS);
	while (woken == 0 && !fired)
		io_loop_turn(&loop);
	assert_false(fired);
	end();
}

/* How a read of the ring ends that has found nothing. */
static const int in_vain[] = {-EAGAIN, -ENOBUFS, -EINTR};

static void begin_read(void)
{
	begin();
	open_unix(&wr);
	wr.op.kind = IO_READ;
	wr.op.max = 1000;
	assert_int_equal(io_start(&loop, &wr.op), IO_PENDING);
	turn();
}

/* Its poll was wrong, or there was no buffer, and by then nobody wants it any more. */
static void a_read_that_is_cancelled_is_not_asked_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(in_vain); i++) {
		begin_read();
		refused = &wr.sock;
		refused_with = in_vain[i];
		io_cancel(&loop, &wr.op);
		turn_until(&wr);
		assert_int_equal(wr.result, -ECANCELED);
		assert_int_equal(send(wr.far, "x", 1, MSG_NOSIGNAL), 1);
		refused = NULL;
		assert_true(turns_of_a_while() < SPIN_TURNS);
		assert_int_equal(wr.count, 1);
		assert_int_equal(loop.stale_events, 0);
		close_probe(&wr);
		end();
	}
}

/* The same, and somebody still wants it. */
static void a_read_that_finds_nothing_waits_for_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(in_vain); i++) {
		begin_read();
		refused = &wr.sock;
		refused_with = in_vain[i];
		assert_int_equal(send(wr.far, "x", 1, MSG_NOSIGNAL), 1);
		assert_int_equal(sys_recv(wr.sock.fd, memory, 1, 0), 1); /* its poll has seen them */
		assert_true(turns_of_a_while() < SPIN_TURNS);
		assert_int_equal(wr.count, 0);
		refused = NULL;
		assert_int_equal(send(wr.far, "yz", 2, MSG_NOSIGNAL), 2);
		turn_until(&wr);
		assert_int_equal(wr.result, 2);
		close_probe(&wr);
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_ends_although_all_are_ready_again_at_once),
		cmocka_unit_test(a_turn_ends_although_completions_come_without_end),
		cmocka_unit_test(those_who_are_left_behind_are_told_of_in_the_next_turn),
		cmocka_unit_test(all_are_told_of_before_a_timer_fires),
		cmocka_unit_test(a_write_behind_a_fin_waits_for_room_without_spinning),
		cmocka_unit_test(a_write_behind_a_fin_is_watched_when_the_set_has_room),
		cmocka_unit_test(a_write_that_is_stuck_hears_of_events_that_another_asked_for),
		cmocka_unit_test(a_write_that_is_stuck_is_cancelled),
		cmocka_unit_test(all_who_are_stuck_hear_of_room),
		cmocka_unit_test(a_reset_behind_a_fin_loses_no_bytes),
		cmocka_unit_test(a_reset_that_nothing_can_wait_for_loses_no_bytes),
		cmocka_unit_test(a_reset_that_waits_ends_with_the_peers_own),
		cmocka_unit_test(a_listener_that_cannot_be_polled_tells_the_engine),
		cmocka_unit_test(a_refused_poll_of_the_driver_is_asked_again_in_a_while),
		cmocka_unit_test(a_read_that_is_cancelled_is_not_asked_again),
		cmocka_unit_test(a_read_that_finds_nothing_waits_for_more),
	};
	char why[URING_WHY_MAX];

	if (uring_driver(why, sizeof(why)) == NULL) {
		printf("skipped: no io_uring is to be had here: %s\n", why);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
