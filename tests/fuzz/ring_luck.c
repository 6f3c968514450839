/* SPDX-License-Identifier: MIT
 *
 * ring_luck.c - what happens to the entries of the ring in ring_shim.c: the next bytes say.
 *
 * Owns the list of what a kernel may answer, and that of the lies. One thread. Tests only.
 */
#include "ring_luck.h"

#include <limits.h>
#include <sys/epoll.h>

#include "weir/base/check.h"

/* The bits of user_data that are a pointer. */
#define LUCK_POINTER (((UINT64_C(1) << 48) - 1) & ~UINT64_C(7))

/* ---- what a kernel may answer ---- */

static int one_of(const int *errors, size_t count)
{
	return errors[shim_byte() % count];
}

#define ONE_OF(...) one_of((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void complete_recv(struct ring *r, struct entry *e)
{
	const uint8_t b = shim_byte();
	const uint32_t id = ring_pick_lent(r, 0), more = b & 1 ? IORING_CQE_F_SOCK_NONEMPTY : 0;
	struct shim_file *f = shim_file(e->sqe.fd);
	uint32_t len;

	if (b < 224)
		f->in = more != 0;
	if (b >= 240) {
		ring_settle(r, e, ONE_OF(-ECONNRESET, -ETIMEDOUT, -ENOBUFS, -ENOMEM, -EHOSTUNREACH), 0);
	} else if (b >= 224) {
		ring_settle(r, e, 0, 0);
	} else if (b >= 208) {
		f->in = false;
		ring_settle(r, e, -EAGAIN, 0); /* the poll was wrong */
	} else if (!(e->sqe.flags & IOSQE_BUFFER_SELECT)) {
		check(e->sqe.len > 0);
		len = shim_length(e->sqe.len);
		shim_fill(e->sqe.fd, (void *)(uintptr_t)e->sqe.addr, len);
		ring_settle(r, e, (int32_t)len, more);
	} else if (id == r->shape.bufs) {
		ring_settle(r, e, -ENOBUFS, 0);
	} else {
		const uint32_t room = r->bufs[id].len;

		len = shim_length(e->sqe.len > 0 && e->sqe.len < room ? e->sqe.len : room);
		ring_fill(r, id, e->sqe.fd, len);
		ring_settle(r, e, (int32_t)len, more | IORING_CQE_F_BUFFER | id << IORING_CQE_BUFFER_SHIFT);
	}
}

uint32_t shim_mask(uint8_t b)
{
	static const uint32_t masks[] = {
		EPOLLIN,
		EPOLLOUT,
		EPOLLIN | EPOLLOUT,
		EPOLLIN | EPOLLRDHUP,
		EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLOUT,
		EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLOUT | EPOLLERR,
		EPOLLIN | EPOLLPRI,
		EPOLLERR | EPOLLOUT | EPOLLIN,
	};

	return masks[b % ARRAY_LEN(masks)];
}

static void complete_poll(struct ring *r, struct entry *e)
{
	const uint8_t b = shim_byte();
	const uint32_t asked = (e->sqe.poll32_events | EPOLLERR | EPOLLHUP | EPOLLRDHUP) & 0xffff;
	const bool goes_on = (e->sqe.len & IORING_POLL_ADD_MULTI) && b < 240;
	uint32_t mask = shim_mask(b) & asked;
	struct shim_file *f = shim_file(e->sqe.fd);

	if (f->kind == SHIM_SET)
		shim_set_told();
	if (mask == 0)
		mask = e->sqe.poll32_events & EPOLLIN ? EPOLLIN : EPOLLERR;
	if (f->kind == SHIM_SOCKET)
		shim_set_raise(e->sqe.fd, mask);
	if (!e->linked) {
		ring_settle(r, e, (int32_t)mask, goes_on ? IORING_CQE_F_MORE : 0);
		return;
	}
	ring_let_go(e);
	if (b >= 224 && !shim_is_honest())
		ring_lie_beside(r, e, (int32_t)mask, 0); /* it tells, and was asked not to */
	else if (b < 192)
		complete_recv(r, e);
}

static void complete_send(struct ring *r, struct entry *e)
{
	struct shim_file *f = shim_file(e->sqe.fd);
	uint32_t len;

	if (shim_chance(48)) {
		f->room = false;
		ring_settle(r, e, -EAGAIN, 0);
		return;
	}
	if (shim_chance(24)) {
		ring_settle(r, e, ONE_OF(-EPIPE, -ECONNRESET, -ENOBUFS, -ENOMEM, -ETIMEDOUT), 0);
		return;
	}
	check(e->sqe.len > 0);
	len = shim_length(e->sqe.len);
	f->put += e->lied ? 0 : len;
	ring_settle(r, e, (int32_t)len, 0);
}

void luck_complete(struct ring *r, struct entry *e)
{
	/* The driver was told that it has ended, and has closed the descriptor. */
	if (e->lied && shim_key(e->sqe.fd) != e->key) {
		ring_settle(r, e, -ECANCELED, 0);
		return;
	}
	switch (e->sqe.opcode) {
	case IORING_OP_POLL_ADD:
		complete_poll(r, e);
		return;
	case IORING_OP_RECV:
		complete_recv(r, e);
		return;
	case IORING_OP_SEND:
		complete_send(r, e);
		return;
	case IORING_OP_TIMEOUT:
		ring_settle(r, e, -ETIME, 0);
		return;
	case IORING_OP_CONNECT:
		if (shim_chance(64))
			ring_settle(r, e, ONE_OF(-ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -ECONNRESET), 0);
		else
			ring_settle(r, e, 0, 0);
		return;
	default:
		check_failed(__FILE__, __LINE__, "the driver's ring may not do this");
	}
}

