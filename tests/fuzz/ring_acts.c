/* SPDX-License-Identifier: MIT
 *
 * ring_acts.c - what the small engine of ring_engine.h does: the next byte says.
 *
 * One thread. Tests only.
 */
#include <string.h>
#include <sys/epoll.h>

#include "ring_engine.h"
#include "ring_shim.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define WRITE_MAX 70000
/* Calm turns until everything has ended: cancels, then closes, then what they left behind. */
#define END_TURNS 64

static uint8_t memory[WRITE_MAX];
static const struct addr tcp_addr = {.len = sizeof(struct sockaddr_in), .in = {.sin_family = AF_INET}};
static const struct addr unix_addr = {.len = sizeof(struct sockaddr_un), .un = {.sun_family = AF_UNIX}};

/* ---- beginnings ---- */

static void connect_side(struct side *s, bool tcp)
{
	int r;

	engine_open(s, shim_open(SHIM_SOCKET), tcp);
	s->state = SIDE_CONNECTING;
	s->wr.op.kind = IO_CONNECT;
	s->wr.op.flags = 0;
	s->wr.op.addr = tcp ? &tcp_addr : &unix_addr;
	r = engine_start(&s->wr);
	if (r != IO_PENDING)
		engine_judge_connected(s, r);
}

static bool admit(struct io_op *op)
{
	(void)op;
	return !shim_is_calm() && shim_byte() < 192;
}

static void listen_start(struct side *s)
{
	int r;

	if (s->sock.fd < 0) {
		engine_open(s, shim_open(SHIM_LISTENER), true);
		s->state = SIDE_OPEN;
	}
	if (s->rd.pending || s->wr.pending)
		return;
	s->rd.op.kind = IO_ACCEPT;
	s->rd.op.admit = admit;
	r = engine_start(&s->rd);
	check(r == IO_PENDING || engine_is_errno(r));
}

/* ---- bytes ---- */

static void start_write(struct side *s, const uint8_t *data, uint32_t len, int kept)
{
	struct probe *p = &s->wr;
	int r;

	p->op.kind = IO_WRITE;
	p->op.flags = shim_chance(32) ? IO_LAST : 0;
	p->op.data = data;
	p->op.len = len;
	p->kept = kept;
	if (kept >= 0)
		engine.kept[kept].busy = true;
	r = engine_start(p);
	if (r != IO_PENDING)
		engine_judge_written(p, r);
}

/* Bytes are lent: they go to `to` at once, and what it refuses is kept. Was anything kept? */
static bool write_lent(struct probe *rd, struct side *to)
{
	struct probe *p = &to->wr;
	const uint8_t *data = rd->op.data;
	int r;
	int at;

	p->op.kind = IO_WRITE;
	p->op.flags = (uint8_t)(IO_LENT | (shim_chance(32) ? IO_LAST : 0));
	p->op.data = data;
	p->op.len = rd->op.len;
	p->kept = -1;
	r = engine_start(p);
	if (r == IO_PENDING) {
		at = engine_keep(rd, 0);
		check(at >= 0);
		check(engine.kept[at].buf->data + engine.kept[at].buf->off == data);
		engine.kept[at].busy = true;
		p->kept = at;
		return true;
	}
	if (r != -EAGAIN)
		engine_judge_written(p, r);
	if (r == -EAGAIN || (r >= 0 && (uint32_t)r < rd->op.len))
		return engine_keep(rd, r > 0 ? (uint32_t)r : 0) >= 0; /* the pool may have none */
	return false;
}

static bool may_write(const struct side *s)
{
	return s->state == SIDE_OPEN && !s->wr.pending;
}

/* Is there room for the keep that must not fail? */
static bool has_room(void)
{
	for (int i = 0; i < KEPT; i++)
		if (engine.kept[i].buf == NULL)
			return true;
	return false;
}

void engine_use_lent(struct probe *p)
{
	const uint8_t b = shim_byte();
	const uint8_t *data = p->op.data;
	const uint32_t len = p->op.len;
	const uint64_t sum = shim_sum(data, len);
	struct side *to = &engine.sides[b % SIDES];
	bool is_kept = false;

	engine.lent = true;
	if (b >= 128 && may_write(to) && has_room())
		is_kept = write_lent(p, to);
	else if (b >= 96)
		is_kept = engine_keep(p, b & 1 ? 0 : shim_length(len) - 1) >= 0;
	if (shim_chance(64))
		engine_act();
	engine.lent = false;
	if (!is_kept) /* else it may be somebody else's by now */
		check(shim_sum(data, len) == sum);
}

static void start_read(struct side *s)
{
	int r;

	s->rd.op.kind = IO_READ;
	s->rd.op.flags = 0;
	s->rd.op.max = shim_length(IO_SCRATCH_BYTES);
	r = engine_start(&s->rd);
	if (r == IO_PENDING)
		return;
	engine_judge_read(&s->rd, r);
	if (r > 0)
		engine_use_lent(&s->rd);
}

