/* SPDX-License-Identifier: MIT
 *
 * model_splice.c - pipes by their slots, and splice both ways.
 *
 * Owns what lies in pipes. A call in takes at most (free slots x page size) bytes and one slot for each
 * fragment it touches; a slot may hold more than a page, so a pipe can hold more than its size. Refuses
 * length 0 and lengths above 1 << 30 (R2), lengths that are not the pipe's content (they cork the last part
 * for 200 ms), and in a world with the engine a splice into a pipe that holds bytes (R3, R12), by failing
 * the seed. One thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "weir/sys/sys.h"
#include "cover.h"
#include "model.h"
#include "stream.h"

struct mpipe *mpipe_of(int fd, enum file_kind kind)
{
	struct mfile *f = mfile_get(fd);

	if (f->kind != kind)
		sim_fail("descriptor %d is not the right end of a pipe", fd);
	return f->pipe;
}

/* ---- socket to pipe ---- */

static ssize_t splice_in_nothing(struct msock *s)
{
	int err;

	if (s->tcp && s->done) {
		if (msock_unread(s) > 0)
			cover(COVER_MARK_AT_HEAD_ZERO);
		return 0;
	}
	err = msock_take_error(s);
	if (err) {
		cover(COVER_RST_SPLICE_FIRST);
		return -err;
	}
	if (s->rcv_shut)
		return 0;
	if (s->state == SOCK_NEW || s->state == SOCK_CLOSED)
		return -ENOTCONN;
	if (msock_unread(s) > 0)
		cover(COVER_MARK_AT_HEAD_EAGAIN);
	else
		cover(COVER_SPLICE_EMPTY_EAGAIN);
	return -EAGAIN;
}

static void push_slot(struct mpipe *p, const struct msock *s, uint32_t n)
{
	struct mslot *slot = &p->slots[(p->head + p->count) % MODEL_SLOTS];

	*slot = (struct mslot){.key = s->rx_key, .off = s->rx_read, .len = n};
	p->count++;
	p->bytes += n;
}

/* One piece of the queue's head; 0 when a mark stands there. */
static uint32_t splice_piece(struct msock *s, uint32_t left, bool first)
{
	uint32_t n = s->frags[s->frag_head];

	n = n < left ? n : left;
	if (!s->urg_valid)
		return n;
	if (s->urg_seq == s->rx_read)
		return s->tcp || !first ? 0 : 1; /* a Unix splice passes the mark */
	if (s->urg_seq - s->rx_read < n)
		n = s->urg_seq - s->rx_read;
	return n;
}

static ssize_t splice_in(struct msock *s, struct mpipe *p, size_t len)
{
	const uint32_t room = (p->slot_max - p->count) * model_page_bytes();
	uint32_t left = len < room ? (uint32_t)len : room;
	uint32_t moved = 0;
	uint32_t n;

	if (model.strict && p->count > 0)
		sim_fail("splice into a pipe that holds %u bytes of stream %u (R3, R11, R12)", p->bytes,
			 p->slots[p->head].key);
	if (p->count == p->slot_max)
		return -EAGAIN;
	if (s->unspliceable) {
		cover(COVER_UNSPLICEABLE);
		return -EINVAL;
	}
	if (!s->tcp && !s->oobinline && msock_has_mark(s))
		msock_consume(s, 1); /* lost, as in recv */
	while (left > 0 && msock_unread(s) > 0 && p->count < p->slot_max) {
		n = splice_piece(s, left, moved == 0);
		if (n == 0)
			break;
		push_slot(p, s, n);
		msock_consume(s, n);
		moved += n;
		left -= n;
	}
	if (moved == 0)
		return splice_in_nothing(s);
	if (left > 0 && p->count == p->slot_max && msock_unread(s) > 0)
		cover(COVER_SPLICE_SLOT_SHORT);
	return (ssize_t)moved;
}

/* ---- pipe to socket ---- */

static void pop_bytes(struct mpipe *p, uint32_t n)
{
	while (n > 0) {
		struct mslot *slot = &p->slots[p->head];
		const uint32_t take = n < slot->len ? n : slot->len;

		slot->off += take;
		slot->len -= take;
		p->bytes -= take;
		n -= take;
		if (slot->len == 0) {
			p->head = (p->head + 1) % MODEL_SLOTS;
			p->count--;
		} else {
			cover(COVER_PARTIAL_SLOT);
		}
	}
}

static void check_head(const struct mpipe *p, struct msock *s)
{
	const struct mslot *slot = &p->slots[p->head];

	if (!s->watched || !model.strict)
		return;
	if (slot->key != msock_expect(s))
		sim_fail("splice brings stream %u to fd %d, which carries %u", slot->key, s->fd, s->tx_key);
	if (slot->off != s->tx_total)
		sim_fail("splice brings offset %u of stream %u, after %u bytes", slot->off, slot->key,
			 s->tx_total);
}

