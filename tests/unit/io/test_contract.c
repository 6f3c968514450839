/* SPDX-License-Identifier: MIT
 *
 * test_contract.c - the contract of io.h, as one suite that every driver must pass.
 *
 * Linked with contract_real.c for the epoll driver over the real kernel, and with the simulator's
 * model for the epoll driver and the fake driver that behaves like a ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "contract.h"

#define K (&contract_kernel)
#define TURNS_MAX 3000
#define HEAP_BYTES (64u * 1024u * 1024u)

/* An op, and what came of it. */
struct probe {
	struct io_op op; /* first: the callback gets it */
	int count;
	int result;
	bool inside;  /* done() came from inside io_start() or io_cancel() */
	uint32_t offset; /* of the next byte read */
	struct buf *kept;
	bool keep;
	int fds[8];
	int fd_count;
	int drained;
	uint32_t spends; /* of the turn's share, in done() */
};

static struct io_loop loop;
static struct pipe_pool pipes;
static struct buf_pool bufs;
static struct io_sock sock;
static int far;
static bool calling;

static void on_done(struct io_op *op, int result)
{
	struct probe *p = (struct probe *)op;

	p->inside |= calling;
	if (op->kind == IO_ACCEPT && result >= 0) {
		assert_true(p->fd_count < 8);
		p->fds[p->fd_count++] = result;
		return;
	}
	if (op->kind == IO_ACCEPT && result == IO_BATCH_END) {
		p->drained++;
		return;
	}
	io_share_spend(&loop, p->spends);
	p->count++;
	p->result = result;
	if (op->kind != IO_READ || result <= 0)
		return;
	assert_int_equal(op->len, result);
	assert_true(K->same(far, op->data, p->offset, op->len));
	p->offset += op->len;
	if (p->keep)
		p->kept = io_buf_keep(&loop, op, 0);
}

static int start(struct probe *p)
{
	int r;

	calling = true;
	r = io_start(&loop, &p->op);
	calling = false;
	return r;
}

static void cancel(struct probe *p)
{
	calling = true;
	io_cancel(&loop, &p->op);
	calling = false;
	assert_false(p->inside);
}

/* Turns until `p` has been called back `count` times; the world moves on in between. */
static void turn_until(const struct probe *p, int count)
{
	int i;

	for (i = 0; i < TURNS_MAX && p->count < count; i++) {
		K->settle();
		io_loop_wake(&loop); /* no wait without an end */
		io_loop_turn(&loop);
	}
	assert_int_equal(p->count, count);
	assert_false(p->inside);
}

static void turns(int n)
{
	while (n-- > 0) {
		K->settle();
		io_loop_wake(&loop);
		io_loop_turn(&loop);
	}
}

/* Starts, waits when it is pending, returns the result. */
static int finish(struct probe *p)
{
	const int before = p->count;
	const int r = start(p);

	if (r != IO_PENDING)
		return r;
	turn_until(p, before + 1);
	return p->result;
}

static void probe_init(struct probe *p)
{
	memset(p, 0, sizeof(*p));
	io_op_init(&p->op, &sock, on_done);
}

static void begin_empty(void)
{
	K->begin();
	pipe_pool_init(&pipes, 64, 65536, UINT64_MAX);
	buf_pool_init(&bufs, HEAP_BYTES);
	assert_int_equal(io_loop_init(&loop, K->driver), 0);
	pipe_cache_init(&loop.pipes, &pipes, 64);
	buf_cache_init(&loop.bufs, &bufs);
	memset(&sock, 0, sizeof(sock));
	sock.fd = -1;
}

static void begin(bool tcp)
{
	int fd;

	begin_empty();
	fd = K->pair(tcp, &far);
	io_sock_init(&sock, fd, tcp);
	assert_int_equal(io_attach(&loop, &sock), 0);
}

/* Ends with the check that every test ends with: nothing is pending, nothing is in use. */
static void end(void)
{
	struct probe p;

	if (sock.fd >= 0) {
		probe_init(&p);
		p.op.kind = IO_CLOSE;
		assert_int_equal(finish(&p), 0);
		assert_int_equal(sock.fd, -1);
	}
	assert_int_equal(loop.pending, 0);
	assert_int_equal(loop.pipes.in_use, 0);
	assert_int_equal(loop.bufs.in_use, 0);
	assert_int_equal(loop.timers.count, 0);
	pipe_cache_free(&loop.pipes);
	io_loop_release(&loop);
	buf_cache_free(&loop.bufs);
	io_loop_free(&loop);
	pipe_pool_free(&pipes);
	buf_pool_free(&bufs);
	K->end();
}

