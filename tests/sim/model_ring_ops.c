/* SPDX-License-Identifier: MIT
 *
 * model_ring_ops.c - the ops of the modelled io_uring: what each does when its entry runs, what it waits for,
 * and how it ends.
 *
 * Follows io_uring/poll.c, net.c and cancel.c of Linux 6.18 where a program can tell the difference;
 * facts_ring.h holds both to the same sentences. A pending op holds its file: a socket that is closed
 * meanwhile says so to its peer only when the op has ended. One thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "cover.h"
#include "model_ring.h"

/* Reported whether they were asked for or not. */
#define ALWAYS (EPOLLERR | EPOLLHUP | EPOLLRDHUP)
#define POLLS (EPOLLIN | EPOLLOUT | EPOLLPRI | ALWAYS)

/* ---- files ---- */

static uint32_t mask_of(const struct mop *op)
{
	const struct mfile *f = &model.files[op->fd];

	if (op->sock != NULL)
		return msock_mask(op->sock);
	return f->kind != FILE_NONE && f->serial == op->serial ? mfile_mask(op->fd) : 0;
}

static void hold(struct mop *op)
{
	struct mfile *f = mfile_get(op->fd);

	op->serial = f->serial;
	if (f->kind == FILE_SOCK)
		op->sock = f->sock;
	if (f->kind == FILE_LISTENER)
		op->listener = f->listener;
	if (op->sock != NULL)
		op->sock->holds++;
	if (op->listener != NULL)
		f->holds++;
}

void mop_release(struct mop *op)
{
	struct msock *s = op->sock;

	op->state = MOP_NONE;
	if (op->listener != NULL)
		mfile_get(op->fd)->holds--;
	if (s == NULL || --s->holds > 0 || !s->closes_late)
		return;
	s->closes_late = false;
	msock_close(s);
}

/* The poll has fired, and says so to nobody: its read is queued. */
static void go_on(struct mop *op)
{
	op->sqe = op->then;
	op->linked = false;
	op->state = MOP_LINKED;
}

/* Who fails silences what is linked to it: IOSQE_CQE_SKIP_SUCCESS of both. */
static void end(struct ring *r, struct mop *op, int32_t res, uint32_t flags)
{
	const bool silent = (op->sqe.flags & IOSQE_CQE_SKIP_SUCCESS) && res >= 0;

	if (op->linked && res >= 0) {
		go_on(op);
		return;
	}
	if (op->dying)
		cover(res == -ECANCELED ? COVER_RING_CANCEL_WON : COVER_RING_CANCEL_LOST);
	mop_release(op);
	if (!silent)
		(void)mring_post(r, op, res, flags); /* the last one always finds a place */
}

/* ---- bytes ---- */

static uint32_t says_more(const struct ring *r, const struct msock *s)
{
	if (!s->tcp && !r->unix_says_more)
		return 0;
	return msock_unread(s) > 0 || (s->tcp && s->done) ? IORING_CQE_F_SOCK_NONEMPTY : 0;
}

/* A linked entry takes its file when its turn comes: io_assign_file(). */
static bool has_lost_its_file(const struct mop *op)
{
	const struct mfile *f = &model.files[op->fd];

	if (f->serial == op->serial)
		return false;
	if (f->kind != FILE_NONE)
		sim_fail("a read goes to another socket: descriptor %d was closed and reused", op->fd);
	return true;
}

static void note_vain(const struct mop *op)
{
	cover(COVER_RING_LINK_AGAIN);
	if (!op->wrong && ++op->sock->vain > MODEL_RING_VAIN)
		sim_fail("reads of fd %d find nothing again and again: the worker never rests", op->fd);
}