static ssize_t splice_out(struct mpipe *p, struct msock *s, size_t len)
{
	ssize_t n;

	if (len != p->bytes)
		sim_fail("splice out asks for %zu bytes of a pipe that holds %u (R1, R14)", len, p->bytes);
	if (s->unspliceable) {
		cover(COVER_UNSPLICEABLE);
		cover(COVER_UNSPLICEABLE_PIPE_BYTES);
		return -EINVAL;
	}
	n = msock_send_room(s, len);
	if (n < 0) {
		if (n == -EAGAIN)
			cover(COVER_SPLICE_OUT_EAGAIN);
		return n; /* the pipe keeps its bytes */
	}
	check_head(p, s);
	pop_bytes(p, (uint32_t)n);
	msock_sent(s, (uint32_t)n, false);
	if ((size_t)n < len) {
		/* splice goes on until EAGAIN, which leaves SOCK_NOSPACE */
		s->nospace = s->tcp;
		cover(COVER_SHORT_SPLICE_OUT);
	}
	return n;
}

ssize_t sys_splice(int from, int to, size_t len)
{
	const struct mfile *f = mfile_get(from);
	const bool in = f->kind == FILE_SOCK;
	ssize_t n;

	model_enter();
	if (len == 0)
		sim_fail("splice of length 0 (R2)");
	if (len > 1u << 30)
		sim_fail("splice of length %zu (R2)", len);
	if (in)
		n = splice_in(mfile_sock(from), mpipe_of(to, FILE_PIPE_WR), len);
	else
		n = splice_out(mpipe_of(from, FILE_PIPE_RD), mfile_sock(to), len);
	trace("splice(%d, %d, %zu) = %zd", from, to, len, n);
	return n;
}

/* ---- pipes ---- */

int sys_pipe(int fds[2])
{
	struct mpipe *p = NULL;

	model_enter();
	if (site(SITE_PIPE_EMFILE)) {
		cover(COVER_NO_PIPE);
		return -EMFILE;
	}
	for (int i = 0; i < MODEL_PIPES && p == NULL; i++)
		if (!model.pipes[i].used)
			p = &model.pipes[i];
	if (p == NULL)
		return -EMFILE;
	fds[0] = mfile_open(FILE_PIPE_RD);
	fds[1] = mfile_open(FILE_PIPE_WR);
	if (fds[0] < 0 || fds[1] < 0)
		sim_fail("the model's table of descriptors is full");
	*p = (struct mpipe){.used = true, .rd_open = true, .wr_open = true, .slot_max = 16};
	p->cap = p->slot_max * model_page_bytes();
	if (site(SITE_PIPE_EPERM)) {
		p->slot_max = 2; /* the user's pages are used up */
		p->cap = p->slot_max * model_page_bytes();
		cover(COVER_SMALL_PIPE);
	}
	model.files[fds[0]].pipe = p;
	model.files[fds[1]].pipe = p;
	trace("pipe() = %d, %d of %u", fds[0], fds[1], p->cap);
	return 0;
}

static struct mpipe *pipe_any(int fd)
{
	struct mfile *f = mfile_get(fd);

	return mpipe_of(fd, f->kind == FILE_PIPE_WR ? FILE_PIPE_WR : FILE_PIPE_RD);
}

int sys_pipe_set_size(int fd, int bytes)
{
	struct mpipe *p = pipe_any(fd);
	uint32_t slots;

	model_enter();
	slots = ((uint32_t)bytes + model_page_bytes() - 1) / model_page_bytes();
	if (p->slot_max == 2 || (site(SITE_PIPE_SMALL) && slots > 16))
		return -EPERM;
	p->slot_max = slots < MODEL_SLOTS ? slots : MODEL_SLOTS;
	p->cap = p->slot_max * model_page_bytes();
	return (int)p->cap;
}

int sys_discard(void *memory, size_t len)
{
	model_enter();
	if (prng_chance(&model.rng, 10))
		return -EINVAL;
	memset(memory, 0, len);
	cover(COVER_PAGE_AWAY);
	return 0;
}

uint32_t sys_page_bytes(void)
{
	return model_page_bytes();
}

int sys_pipe_size(int fd)
{
	model_enter();
	return (int)pipe_any(fd)->cap;
}

ssize_t mpipe_read(int fd, void *data, size_t len)
{
	struct mpipe *p = mpipe_of(fd, FILE_PIPE_RD);
	uint8_t *out = data;
	size_t got = 0;

	if (p->count == 0)
		return -EAGAIN;
	cover(COVER_PIPE_READ_BACK);
	while (got < len && p->count > 0) {
		const struct mslot *slot = &p->slots[p->head];
		const uint32_t n = len - got < slot->len ? (uint32_t)(len - got) : slot->len;

		stream_fill(slot->key, slot->off, out + got, n);
		pop_bytes(p, n);
		got += n;
	}
	return (ssize_t)got;
}
