/* SPDX-License-Identifier: MIT
 *
 * io.c - shared by all drivers: queues of finished ops, timers, one turn of the loop.
 *
 * Owns the order of a turn: wait, events, completions, timers, then ops that yielded, until the turn's share
 * is used up. Calls done() from there and nowhere else. One thread per loop.
 */
#include "weir/io/io.h"

#include <assert.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"

/* Timers beyond this number wait for the next turn, so that events are not starved. */
#define IO_TIMERS_A_TURN 1024
/* How many more times events are collected before a timer fires; enough for every socket of a worker. */
#define IO_LATE_ROUNDS 64
/* The minimum cost of dispatching an op that yielded, in bytes of the share. */
#define IO_TURN_COST 4096

static_assert(IO_CLOSE <= UINT8_MAX, "a kind fits into op->kind");
static_assert(IO_UNASKED <= UINT16_MAX, "all flags of a socket fit into its bits");
static_assert(IO_BATCH_END < -4095, "no -errno equals a special result");
static_assert(IO_SCRATCH_BYTES <= BUF_MAX, "a buffer can hold whatever a read lends");

static void queue_push(struct io_queue *q, struct io_op *op)
{
	check((q->head == NULL) == (q->tail == NULL));
	op->next = NULL;
	if (q->tail != NULL)
		q->tail->next = op;
	else
		q->head = op;
	q->tail = op;
}

static void queue_push_first(struct io_queue *q, struct io_op *op)
{
	op->next = q->head;
	q->head = op;
	if (q->tail == NULL)
		q->tail = op;
}

static struct io_op *queue_pop(struct io_queue *q)
{
	struct io_op *op = q->head;

	if (op != NULL) {
		q->head = op->next;
		/* Using `next` of a queued op cuts off the ops after it. */
		check((q->head == NULL) == (q->tail == op));
		if (q->head == NULL)
			q->tail = NULL;
		op->next = NULL;
	}
	return op;
}

int io_loop_init(struct io_loop *loop, const struct io_driver *driver)
{
	int err;

	memset(loop, 0, sizeof(*loop));
	loop->driver = driver;
	loop->now_ns = sys_now_ns();
	loop->far_ns = IO_FAR_NS;
	timer_heap_init(&loop->timers);
	loop->wake_fd = sys_eventfd();
	if (loop->wake_fd < 0)
		return loop->wake_fd;
	err = driver->open(loop);
	if (err) {
		sys_close(loop->wake_fd);
		loop->wake_fd = -1;
	}
	return err;
}

void io_loop_release(struct io_loop *loop)
{
	check(loop->pending == 0);
	if (loop->driver->release != NULL)
		loop->driver->release(loop);
}

void io_loop_free(struct io_loop *loop)
{
	check(loop->pending == 0);
	check(loop->done.head == NULL);
	check(loop->yield.head == NULL);
	loop->driver->close(loop);
	check(loop->driver_state == NULL);
	sys_close(loop->wake_fd);
	loop->wake_fd = -1;
	timer_heap_free(&loop->timers);
}

void io_loop_wake(struct io_loop *loop)
{
	const uint64_t one = 1;

	/* This can fail only if the counter is full, and then the loop is awake anyway. */
	(void)sys_write(loop->wake_fd, &one, sizeof(one));
}

static void dispatch(struct io_loop *loop, struct io_op *op)
{
	int result = op->result;

	check(op->state == IO_STATE_QUEUED);
	check(op->kind != IO_ACCEPT || op->result < 0);
	if (op->kind == IO_ACCEPT && loop->driver->last != NULL) {
		const int err = loop->driver->last(loop, op);

		if (err && result == -ECANCELED)
			result = err;
	}
	op->state = IO_STATE_IDLE;
	check(loop->pending > 0);
	loop->pending--;
	op->done(op, result);
}

static void dispatch_all(struct io_loop *loop, struct io_queue *q)
{
	struct io_op *op;

	while ((op = queue_pop(q)) != NULL)
		dispatch(loop, op);
}

/* Waits and dispatches. When a timer is due, everything that has arrived so far is handled first: the wait
 * may have been interrupted, or the process suspended, and no timer may end a session that has bytes
 * waiting. */
static void wait_and_dispatch(struct io_loop *loop, int64_t deadline_ns)
{
	uint64_t events;
	int rounds;

	loop->driver->wait(loop, deadline_ns);
	dispatch_all(loop, &loop->done);
	for (rounds = 0; rounds < IO_LATE_ROUNDS; rounds++) {
		if (timer_heap_next(&loop->timers) > loop->now_ns)
			return;
		events = loop->events;
		loop->driver->wait(loop, IO_ALL_NOW);
		dispatch_all(loop, &loop->done);
		if (loop->events - events < IO_EVENTS)
			return;
	}
}

/* At least one, so that no flood of events starves them. Callbacks may have cancelled ops; these need not
 * wait for an event. */
static void dispatch_yielded(struct io_loop *loop)
{
	struct io_op *op;

	loop->share = IO_SHARE_BYTES; /* bytes moved by events do not count */
	dispatch_all(loop, &loop->done);
	while ((op = queue_pop(&loop->yield)) != NULL) {
		io_share_spend(loop, IO_TURN_COST);
		dispatch(loop, op);
		dispatch_all(loop, &loop->done);
		if (io_share_used(loop))
			return;
	}
}