static int read_some(struct probe *p, uint32_t max)
{
	const uint32_t before = p->offset;
	int r;

	p->op.kind = IO_READ;
	p->op.max = max;
	r = start(p);
	if (r > 0) {
		/* A result of io_start() lends until we return: the callback has not seen it. */
		assert_int_equal(p->offset, before);
		assert_true(K->same(far, p->op.data, p->offset, p->op.len));
		p->offset += p->op.len;
		if (p->keep)
			p->kept = io_buf_keep(&loop, &p->op, 0);
		return r;
	}
	if (r != IO_PENDING)
		return r;
	turn_until(p, p->count + 1);
	return p->result;
}

static void read_all(struct probe *p, uint32_t n)
{
	while (p->offset < n)
		assert_true(read_some(p, 65536) > 0);
	assert_int_equal(p->offset, n);
}

/* ---- reading ---- */

static void read_gives_what_was_sent_and_then_waits(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	K->far_send(far, 5000);
	read_all(&p, 5000);
	p.op.kind = IO_READ;
	p.op.max = 65536;
	assert_int_equal(start(&p), IO_PENDING);
	turns(3);
	assert_true(io_is_pending(&p.op));
	K->far_send(far, 10);
	turn_until(&p, p.count + 1);
	assert_int_equal(p.offset, 5010);
	assert_false(io_is_pending(&p.op));
	end();
}

static void read_honours_its_bound(void **state)
{
	struct probe p;

	(void)state;
	begin(false);
	probe_init(&p);
	K->far_send(far, 100);
	while (p.offset < 100)
		assert_in_range(read_some(&p, 7), 1, 7);
	end();
}

static void read_says_end_of_file_behind_the_last_byte(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	K->far_send(far, 3000);
	K->far_fin(far);
	read_all(&p, 3000);
	assert_int_equal(read_some(&p, 65536), 0);
	assert_int_equal(read_some(&p, 65536), 0);
	end();
}

static void read_gives_all_bytes_before_a_reset(void **state)
{
	struct probe p;
	int r;

	(void)state;
	begin(true);
	probe_init(&p);
	K->far_send(far, 3000);
	K->settle();
	turns(2);
	K->far_reset(far);
	read_all(&p, 3000);
	r = read_some(&p, 65536);
	assert_true(r == -ECONNRESET || r == 0);
	assert_true(sock.bits & IO_ERR);
	end();
}

static void read_passes_an_urgent_mark_in_band(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	K->far_send(far, 100);
	K->far_urgent(far);
	K->far_send(far, 100);
	K->far_fin(far);
	read_all(&p, 201);
	assert_int_equal(read_some(&p, 65536), 0);
	end();
}

static void kept_bytes_stay_what_they_were(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	p.keep = true;
	K->far_send(far, 4000);
	K->settle();
	turns(1);
	assert_true(read_some(&p, 4000) > 0);
	assert_non_null(p.kept);
	p.keep = false;
	K->far_send(far, 4000);
	read_all(&p, 8000);
	assert_true(K->same(far, p.kept->data + p.kept->off, 0, p.kept->len));
	buf_put(&loop.bufs, p.kept);
	end();
}

/* ---- writing ---- */

static void write_reaches_the_far_end(void **state)
{
	static uint8_t data[20000];
	struct probe p;
	uint32_t done = 0;
	uint32_t got = 0;
	int r;

	(void)state;
	begin(true);
	probe_init(&p);
	K->fill(far, data, 0, sizeof(data));
	while (done < sizeof(data)) {
		p.op.kind = IO_WRITE;
		p.op.flags = 0;
		p.op.data = data + done;
		p.op.len = (uint32_t)sizeof(data) - done;
		r = finish(&p);
		assert_true(r > 0);
		done += (uint32_t)r;
	}
	while (got < sizeof(data)) {
		K->settle();
		r = K->far_read(far, 65536);
		if (r > 0)
			got += (uint32_t)r;
		else
			assert_int_equal(r, -EAGAIN);
	}
	end();
}