static void recv_now(struct ring *r, struct mop *op)
{
	const bool select = (op->sqe.flags & IOSQE_BUFFER_SELECT) != 0;
	uint8_t *data = (uint8_t *)(uintptr_t)op->sqe.addr;
	uint32_t len = op->sqe.len;
	uint32_t flags = 0;
	uint16_t id = 0;
	ssize_t n;

	if (has_lost_its_file(op)) {
		end(r, op, -EBADF, 0);
		return;
	}
	if (select) {
		const struct mbuf *b = mring_first_buf(r, &id);

		if (b == NULL) {
			cover(msock_unread(op->sock) > 0 ? COVER_RING_NOBUFS : COVER_RING_NOBUFS_EMPTY);
			end(r, op, -ENOBUFS, 0);
			return;
		}
		data = b->data;
		if (len == 0 || len > b->len)
			len = b->len;
	}
	n = msock_recv(op->sock, data, len, (int)op->sqe.msg_flags);
	trace("ring: recv of fd %d, %u bytes = %zd", op->fd, len, n);
	if (n == -EAGAIN)
		note_vain(op);
	if (n >= 0)
		flags |= says_more(r, op->sock);
	if (select && n > 0) {
		mring_take_buf(r);
		flags |= IORING_CQE_F_BUFFER | (uint32_t)id << IORING_CQE_BUFFER_SHIFT;
	}
	end(r, op, (int32_t)n, flags);
}

static void send_now(struct ring *r, struct mop *op)
{
	const ssize_t n = msock_send(op->sock, (const void *)(uintptr_t)op->sqe.addr, op->sqe.len,
				     (op->sqe.msg_flags & MSG_MORE) != 0);

	trace("ring: send to fd %d, %u bytes = %zd", op->fd, op->sqe.len, n);
	end(r, op, (int32_t)n, 0);
}

/* ---- connections ---- */

/* False: it has to wait. */
static bool try_connect(struct ring *r, struct mop *op)
{
	struct msock *s = op->sock;
	int res = 0;

	if (s->state == SOCK_CONNECTING)
		return false;
	if (s->err)
		res = -msock_take_error(s);
	else if (s->state == SOCK_CLOSED)
		res = -ECONNABORTED; /* somebody else took the error */
	if (res == -ECONNRESET && msock_unread(s) > 0)
		cover(COVER_RING_CONNECT_RESET);
	end(r, op, res, 0);
	return true;
}

static void begin_connect(struct ring *r, struct mop *op)
{
	const struct sockaddr *sa = (const struct sockaddr *)(uintptr_t)op->sqe.addr;
	const int res = msock_connect(op->sock, sa);

	trace("ring: connect of fd %d = %d", op->fd, res);
	if (res != -EINPROGRESS)
		end(r, op, res, 0);
}

/* ---- polls ---- */

static uint32_t wanted(const struct mop *op)
{
	return (op->sqe.poll32_events & POLLS) | ALWAYS;
}

static void note_poll(const struct mop *op, uint32_t mask)
{
	if (op->sock == NULL && model.files[op->fd].kind == FILE_ALARM) {
		model.files[op->fd].alarm_ns = 0; /* it rings once for each time that it is set */
		cover(COVER_ALARM);
	}
	if (op->sock == NULL)
		return;
	if ((mask & EPOLLPRI) && !op->sock->urg_valid)
		cover(COVER_RING_POLL_NO_MARK);
	if (!(mask & EPOLLPRI) && op->sock->urg_valid)
		cover(COVER_RING_POLL_HIDES_MARK);
}

/* One wake-up is told by the bits that it named itself, several by a look at the file, as in
 * io_poll_check_events(). False: there is nothing to tell. */
static bool try_poll(struct ring *r, struct mop *op)
{
	const bool multi = (op->sqe.len & IORING_POLL_ADD_MULTI) != 0;
	uint32_t mask = op->wakes == 1 ? op->key & wanted(op) : 0;

	op->wakes = 0;
	op->key = 0;
	if (mask == 0)
		mask = mask_of(op) & wanted(op);
	if (mask == 0)
		return false;
	note_poll(op, mask);
	trace("ring: poll of fd %d: %#x", op->fd, mask);
	if (multi && !mring_coin(r->ends) && mring_post(r, op, (int32_t)mask, IORING_CQE_F_MORE))
		return true;
	if (multi)
		cover(COVER_RING_MULTI_ENDS);
	end(r, op, (int32_t)mask, 0);
	return true;
}

/* True when it was the first wake-up: a single poll then leaves the wait queue. */
static bool wake_op(struct mop *op, uint32_t keys)
{
	const bool first = op->wakes == 0;

	if (keys != 0 && !(keys & wanted(op)))
		return false;
	op->wakes++;
	op->key = first ? keys : 0;
	return first;
}