static void start_ready(struct side *s, struct probe *p, uint8_t want)
{
	int r;

	p->op.kind = IO_READY;
	p->op.flags = 0;
	p->op.want = want;
	r = engine_start(p);
	if (r != IO_PENDING)
		engine_judge_ready(p, r);
	check(s->sock.fd >= 0);
}

static void splice(struct side *s, struct side *to)
{
	struct pipe *pipe = s->pipe;
	int r;

	if (pipe == NULL)
		pipe = s->pipe = pipe_get(&engine.loop->pipes);
	if (pipe == NULL)
		return;
	if (pipe->bytes == 0 && !s->rd.pending) {
		s->rd.op.kind = IO_SPLICE_IN;
		s->rd.op.pipe = pipe;
		s->rd.op.max = pipe->cap;
		r = engine_start(&s->rd);
		check(engine_is_errno(r) || r == IO_COPY || r == IO_UNSPLICEABLE ||
		      (r >= 0 && (uint32_t)r <= pipe->cap));
		pipe->bytes = r > 0 ? (uint32_t)r : 0;
		s->got += pipe->bytes;
	} else if (pipe->bytes > 0 && may_write(to)) {
		to->wr.op.kind = IO_SPLICE_OUT;
		to->wr.op.pipe = pipe;
		to->wr.op.max = pipe->bytes;
		r = engine_start(&to->wr);
		check(engine_is_errno(r) || r == IO_UNSPLICEABLE || (r > 0 && (uint32_t)r <= pipe->bytes));
		pipe->bytes -= r > 0 ? (uint32_t)r : 0;
		to->put += r > 0 ? (uint32_t)r : 0;
	}
	if (pipe->bytes == 0 && shim_chance(128)) {
		pipe_put(&engine.loop->pipes, pipe);
		s->pipe = NULL;
	}
}

static void shut(struct side *s)
{
	int r;

	s->wr.op.kind = IO_SHUTDOWN;
	s->wr.op.flags = 0;
	r = engine_start(&s->wr);
	check(r == IO_PENDING || r == 0 || engine_is_errno(r));
}

/* ---- what is done ---- */

static void write_something(struct side *s)
{
	const int at = shim_chance(128) ? engine_find_kept(true) : -1;
	const struct buf *b = at >= 0 ? engine.kept[at].buf : NULL;

	if (b != NULL)
		start_write(s, b->data + b->off, b->len, at);
	else
		start_write(s, memory, shim_length(sizeof(memory)), -1);
}

static void read_side(struct side *s, uint8_t how)
{
	static const uint8_t wants[] = {IO_WANT_IN, IO_WANT_ERR, IO_WANT_IN | IO_WANT_END,
					IO_WANT_ERR | IO_WANT_END};

	if (s->state != SIDE_OPEN || s->rd.pending)
		return;
	if (how >= 4)
		start_ready(s, &s->rd, wants[how % 4]);
	else if (!engine.lent)
		start_read(s);
}

static void write_side(struct side *s, uint8_t how)
{
	if (!may_write(s))
		return;
	if (how < 4)
		write_something(s);
	else if (how < 6)
		start_ready(s, &s->wr, IO_WANT_OUT);
	else
		shut(s);
}

static void begin_side(struct side *s, uint8_t how)
{
	if (s->state != SIDE_NONE)
		return;
	if (how < 4)
		engine_attach(s, shim_open(SHIM_SOCKET), how & 1);
	else
		connect_side(s, how & 1);
}

static void end_side(struct side *s, uint8_t how)
{
	engine_cancel(&s->rd);
	engine_cancel(&s->wr);
	engine_end(s, how < 4 ? IO_CLOSE : IO_RESET, how >= 6 ? IO_FLUSH : 0);
}

static void on_yielded(struct io_op *op, int r)
{
	(void)op;
	check(!engine.calling);
	check(engine.is_yielded);
	check(r == 0);
	engine.is_yielded = false;
	if (shim_chance(128))
		engine_act();
}

static void do_else(uint8_t how)
{
	struct side *l = &engine.listeners[how % LISTENERS];
	int at;

	switch (how / 2) {
	case 0:
		listen_start(l);
		return;
	case 1:
	case 2:
		at = engine_find_kept(true);
		if (at >= 0)
			engine_put(at);
		return;
	default:
		if (how & 1) {
			io_loop_wake(engine.loop);
		} else if (!engine.is_yielded) {
			engine.is_yielded = true;
			io_yield(engine.loop, &engine.yielded, IO_TURN_LAST);
		}
	}
}

void engine_act(void)
{
	const uint8_t b = shim_byte(), how = shim_byte() % 8;
	struct side *s = &engine.sides[b % SIDES];

	switch (b / 16) {
	case 0:
	case 1:
		begin_side(s, how);
		return;
	case 2:
	case 3:
	case 4:
	case 5:
		read_side(s, how);
		return;
	case 6:
	case 7:
	case 8:
		write_side(s, how);
		return;
	case 9:
		if (s->state == SIDE_OPEN)
			splice(s, &engine.sides[how % SIDES]);
		return;
	case 10:
		engine_cancel(how & 1 ? &s->rd : &s->wr);
		return;
	case 11:
	case 12:
		end_side(s, how);
		return;
	case 13:
		engine_cancel(&engine.listeners[how % LISTENERS].rd);
		if (how >= 6)
			engine_end(&engine.listeners[how % LISTENERS], IO_CLOSE, 0);
		return;
	default:
		do_else(how);
	}
}