/* Writes until a write is pending; returns what went out before it. */
static uint32_t write_until_full(struct probe *p, uint8_t *data, uint32_t room)
{
	uint32_t done = 0;
	int r;
	int i;

	for (i = 0; i < TURNS_MAX; i++) {
		K->fill(far, data, done, room);
		p->op.kind = IO_WRITE;
		p->op.flags = 0;
		p->op.data = data;
		p->op.len = room;
		r = start(p);
		if (r == IO_PENDING) {
			const int before = p->count;

			turns(20);
			if (p->count == before)
				return done;
			r = p->result;
		}
		assert_true(r > 0);
		done += (uint32_t)r;
	}
	fail_msg("%s", "the far end never reads, and still it is never full");
	return 0;
}

static void write_waits_while_the_far_end_does_not_read(void **state)
{
	static uint8_t data[65536];
	struct probe p;
	uint32_t done;
	uint32_t got = 0;
	int r;
	int i;

	(void)state;
	begin(true);
	probe_init(&p);
	done = write_until_full(&p, data, sizeof(data));
	assert_true(io_is_pending(&p.op));
	for (i = 0; i < TURNS_MAX && io_is_pending(&p.op); i++) {
		r = K->far_read(far, 65536);
		if (r > 0)
			got += (uint32_t)r;
		turns(1);
	}
	assert_true(p.result > 0);
	assert_true(got > 0);
	assert_true(got <= done + (uint32_t)p.result);
	end();
}

static void a_lent_write_never_loses_what_it_refuses(void **state)
{
	struct probe rd;
	struct probe wr;
	int r;

	(void)state;
	begin(true);
	probe_init(&rd);
	probe_init(&wr);
	/* The far end's bytes go back to it: both streams have the same content. */
	rd.keep = false;
	K->far_send(far, 1000);
	K->settle();
	turns(1);
	rd.op.kind = IO_READ;
	rd.op.max = 65536;
	r = start(&rd);
	if (r == IO_PENDING) {
		rd.keep = true; /* lent to the callback only: keep it there */
		turn_until(&rd, 1);
		wr.op.data = rd.kept->data + rd.kept->off;
		wr.op.len = rd.kept->len;
		wr.op.flags = 0;
	} else {
		wr.op.data = rd.op.data;
		wr.op.len = (uint32_t)r;
		wr.op.flags = IO_LENT;
	}
	wr.op.kind = IO_WRITE;
	r = start(&wr);
	if (r == IO_PENDING) {
		if (rd.kept == NULL) {
			rd.kept = io_buf_keep(&loop, &rd.op, 0);
			/* The memory does not move. */
			assert_ptr_equal(rd.kept->data + rd.kept->off, wr.op.data);
		}
		turn_until(&wr, 1);
		r = wr.result;
	}
	assert_true(r > 0 || r == -EAGAIN);
	if (rd.kept != NULL)
		buf_put(&loop.bufs, rd.kept);
	end();
}

/* ---- cancelling ---- */

static void a_cancelled_read_completes_exactly_once(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	p.op.kind = IO_READ;
	p.op.max = 65536;
	assert_int_equal(start(&p), IO_PENDING);
	turns(1);
	cancel(&p);
	assert_int_equal(p.count, 0);
	assert_true(io_is_pending(&p.op));
	cancel(&p);
	turn_until(&p, 1);
	assert_int_equal(p.result, -ECANCELED);
	assert_false(io_is_pending(&p.op));
	turns(5);
	assert_int_equal(p.count, 1);
	/* The socket is as good as before. */
	K->far_send(far, 100);
	read_all(&p, 100);
	end();
}

static void a_cancel_may_lose_against_the_result_but_loses_no_byte(void **state)
{
	struct probe p;
	int r;

	(void)state;
	begin(true);
	probe_init(&p);
	p.op.kind = IO_READ;
	p.op.max = 65536;
	r = start(&p);
	assert_int_equal(r, IO_PENDING);
	K->far_send(far, 100);
	K->settle();
	cancel(&p);
	turn_until(&p, 1);
	assert_true(p.result == -ECANCELED || p.result > 0);
	read_all(&p, 100);
	end();
}