bool mop_wake(struct ring *r, int fd, uint32_t keys)
{
	for (int i = 0; i < r->op_top; i++) {
		struct mop *op = &r->ops[i];

		if (op->state == MOP_ARMED && op->sqe.opcode == IORING_OP_POLL_ADD && op->fd == fd &&
		    op->serial == model.files[fd].serial && wake_op(op, keys) &&
		    (op->sqe.poll32_events & EPOLLEXCLUSIVE))
			return true;
	}
	return false;
}

/* ---- timeouts ---- */

static void begin_timeout(struct mop *op)
{
	const struct __kernel_timespec *ts = (const struct __kernel_timespec *)(uintptr_t)op->sqe.addr;

	if (op->sqe.len != 1 || op->sqe.off != 0 || op->sqe.timeout_flags != 0)
		sim_fail("a timeout of another kind than the model knows");
	op->at_ns = model.now_ns + ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec;
}

int64_t mop_next_timeout(const struct ring *r)
{
	int64_t next_ns = -1;

	for (int i = 0; i < r->op_top; i++) {
		const struct mop *op = &r->ops[i];
		const int64_t left_ns = op->at_ns > model.now_ns ? op->at_ns - model.now_ns : 0;

		if (op->state != MOP_NONE && op->sqe.opcode == IORING_OP_TIMEOUT &&
		    (next_ns < 0 || left_ns < next_ns))
			next_ns = left_ns;
	}
	return next_ns;
}

/* ---- the course of an op ---- */

static bool try_op(struct ring *r, struct mop *op)
{
	switch (op->sqe.opcode) {
	case IORING_OP_RECV:
		recv_now(r, op);
		return true;
	case IORING_OP_SEND:
		send_now(r, op);
		return true;
	case IORING_OP_CONNECT:
		return try_connect(r, op);
	case IORING_OP_TIMEOUT:
		end(r, op, -ETIME, 0);
		return true;
	default:
		return try_poll(r, op);
	}
}

static bool is_ready(const struct mop *op)
{
	switch (op->sqe.opcode) {
	case IORING_OP_CONNECT:
		return mask_of(op) & (EPOLLOUT | ALWAYS);
	case IORING_OP_TIMEOUT:
		return op->at_ns <= model.now_ns;
	default:
		/* A file that was closed, and is held, has no number any more to be woken by. */
		return op->wakes > 0 ||
		       (op->sock != NULL && op->sock->closes_late && (mask_of(op) & wanted(op)));
	}
}

/* It could not end at once: io_arm_poll_handler(). A file that is ready makes it run again, and when that is
 * in vain again and again, on a thread, which counts. */
static void arm(struct mop *op)
{
	if (op->state == MOP_NONE || op->state == MOP_LINKED || op->sqe.opcode == IORING_OP_POLL_ADD)
		return;
	op->state = is_ready(op) ? MOP_RUNS : MOP_ARMED;
	if (op->state == MOP_RUNS && ++op->tries > MODEL_RING_TRIES)
		sim_fail("op %u on fd %d goes to a thread of the kernel", op->sqe.opcode, op->fd);
}

bool mop_is_due(const struct mop *op)
{
	return op->state != MOP_NONE && (op->state != MOP_ARMED || op->dying || is_ready(op));
}

bool mop_visit(struct ring *r, struct mop *op)
{
	if (!mop_is_due(op))
		return true;
	if (mring_coin(r->late)) {
		cover(COVER_RING_LATE);
		return false;
	}
	model_enter();
	if (op->state == MOP_CANCELLED || (!try_op(r, op) && op->dying))
		end(r, op, -ECANCELED, 0);
	else
		arm(op);
	return true;
}

static void begin(struct ring *r, struct mop *op)
{
	switch (op->sqe.opcode) {
	case IORING_OP_POLL_ADD:
		op->state = MOP_ARMED;
		if (mask_of(op) & wanted(op))
			(void)wake_op(op, mask_of(op) & wanted(op)); /* it is this one */
		if (op->wakes > 0 && !(op->sqe.len & IORING_POLL_ADD_MULTI))
			(void)try_poll(r, op); /* it has something to tell */
		return;
	case IORING_OP_CONNECT:
		begin_connect(r, op);
		break;
	case IORING_OP_TIMEOUT:
		begin_timeout(op);
		break;
	default:
		(void)try_op(r, op); /* a read or a write, which never waits */
		break;
	}
	arm(op);
}