/* ---- lies ---- */

static int32_t wrong_result(uint32_t len)
{
	static const int errors[] = {-ECANCELED, -ENOBUFS, -EAGAIN, -EINTR, -EALREADY, -ENOENT,
				     -EBADF,     -EINVAL,  -4095,   -4096,  INT_MIN,   INT_MIN + 1,
				     INT_MIN + 2, INT_MIN + 3, INT_MAX, 0,  1,         65536};
	const uint8_t b = shim_byte();

	switch (b % 8) {
	case 0:
		return (int32_t)(len + 1);
	case 1:
		return (int32_t)(len + 1 + (uint32_t)shim_byte() * 257);
	case 2:
		return -(int32_t)shim_byte();
	default:
		return errors[b / 8 % ARRAY_LEN(errors)];
	}
}

/* The right, another, one that is not lent, and one that cannot be. */
static uint32_t any_buffer(const struct ring *r)
{
	const uint8_t b = shim_byte();
	const uint32_t lent = ring_pick_lent(r, b / 8);

	switch (b % 4) {
	case 0:
		return r->shape.bufs + b;
	case 1:
		return b % r->shape.bufs;
	case 2:
		return 0xffff;
	default:
		return lent;
	}
}

/* About the entry `e`: a result or flags that do not fit it. */
static void lie_about(struct ring *r, const struct entry *e)
{
	const uint8_t b = shim_byte();
	const uint32_t len = e->linked ? e->then.len : e->sqe.len;
	struct ring_done done = {e->sqe.user_data, 0, 0};

	done.res = b & 1 ? wrong_result(len) : (int32_t)shim_length(len > 0 ? len : 1);
	if (b & 2)
		done.flags |= IORING_CQE_F_MORE;
	if (b & 4)
		done.flags |= IORING_CQE_F_BUFFER | any_buffer(r) << IORING_CQE_BUFFER_SHIFT;
	if (b & 8)
		done.flags |= shim_byte();
	r->astray |= (done.flags & IORING_CQE_F_BUFFER) != 0;
	ring_lie(r, done);
}

/* Once more what was said before: as it was, or as if for another op of the same socket. */
static void lie_again(struct ring *r, bool changed)
{
	const uint32_t there = r->past_count < PAST_MAX ? r->past_count : PAST_MAX;
	struct ring_done done;

	if (there == 0)
		return;
	done = r->past[(r->past_count - 1 - shim_byte() % there) % PAST_MAX];
	if (changed) {
		const uint8_t b = shim_byte();

		done.user_data ^= (uint64_t)(b ? b : 1) << 48;
	}
	ring_lie(r, done);
}

/* For one of the engine's sockets. */
static void lie_freely(struct ring *r)
{
	const uint64_t sock = (uintptr_t)shim_known(shim_byte()) & LUCK_POINTER;
	const uint8_t tag = shim_byte(), seq = shim_byte();
	struct ring_done done = {sock | (tag & 7) | (uint64_t)seq << 48, 0, 0};

	if (sock == 0)
		return;
	done.res = tag & 8 ? wrong_result(32768) : 100;
	if (tag & 16)
		done.flags |= IORING_CQE_F_MORE;
	if (tag & 32)
		done.flags |= IORING_CQE_F_BUFFER | any_buffer(r) << IORING_CQE_BUFFER_SHIFT;
	r->astray |= (done.flags & IORING_CQE_F_BUFFER) != 0;
	ring_lie(r, done);
}

/* ---- events ---- */

/* One that runs on a thread of the kernel is interrupted. */
static int32_t cancelled_result(const struct entry *e, uint8_t b)
{
	return (b & 32) && e->sqe.opcode != IORING_OP_POLL_ADD ? -EINTR : -ECANCELED;
}

static struct entry *poll_of_set(struct ring *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct io_uring_sqe *sqe = &r->entries[i].sqe;

		if (sqe->opcode == IORING_OP_POLL_ADD && shim_key(sqe->fd) != 0 &&
		    shim_file(sqe->fd)->kind == SHIM_SET)
			return &r->entries[i];
	}
	return NULL;
}

/* Those of the sockets; polls of listeners, of wake-ups and of the alarm go on. */
static bool is_of_socket(const struct entry *e)
{
	return e->sqe.opcode == IORING_OP_TIMEOUT || shim_file(e->sqe.fd)->kind == SHIM_SOCKET;
}

void luck_give(struct ring *r)
{
	struct entry *e;

	for (uint32_t i = r->count; i-- > 0;) {
		if (!is_of_socket(&r->entries[i]))
			continue;
		if (r->entries[i].sqe.opcode == IORING_OP_RECV || r->entries[i].linked)
			shim_file(r->entries[i].sqe.fd)->in = true;
		luck_complete(r, &r->entries[i]);
	}
	e = poll_of_set(r);
	if (e != NULL && shim_set_is_untold())
		luck_complete(r, e);
}

void luck_event(struct ring *r)
{
	const uint8_t b = shim_byte(), kind = shim_is_honest() && b % 16 >= 12 ? 11 : b % 16;
	struct entry *e;

	if (kind < 5 && shim_set_luck()) {
		e = poll_of_set(r);
		if (e != NULL && b < 128)
			luck_complete(r, e);
	} else if (kind == 13) {
		lie_again(r, false);
	} else if (kind == 14) {
		lie_again(r, true);
	} else if (kind == 15) {
		lie_freely(r);
	} else if (r->count > 0) {
		e = &r->entries[shim_byte() % r->count];
		if (kind == 12)
			lie_about(r, e);
		else if (e->cancelled && !e->let_go && b >= 128)
			ring_settle(r, e, cancelled_result(e, b), 0);
		else
			luck_complete(r, e);
	}
}