static void a_cancelled_write_gives_its_memory_back(void **state)
{
	static uint8_t data[65536];
	struct probe p;
	int before;

	(void)state;
	begin(true);
	probe_init(&p);
	(void)write_until_full(&p, data, sizeof(data));
	before = p.count;
	cancel(&p);
	turn_until(&p, before + 1);
	assert_true(p.result == -ECANCELED || p.result > 0);
	assert_false(io_is_pending(&p.op));
	end();
}

/* ---- readiness ---- */

static void ready_tells_of_bytes_and_leaves_them(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	p.op.kind = IO_READY;
	p.op.want = IO_WANT_IN;
	assert_int_equal(start(&p), IO_PENDING);
	turns(2);
	assert_int_equal(p.count, 0);
	K->far_send(far, 100);
	turn_until(&p, 1);
	assert_int_equal(p.result, IO_WANT_IN);
	read_all(&p, 100);
	end();
}

static void ready_for_errors_sleeps_through_bytes_and_fin(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	p.op.kind = IO_READY;
	p.op.want = IO_WANT_ERR;
	assert_int_equal(start(&p), IO_PENDING);
	K->far_send(far, 100);
	turns(3);
	assert_int_equal(p.count, 0);
	K->far_reset(far);
	turn_until(&p, 1);
	assert_int_equal(p.result, IO_WANT_ERR);
	read_all(&p, 100);
	end();
}

static void both_places_of_a_socket_wait_side_by_side(void **state)
{
	static uint8_t data[65536];
	struct probe rd;
	struct probe wr;
	int before;
	int i;

	(void)state;
	begin(true);
	probe_init(&rd);
	probe_init(&wr);
	(void)write_until_full(&wr, data, sizeof(data));
	before = wr.count;
	rd.op.kind = IO_READ;
	rd.op.max = 65536;
	assert_int_equal(start(&rd), IO_PENDING);
	K->far_send(far, 100);
	turn_until(&rd, 1);
	assert_int_equal(rd.offset, 100);
	assert_int_equal(wr.count, before);
	for (i = 0; i < TURNS_MAX && wr.count == before; i++) {
		(void)K->far_read(far, 65536); /* it may have nothing at this moment */
		turns(1);
	}
	assert_true(wr.result > 0);
	end();
}

/* ---- events that come beside each other ---- */

/* What happens while the results of one wait are being handed out: between two of them, perhaps. */
static uint32_t sends_meanwhile;
static struct probe *cancels_meanwhile;

static void on_woken(struct io_loop *l)
{
	uint8_t stolen[16];

	(void)l;
	if (sends_meanwhile > 0) {
		K->far_send(far, sends_meanwhile);
		sends_meanwhile = 0;
	}
	if (cancels_meanwhile != NULL) {
		(void)sys_recv(sock.fd, stolen, sizeof(stolen), 0); /* a wake-up that was about nothing */
		cancel(cancels_meanwhile);
		cancels_meanwhile = NULL;
	}
}

/* Woken before anything else comes; in which order it is told is the driver's affair. */
static void wake_first(void)
{
	loop.woken = on_woken;
	io_loop_wake(&loop);
}

static void turn_until_woken(void)
{
	for (int i = 0; i < TURNS_MAX && (sends_meanwhile > 0 || cancels_meanwhile != NULL); i++)
		turns(1);
	assert_int_equal(sends_meanwhile, 0);
	assert_null(cancels_meanwhile);
}

/* Fills the send queue behind the driver's back. */
static void fill_unseen(void)
{
	static uint8_t data[65536];
	uint32_t done = 0;
	ssize_t n;

	for (int quiet = 0; quiet < 10; quiet++) {
		K->settle();
		K->fill(far, data, done, sizeof(data));
		n = sys_send(sock.fd, data, sizeof(data));
		if (n == -EAGAIN) {
			if (K->is_under_way(sock.fd))
				quiet = 0;
			continue;
		}
		assert_true(n > 0);
		done += (uint32_t)n;
		quiet = 0;
	}
}