/* The process may have been suspended, or starved of CPU, within the last turn: bytes that moved after the
 * pause carry a time stamp from before it. Done only while a deadline is near, because it reads the clock. */
static void look_for_pause(struct io_loop *loop, int64_t deadline_ns)
{
	int64_t end_ns;

	if (deadline_ns - loop->now_ns >= IO_FAR_NS)
		return;
	end_ns = sys_now_ns();
	if (end_ns - loop->now_ns < IO_PAUSE_NS)
		return;
	loop->pause_began_ns = loop->now_ns;
	loop->pause_ended_ns = end_ns;
}

/* How late the loop is: the turn before was long, or the thread did not get its CPU. Reads no clock. */
static void note_lag(struct io_loop *loop)
{
	const int64_t due_ns = timer_heap_next(&loop->timers);
	uint64_t lag_ns;

	if (due_ns > loop->now_ns)
		return;
	lag_ns = (uint64_t)(loop->now_ns - due_ns);
	loop->timer_runs++;
	loop->timer_lag_ns += lag_ns;
	if (lag_ns > loop->timer_lag_max_ns)
		loop->timer_lag_max_ns = lag_ns;
}

void io_loop_turn(struct io_loop *loop)
{
	int64_t deadline_ns = timer_heap_next(&loop->timers);

	check(loop->wake_fd >= 0);
	look_for_pause(loop, deadline_ns);
	if (loop->yield.head != NULL || loop->done.head != NULL)
		deadline_ns = loop->now_ns;
	loop->turns++;
	wait_and_dispatch(loop, deadline_ns);
	note_lag(loop);
	(void)timer_heap_run(&loop->timers, loop->now_ns, IO_TIMERS_A_TURN); /* the rest comes next turn */
	dispatch_yielded(loop);
}

void io_sock_init(struct io_sock *sock, int fd, bool tcp)
{
	check(fd > 2);
	check(sock->rd == NULL);
	check(sock->wr == NULL);
	sock->fd = fd;
	/* An event whose socket's memory was freed finds 0. */
	if (++sock->gen == 0)
		sock->gen = 1;
	/* A new socket is writable; the first event reports whether it is readable. */
	sock->bits = (uint16_t)(IO_WRITABLE | (tcp ? IO_TCP : 0));
	sock->rd = NULL;
	sock->wr = NULL;
}

int io_attach(struct io_loop *loop, struct io_sock *sock)
{
	check(sock->gen != 0);
	check(sock->rd == NULL && sock->wr == NULL);
	return loop->driver->attach(loop, sock);
}

void io_op_init(struct io_op *op, struct io_sock *sock, void (*done)(struct io_op *op, int result))
{
	memset(op, 0, sizeof(*op));
	op->sock = sock;
	op->done = done;
}

int io_start(struct io_loop *loop, struct io_op *op)
{
	check(op->state == IO_STATE_IDLE);
	check(op->done != NULL);
	check(op->sock->fd >= 0);
	check(op->sock->gen != 0);
	return loop->driver->start(loop, op);
}

void io_cancel(struct io_loop *loop, struct io_op *op)
{
	if (op->state != IO_STATE_WAITING)
		return;
	check(loop->pending > 0);
	loop->driver->cancel(loop, op);
}

void io_forget(struct io_loop *loop, struct io_sock *sock)
{
	check(loop->driver->forget != NULL);
	check(loop->is_down);
	loop->driver->forget(loop, sock);
}

void io_yield(struct io_loop *loop, struct io_op *op, enum io_turn where)
{
	check(op->state == IO_STATE_IDLE);
	op->kind = IO_NONE;
	op->state = IO_STATE_QUEUED;
	op->result = 0;
	loop->pending++;
	if (where == IO_TURN_FIRST)
		queue_push_first(&loop->yield, op);
	else
		queue_push(&loop->yield, op);
}

struct buf *io_buf_keep(struct io_loop *loop, struct io_op *op, uint32_t from)
{
	struct buf *b;

	check(op->kind == IO_READ);
	check(from < op->len);
	b = loop->driver->keep(loop, op, from);
	if (b == NULL)
		return NULL;
	check(b->len == op->len - from);
	check((uint64_t)b->off + b->len <= b->cap);
	return b;
}

void io_complete(struct io_loop *loop, struct io_op *op, int result)
{
	check(op->state == IO_STATE_WAITING);
	check(op->sock->rd != op && op->sock->wr != op);
	check(result != IO_PENDING);
	op->state = IO_STATE_QUEUED;
	op->result = result;
	queue_push(&loop->done, op);
}

uint32_t io_unread(const struct io_sock *sock)
{
	const int n = sys_unread(sock->fd);

	return n > 0 ? (uint32_t)n : 0;
}

uint32_t io_unacked(const struct io_sock *sock)
{
	const int n = sys_unacked(sock->fd);

	return n > 0 ? (uint32_t)n : 0;
}

int io_pipe_read(struct pipe *p, struct buf *b)
{
	const uint32_t room = b->cap - b->off - b->len;
	const uint32_t most = room < p->bytes ? room : p->bytes;
	ssize_t n;

	check(most > 0);
	check(room <= BUF_MAX); /* otherwise it already holds more than it has room for */
	n = sys_read(p->rd, b->data + b->off + b->len, most);
	check(n <= (ssize_t)most);
	if (n > 0) {
		p->bytes -= (uint32_t)n;
		b->len += (uint32_t)n;
	}
	return (int)n;
}