/* ---- entries that end at once ---- */

static struct mop *find(struct ring *r, uint64_t user_data)
{
	for (int i = 0; i < r->op_top; i++) {
		struct mop *op = &r->ops[i];

		if (op->sqe.user_data != user_data)
			continue;
		if (op->state == MOP_ARMED && !op->dying)
			return op;
		if (op->state == MOP_LINKED) {
			cover(COVER_RING_LINK_BETWEEN);
			op->dying = true; /* by itself */
		}
	}
	return NULL;
}

static int cancel(struct ring *r, const struct io_uring_sqe *sqe)
{
	struct mop *op = find(r, sqe->addr);

	if (op != NULL && op->linked && mring_coin(r->already)) {
		op->wrong = true; /* in the last enter, and its read is queued since */
		go_on(op);
		op = find(r, sqe->addr);
	}
	if (sqe->cancel_flags != 0)
		sim_fail("a cancel of op %u has flags that the model does not know", sqe->opcode);
	trace("ring: cancel of user_data %#llx: %s", (unsigned long long)sqe->addr,
	      op != NULL ? "found" : "not found");
	if (op == NULL) {
		cover(COVER_RING_CANCEL_LATE);
		return -ENOENT;
	}
	op->dying = true;
	/* Only what went to a thread of the kernel can run meanwhile: no poll, no stream. */
	if (op->sock != NULL && op->sqe.opcode != IORING_OP_POLL_ADD && mring_coin(r->already)) {
		cover(COVER_RING_CANCEL_ALREADY);
		return -EALREADY;
	}
	op->state = MOP_CANCELLED;
	return 0;
}

static int at_once(struct ring *r, const struct io_uring_sqe *sqe)
{
	switch (sqe->opcode) {
	case IORING_OP_NOP:
		return 0;
	case IORING_OP_CLOSE:
		mfile_close(sqe->fd);
		return 0;
	default:
		return cancel(r, sqe);
	}
}

/* ---- entries ---- */

static bool is_for_sockets(uint8_t opcode)
{
	return opcode == IORING_OP_CONNECT || opcode == IORING_OP_RECV || opcode == IORING_OP_SEND;
}

static struct mop *new_op(struct ring *r, const struct io_uring_sqe *sqe)
{
	int at = 0;

	while (at < r->op_top && r->ops[at].state != MOP_NONE)
		at++;
	if (at == MODEL_RING_OPS)
		sim_fail("%u ops are pending, more than any driver has", MODEL_RING_OPS);
	if (at == r->op_top)
		r->op_top++;
	r->ops[at] = (struct mop){.state = MOP_RUNS, .sqe = *sqe, .fd = sqe->fd};
	return &r->ops[at];
}

static void execute_at_once(struct ring *r, const struct io_uring_sqe *sqe)
{
	const struct mop once = {.sqe = *sqe};
	const int res = at_once(r, sqe);

	if (res < 0 || !(sqe->flags & IOSQE_CQE_SKIP_SUCCESS))
		(void)mring_post(r, &once, res, 0); /* it always finds a place */
}

/* `then` is the entry that is linked to it, or NULL. */
static void start(struct ring *r, const struct io_uring_sqe *sqe, const struct io_uring_sqe *then)
{
	struct mop *op = new_op(r, sqe);

	if (then != NULL) {
		op->then = *then;
		op->linked = true;
	}
	if (sqe->opcode != IORING_OP_TIMEOUT)
		hold(op);
	if ((then != NULL || is_for_sockets(sqe->opcode)) && op->sock == NULL)
		sim_fail("op %u on descriptor %d, which is no socket", sqe->opcode, sqe->fd);
	begin(r, op);
}

void mop_execute(struct ring *r, const struct io_uring_sqe *sqe)
{
	model_enter();
	if (r->linking) {
		mrule_link(&r->link, sqe);
		r->linking = false;
		start(r, &r->link, sqe);
		return;
	}
	mrule_entry(r, sqe);
	if (sqe->flags & IOSQE_IO_LINK) {
		r->link = *sqe;
		r->linking = true;
	} else if (mrule_waits(sqe->opcode)) {
		start(r, sqe, NULL);
	} else {
		execute_at_once(r, sqe);
	}
}