/* The read was asked for before anybody watched the socket; an event is told once. */
static void what_comes_while_a_socket_begins_to_be_watched_is_read(void **state)
{
	static uint8_t data[100];
	struct probe rd;
	struct probe wr;

	(void)state;
	for (int i = 0; i < 20; i++) {
		begin(true);
		probe_init(&rd);
		probe_init(&wr);
		rd.op.kind = IO_READ;
		rd.op.max = 65536;
		assert_int_equal(start(&rd), IO_PENDING);
		turns(1);
		fill_unseen();
		wr.op.kind = IO_WRITE;
		wr.op.data = data;
		wr.op.len = sizeof(data);
		assert_int_equal(start(&wr), IO_PENDING);
		turns(3);
		sends_meanwhile = 10;
		wake_first();
		K->far_send(far, 10);
		turn_until(&rd, 1);
		turn_until_woken();
		read_all(&rd, 20);
		cancel(&wr);
		turn_until(&wr, 1);
		end();
	}
}

static void ready_for_errors_hears_of_a_reset_that_something_else_waits_for(void **state)
{
	static uint8_t data[100];
	struct probe rd;
	struct probe wr;
	int r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		begin(true);
		probe_init(&rd);
		probe_init(&wr);
		fill_unseen();
		rd.op.kind = IO_READY;
		rd.op.want = IO_WANT_ERR;
		assert_int_equal(start(&rd), IO_PENDING);
		wr.op.kind = IO_WRITE;
		wr.op.data = data;
		wr.op.len = sizeof(data);
		r = start(&wr);
		assert_int_equal(r, IO_PENDING);
		turns(2); /* less than any watch is put off */
		assert_int_equal(rd.count, 0);
		K->far_reset(far);
		turn_until(&rd, 1);
		assert_int_equal(rd.result, IO_WANT_ERR);
		turn_until(&wr, 1);
		assert_true(wr.result < 0);
		end();
	}
}

/* ---- connect and accept ---- */

static void connect_succeeds_or_says_why_not(void **state)
{
	struct addr to;
	struct probe p;

	(void)state;
	begin_empty();
	K->answering(&to);
	io_sock_init(&sock, K->socket(&to), true);
	probe_init(&p);
	p.op.kind = IO_CONNECT;
	p.op.addr = &to;
	assert_int_equal(finish(&p), 0);
	far = K->far_accept();
	K->far_send(far, 10);
	read_all(&p, 10);
	end();

	begin_empty();
	K->refusing(&to);
	io_sock_init(&sock, K->socket(&to), true);
	probe_init(&p);
	p.op.kind = IO_CONNECT;
	p.op.addr = &to;
	assert_int_equal(finish(&p), -ECONNREFUSED);
	end();
}

static void connect_answering(struct probe *p)
{
	struct addr to;

	begin_empty();
	K->answering(&to);
	io_sock_init(&sock, K->socket(&to), true);
	probe_init(p);
	p->op.kind = IO_CONNECT;
	p->op.addr = &to;
	assert_int_equal(finish(p), 0);
	far = K->far_accept();
	probe_init(p);
}

static void a_cancel_between_a_wake_up_and_its_try_is_not_forgotten(void **state)
{
	static const uint8_t kinds[] = {IO_READ, IO_READY};
	struct probe p;

	(void)state;
	for (int i = 0; i < 20; i++) {
		connect_answering(&p);
		p.op.kind = kinds[i % 2];
		if (p.op.kind == IO_READ)
			p.op.max = 65536;
		else
			p.op.want = IO_WANT_IN;
		assert_int_equal(start(&p), IO_PENDING);
		turns(2);
		cancels_meanwhile = &p;
		wake_first();
		K->far_send(far, 10);
		turn_until(&p, 1);
		turn_until_woken();
		turns(3);
		assert_int_equal(p.count, 1);
		assert_false(io_is_pending(&p.op));
		end();
	}
}

/* What can be pending, and is cancelled in each turn from the first on. */
static void start_pending(struct probe *p, int what)
{
	static uint8_t data[65536];

	switch (what) {
	case 0:
		begin(true);
		probe_init(p);
		p->op.kind = IO_READ;
		p->op.max = 65536;
		break;
	case 1:
		connect_answering(p); /* a server speaks second */
		p->op.kind = IO_READ;
		p->op.max = 65536;
		break;
	case 2:
	case 3:
		begin(true);
		probe_init(p);
		p->op.kind = IO_READY;
		p->op.want = what == 2 ? IO_WANT_IN : IO_WANT_ERR;
		break;
	default:
		begin(true);
		probe_init(p);
		fill_unseen();
		p->op.kind = IO_WRITE;
		p->op.data = data;
		p->op.len = sizeof(data);
		break;
	}
	assert_int_equal(start(p), IO_PENDING);
}