/* ---- the whole ---- */

static void step(void)
{
	const uint8_t b = shim_byte();

	if (b < 112)
		io_loop_turn(engine.loop);
	else if (b < 120)
		shim_now_ns += (int64_t)(b - 111) * NS_PER_MS;
	else if (b < 122)
		shim_now_ns += 20 * NS_PER_SEC;
	else
		engine_act();
}

static bool is_over(void)
{
	bool over = !engine.is_yielded;

	for (int i = 0; i < SIDES; i++)
		over = over && engine.sides[i].sock.fd < 0 && !engine.sides[i].wr.pending;
	for (int i = 0; i < LISTENERS; i++)
		over = over && engine.listeners[i].sock.fd < 0 && !engine.listeners[i].wr.pending;
	return over;
}

static void put_all(void)
{
	for (int i = 0; i < KEPT; i++)
		if (engine.kept[i].buf != NULL)
			engine_put(i);
}

/* Everything was told, and nothing more happens: does somebody still wait for what is there? */
static bool is_starved(const struct side *s)
{
	const struct io_op *rd = &s->rd.op, *wr = &s->wr.op;
	const struct shim_file *f;
	int seen;

	if (s->sock.fd < 0)
		return false;
	f = shim_file(s->sock.fd);
	seen = (f->sticky & EPOLLERR ? IO_WANT_ERR : 0) | (f->sticky & EPOLLRDHUP ? IO_WANT_END : 0);
	if (s->rd.pending && rd->kind == IO_READY && f->watched != 0 && (rd->want & seen))
		return true;
	if (s->rd.pending && f->in && (rd->kind == IO_READ || (rd->want & IO_WANT_IN)))
		return true;
	return s->wr.pending && (wr->kind == IO_CONNECT || (f->room && wr->kind != IO_RESET));
}

/* Everybody's peer has gone. Who asked for no more than that, and could not be watched, may not notice. */
static bool is_forgotten(const struct side *s)
{
	if (s->rd.pending && s->rd.op.kind == IO_READY && !(s->rd.op.want & IO_WANT_IN))
		return !shim_file(s->sock.fd)->refused;
	return s->rd.pending || s->wr.pending;
}

/* The kernel gives all that is asked for, and tells of it once: then nothing may be left waiting. */
static void settle(void)
{
	shim_give();
	for (int turn = 0; turn < END_TURNS; turn++)
		io_loop_turn(engine.loop);
	for (int i = 0; i < SIDES; i++) {
		shim_trace("descriptor %d is to wait for nothing that is there\n", engine.sides[i].sock.fd);
		check(!is_starved(&engine.sides[i]));
	}
	for (int i = 0; i < SIDES; i++) {
		if (engine.sides[i].sock.fd < 0)
			continue;
		shim_file(engine.sides[i].sock.fd)->ended = true;
		shim_set_raise(engine.sides[i].sock.fd,
			       EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	}
	for (int turn = 0; turn < END_TURNS; turn++)
		io_loop_turn(engine.loop);
	for (int i = 0; i < SIDES; i++)
		check(!is_forgotten(&engine.sides[i]));
}

static void finish(void)
{
	shim_calm();
	for (int turn = 0; turn < END_TURNS && !is_over(); turn++) {
		for (int i = 0; i < SIDES; i++)
			end_side(&engine.sides[i], 0);
		for (int i = 0; i < LISTENERS; i++)
			end_side(&engine.listeners[i], 0);
		io_loop_turn(engine.loop);
	}
	check(is_over());
	if (shim_is_honest())
		put_all(); /* the ring gets them again in the turn that follows */
	io_loop_turn(engine.loop);
	check(engine.loop->pending == 0);
	check(!shim_is_honest() || shim_lent_again());
	put_all();
	for (int i = 0; i < SIDES; i++)
		if (engine.sides[i].pipe != NULL)
			pipe_put(&engine.loop->pipes, engine.sides[i].pipe);
}

static void init_side(struct side *s, bool listens)
{
	s->sock.fd = -1;
	s->listens = listens;
	s->rd.side = s;
	s->wr.side = s;
	shim_know(&s->sock);
}

static void woken(struct io_loop *loop)
{
	check(loop == engine.loop);
	check(!engine.calling);
	if (shim_chance(128))
		engine_act();
}

void engine_run(struct io_loop *loop, bool settles)
{
	memset(&engine, 0, sizeof(engine));
	engine.loop = loop;
	loop->woken = woken;
	io_op_init(&engine.yielded, &engine.sides[0].sock, on_yielded);
	for (int i = 0; i < SIDES; i++)
		init_side(&engine.sides[i], false);
	for (int i = 0; i < LISTENERS; i++)
		init_side(&engine.listeners[i], true);
	while (!shim_is_out())
		step();
	if (settles && shim_is_honest())
		settle();
	finish();
}