static void a_cancel_ends_an_op_in_whichever_turn_it_comes(void **state)
{
	struct probe p;

	(void)state;
	for (int i = 0; i < 5 * 5 * 2; i++) {
		const bool speaks = i % 2 == 1;

		start_pending(&p, i / 10);
		turns(i / 2 % 5);
		if (speaks)
			K->far_send(far, 10);
		cancel(&p);
		turn_until(&p, 1);
		assert_false(io_is_pending(&p.op));
		assert_true(p.result == -ECANCELED || (speaks && p.result > 0));
		turns(3);
		assert_int_equal(p.count, 1);
		if (speaks)
			read_all(&p, 10); /* or it has read them already */
		end();
	}
}

static int admit_left;

static bool admit_some(struct io_op *op)
{
	(void)op;
	return admit_left-- > 0;
}

static void accept_is_a_stream_with_one_last_result(void **state)
{
	struct addr a;
	struct probe p;
	int i;

	(void)state;
	begin_empty();
	io_sock_init(&sock, K->listener(&a), true);
	probe_init(&p);
	p.op.kind = IO_ACCEPT;
	p.op.admit = admit_some;
	admit_left = 100;
	assert_int_equal(start(&p), IO_PENDING);
	for (i = 0; i < 3; i++)
		assert_true(K->far_connect(&a) >= 0);
	for (i = 0; i < TURNS_MAX && (p.fd_count < 3 || p.drained == 0); i++)
		turns(1);
	assert_int_equal(p.fd_count, 3);
	assert_true(p.drained > 0);
	assert_int_equal(p.count, 0);
	assert_true(io_is_pending(&p.op));
	cancel(&p);
	turn_until(&p, 1);
	assert_int_equal(p.result, -ECANCELED);
	assert_false(io_is_pending(&p.op));
	for (i = 0; i < p.fd_count; i++)
		sys_close(p.fds[i]);
	end();
}

static void accept_takes_nobody_who_was_not_admitted(void **state)
{
	struct addr a;
	struct probe p;
	int i;

	(void)state;
	begin_empty();
	io_sock_init(&sock, K->listener(&a), true);
	probe_init(&p);
	p.op.kind = IO_ACCEPT;
	p.op.admit = admit_some;
	admit_left = 2;
	assert_int_equal(start(&p), IO_PENDING);
	for (i = 0; i < 3; i++)
		assert_true(K->far_connect(&a) >= 0);
	turns(10);
	assert_int_equal(p.fd_count, 2);
	/* Who waits already is taken at the cancel when there is room again: no client is lost. */
	admit_left = 1;
	cancel(&p);
	turn_until(&p, 1);
	assert_int_equal(p.fd_count, 3);
	for (i = 0; i < p.fd_count; i++)
		sys_close(p.fds[i]);
	end();
}

/* ---- splice ---- */

static int splice_in(struct probe *p, struct pipe *pipe)
{
	p->op.kind = IO_SPLICE_IN;
	p->op.pipe = pipe;
	p->op.max = pipe->cap;
	return start(p);
}

static void wait_ready(struct probe *p, uint8_t want)
{
	p->op.kind = IO_READY;
	p->op.want = want;
	assert_true(finish(p) > 0);
}

static void splice_moves_bytes_and_says_when_there_are_none(void **state)
{
	struct pipe *pipe;
	struct probe in;
	struct probe out;
	uint32_t moved = 0;
	uint32_t got = 0;
	int r;

	(void)state;
	begin(true);
	probe_init(&in);
	probe_init(&out);
	pipe = pipe_get(&loop.pipes);
	assert_non_null(pipe);
	assert_int_equal(splice_in(&in, pipe), -EAGAIN);
	K->far_send(far, 10000);
	while (moved < 10000) {
		wait_ready(&in, IO_WANT_IN);
		r = splice_in(&in, pipe);
		if (r == -EAGAIN)
			continue;
		assert_true(r > 0);
		pipe->bytes += (uint32_t)r;
		moved += (uint32_t)r;
		while (pipe->bytes > 0) {
			out.op.kind = IO_SPLICE_OUT;
			out.op.pipe = pipe;
			out.op.max = pipe->bytes;
			r = start(&out);
			if (r == -EAGAIN) {
				wait_ready(&out, IO_WANT_OUT);
				continue;
			}
			assert_true(r > 0);
			pipe->bytes -= (uint32_t)r;
		}
	}
	while (got < 10000) {
		K->settle();
		r = K->far_read(far, 65536);
		if (r > 0)
			got += (uint32_t)r;
		else
			assert_int_equal(r, -EAGAIN);
	}
	pipe_put(&loop.pipes, pipe);
	end();
}

static void splice_leaves_urgent_marks_and_the_end_to_the_right_call(void **state)
{
	struct pipe *pipe;
	struct probe p;
	int r = 1;
	int i;

	(void)state;
	begin(true);
	probe_init(&p);
	pipe = pipe_get(&loop.pipes);
	K->far_send(far, 100);
	K->far_urgent(far);
	K->far_send(far, 50);
	K->far_fin(far);
	for (i = 0; i < TURNS_MAX && r != 0; i++) {
		wait_ready(&p, IO_WANT_IN);
		r = splice_in(&p, pipe);
		if (r == IO_COPY) {
			r = read_some(&p, 65536);
		} else if (r > 0) {
			/* In a pool's pipe nothing may stay: read it out and count it. */
			struct buf *b = buf_get(&loop.bufs, 4096);

			pipe->bytes += (uint32_t)r;
			assert_int_equal(io_pipe_read(pipe, b), r);
			assert_true(K->same(far, b->data, p.offset, b->len));
			p.offset += b->len;
			buf_put(&loop.bufs, b);
		}
	}
	assert_int_equal(p.offset, 151);
	pipe_put(&loop.pipes, pipe);
	end();
}

/* ---- endings, time ---- */

static void shutdown_is_seen_behind_all_bytes(void **state)
{
	static uint8_t data[1000];
	struct probe p;
	uint32_t got = 0;
	int r;

	(void)state;
	begin(true);
	probe_init(&p);
	K->fill(far, data, 0, sizeof(data));
	p.op.kind = IO_WRITE;
	p.op.data = data;
	p.op.len = sizeof(data);
	r = finish(&p);
	assert_true(r > 0);
	p.op.kind = IO_SHUTDOWN;
	assert_int_equal(finish(&p), 0);
	do {
		K->settle();
		turns(1);
		assert_true(got <= (uint32_t)r);
		p.result = K->far_read(far, 65536);
		got += p.result > 0 ? (uint32_t)p.result : 0;
	} while (p.result == -EAGAIN || p.result > 0);
	assert_int_equal(p.result, 0);
	assert_int_equal(got, r);
	end();
}

static void reset_is_seen_as_reset(void **state)
{
	struct probe p;
	int r;

	(void)state;
	begin(true);
	probe_init(&p);
	p.op.kind = IO_RESET;
	p.op.flags = 0;
	assert_int_equal(finish(&p), 0);
	assert_int_equal(sock.fd, -1);
	do {
		turns(1); /* it is closed when the loop waits next, at the latest */
		r = K->far_read(far, 65536);
	} while (r == -EAGAIN);
	assert_int_equal(r, -ECONNRESET);
	end();
}

static void a_draining_reset_comes_behind_all_bytes(void **state)
{
	static uint8_t data[65536];
	struct probe p;
	uint32_t sent;
	uint32_t got = 0;
	int before;
	int r = 0;
	int i;

	(void)state;
	begin(true);
	probe_init(&p);
	sent = write_until_full(&p, data, sizeof(data));
	before = p.count;
	cancel(&p);
	turn_until(&p, before + 1);
	if (p.result > 0)
		sent += (uint32_t)p.result;
	p.op.kind = IO_RESET;
	p.op.flags = IO_FLUSH;
	before = p.count;
	r = start(&p);
	assert_int_equal(r, IO_PENDING);
	turns(20);
	assert_int_equal(p.count, before);
	for (i = 0; i < 100 * TURNS_MAX && r != -ECONNRESET; i++) {
		r = K->far_read(far, 65536);
		if (r > 0)
			got += (uint32_t)r;
		else
			turns(1);
	}
	assert_int_equal(r, -ECONNRESET);
	assert_int_equal(got, sent);
	assert_int_equal(p.count, before + 1);
	assert_int_equal(p.result, 0);
	end();
}

static void yield_comes_in_the_next_turn(void **state)
{
	struct probe p;

	(void)state;
	begin(true);
	probe_init(&p);
	calling = true;
	io_yield(&loop, &p.op, IO_TURN_LAST);
	calling = false;
	assert_int_equal(p.count, 0);
	io_loop_turn(&loop); /* no wake-up: a yielded op must not let the wait sleep */
	assert_int_equal(p.count, 1);
	assert_int_equal(p.result, 0);
	assert_false(p.inside);
	end();
}

static void who_yields_first_goes_first_while_the_share_lasts(void **state)
{
	struct probe p[3];
	int i;

	(void)state;
	begin(true);
	for (i = 0; i < 3; i++)
		probe_init(&p[i]);
	calling = true;
	io_yield(&loop, &p[1].op, IO_TURN_LAST);
	io_yield(&loop, &p[2].op, IO_TURN_LAST);
	io_yield(&loop, &p[0].op, IO_TURN_FIRST);
	calling = false;
	p[1].spends = IO_SHARE_BYTES; /* the next must wait */
	io_loop_turn(&loop);
	assert_int_equal(p[0].count, 1);
	assert_int_equal(p[1].count, 1);
	assert_int_equal(p[2].count, 0);
	io_loop_turn(&loop);
	assert_int_equal(p[2].count, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_gives_what_was_sent_and_then_waits),
		cmocka_unit_test(read_honours_its_bound),
		cmocka_unit_test(read_says_end_of_file_behind_the_last_byte),
		cmocka_unit_test(read_gives_all_bytes_before_a_reset),
		cmocka_unit_test(read_passes_an_urgent_mark_in_band),
		cmocka_unit_test(kept_bytes_stay_what_they_were),
		cmocka_unit_test(write_reaches_the_far_end),
		cmocka_unit_test(write_waits_while_the_far_end_does_not_read),
		cmocka_unit_test(a_lent_write_never_loses_what_it_refuses),
		cmocka_unit_test(a_cancelled_read_completes_exactly_once),
		cmocka_unit_test(a_cancel_may_lose_against_the_result_but_loses_no_byte),
		cmocka_unit_test(a_cancelled_write_gives_its_memory_back),
		cmocka_unit_test(ready_tells_of_bytes_and_leaves_them),
		cmocka_unit_test(ready_for_errors_sleeps_through_bytes_and_fin),
		cmocka_unit_test(both_places_of_a_socket_wait_side_by_side),
		cmocka_unit_test(what_comes_while_a_socket_begins_to_be_watched_is_read),
		cmocka_unit_test(ready_for_errors_hears_of_a_reset_that_something_else_waits_for),
		cmocka_unit_test(connect_succeeds_or_says_why_not),
		cmocka_unit_test(a_cancel_between_a_wake_up_and_its_try_is_not_forgotten),
		cmocka_unit_test(a_cancel_ends_an_op_in_whichever_turn_it_comes),
		cmocka_unit_test(accept_is_a_stream_with_one_last_result),
		cmocka_unit_test(accept_takes_nobody_who_was_not_admitted),
		cmocka_unit_test(splice_moves_bytes_and_says_when_there_are_none),
		cmocka_unit_test(splice_leaves_urgent_marks_and_the_end_to_the_right_call),
		cmocka_unit_test(shutdown_is_seen_behind_all_bytes),
		cmocka_unit_test(reset_is_seen_as_reset),
		cmocka_unit_test(a_draining_reset_comes_behind_all_bytes),
		cmocka_unit_test(yield_comes_in_the_next_turn),
		cmocka_unit_test(who_yields_first_goes_first_while_the_share_lasts),
	};

	return cmocka_run_group_tests_name(contract_kernel.name, tests, NULL, NULL);
}
