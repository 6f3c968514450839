/* SPDX-License-Identifier: MIT
 *
 * ring_shim.c - an io_uring whose completions come from the byte string of ring_shim.h.
 *
 * Owns the entries that the driver has submitted, the buffers that it has lent, and the completions that it
 * has not taken yet. Aborts on what a kernel would have to suffer for: a buffer lent twice, an entry for a
 * descriptor that is closed, memory of a write that changes while the write is pending. Under ASan whatever
 * is lent is poisoned until a completion gives it back. In the place of src/sys/ring.c. Tests only.
 */
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/ring.h"
#include "weir/sys/sys.h"
#include "../sim/stale_entry.h"
#include "ring_luck.h"
#include "ring_shim.h"
#include "shim_poison.h"

#define KNOWN_MAX 32
#define KEPT_MAX 64
/* So many calls in one run are an endless loop: each answer but those of a calm kernel costs a byte. */
#define CALLS_MAX 100000

static const uint8_t *input;
static size_t input_len, input_at;
static bool honest, calm, giving;
static uint32_t calls;
static struct ring *the_ring;
static struct ring ring; /* one at a time */
static const struct io_sock *known[KNOWN_MAX];
static unsigned known_count;
static struct lent kept[KEPT_MAX];
bool shim_verbose;
int shim_open_error;
uint32_t shim_room;

/* ---- the input ---- */

void shim_begin(const uint8_t *data, size_t len, bool is_honest)
{
	shim_verbose = getenv("SHIM_TRACE") != NULL;
	input = data;
	input_len = len;
	input_at = 0;
	honest = is_honest;
	calm = giving = false;
	calls = 0;
	known_count = 0;
	memset(kept, 0, sizeof(kept));
	shim_open_error = 0;
	shim_room = 0;
	shim_files_begin();
}

uint8_t shim_byte(void)
{
	return input_at < input_len ? input[input_at++] : 0;
}

bool shim_is_out(void)
{
	return input_at >= input_len;
}

bool shim_is_honest(void)
{
	return honest;
}

bool shim_chance(unsigned of_256)
{
	return !calm && !shim_is_out() && shim_byte() >= 256 - of_256;
}

uint32_t shim_length(uint32_t max)
{
	const uint8_t b = shim_byte();
	const uint32_t n = b < 128 ? max : b < 192 ? b - 127u : (uint32_t)((uint64_t)max * b / 256);

	check(max > 0);
	return n == 0 ? 1 : n < max ? n : max;
}

void shim_calm(void)
{
	calm = true;
	giving = false;
}

void shim_give(void)
{
	calm = giving = true;
}

bool shim_gives(void)
{
	return giving;
}

bool shim_is_calm(void)
{
	return calm;
}

void shim_count(void)
{
	check(++calls < CALLS_MAX);
}

void shim_know(const struct io_sock *sock)
{
	check(known_count < KNOWN_MAX);
	known[known_count++] = sock;
}

const struct io_sock *shim_known(unsigned which)
{
	return known_count > 0 ? known[which % known_count] : NULL;
}

/* ---- memory ---- */

uint64_t shim_sum(const void *data, uint32_t len)
{
	const uint8_t *p = data;
	uint64_t sum = len;

	for (uint32_t i = 0; i < len; i++) {
		if (i == 16 && len > 32)
			i = len - 16;
		sum = sum * 31 + p[i];
	}
	return sum;
}

static struct lent *kept_find(const uint8_t *data)
{
	for (int i = 0; i < KEPT_MAX; i++)
		if (kept[i].data == data)
			return &kept[i];
	return NULL;
}

void shim_keep(const void *data, uint32_t len)
{
	struct lent *free_one = kept_find(NULL);

	check(kept_find(data) == NULL);
	check(free_one != NULL);
	*free_one = (struct lent){.data = (uint8_t *)(uintptr_t)data, .len = len};
}

void shim_give_back(const void *data)
{
	struct lent *k = kept_find(data);

	check(k != NULL);
	k->data = NULL;
}

static bool overlap(const struct lent *a, const uint8_t *data, uint32_t len)
{
	return a->data != NULL && a->data < data + len && data < a->data + a->len;
}

void ring_lend(struct ring *r, uint16_t id, void *data, uint32_t len)
{
	struct lent *l = &r->bufs[id];
	bool burnt;

	check(id < r->shape.bufs);
	check(len > 0);
	burnt = l->burnt;
	check(burnt || l->order == 0);
	for (int i = 0; i < KEPT_MAX && !burnt; i++)
		check(!overlap(&kept[i], data, len));
	for (uint32_t i = 0; i < r->shape.bufs && !burnt; i++)
		check(r->bufs[i].order == 0 || r->bufs[i].burnt || !overlap(&r->bufs[i], data, len));
	*l = (struct lent){.data = data, .len = len, .order = ++r->lends, .burnt = burnt};
	if (!burnt)
		poison(data, len);
}

/* The kernel gives buffer `id` back, or says so. A driver that lends it again in this very turn cannot know
 * that it was named twice: such a buffer is used no more. */
static void take_back(struct ring *r, uint32_t id)
{
	struct lent *l = &r->bufs[id];

	if (id >= r->shape.bufs)
		return;
	if (l->order == 0 || l->burnt) {
		l->burnt = true;
		r->burnt++;
	}
	if (l->order > 0)
		unpoison(l->data, l->len);
	l->order = 0;
}

/* The driver has seen all that was said: what it has not lent is its own without a doubt. */
static void mend_burnt(struct ring *r)
{
	if (r->burnt == 0 || r->head != r->tail)
		return;
	r->burnt = 0;
	for (uint32_t i = 0; i < r->shape.bufs; i++) {
		if (r->bufs[i].order == 0)
			r->bufs[i].burnt = false;
		r->burnt += r->bufs[i].burnt;
	}
}

uint32_t ring_pick_lent(const struct ring *r, unsigned skip)
{
	uint64_t after = 0;
	uint32_t found;

	do {
		found = r->shape.bufs;
		for (uint32_t i = 0; i < r->shape.bufs; i++) {
			const struct lent *l = &r->bufs[i];

			if (l->order > after && l->order <= r->lends_seen && !l->burnt &&
			    (found == r->shape.bufs || l->order < r->bufs[found].order))
				found = i;
		}
		if (found < r->shape.bufs)
			after = r->bufs[found].order;
	} while (found < r->shape.bufs && skip-- > 0);
	return found;
}

void ring_fill(struct ring *r, uint32_t id, int fd, uint32_t len)
{
	unpoison(r->bufs[id].data, r->bufs[id].len);
	shim_fill(fd, r->bufs[id].data, len);
	poison(r->bufs[id].data, r->bufs[id].len);
}

static uint32_t count_lent(const struct ring *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->shape.bufs; i++)
		n += r->bufs[i].order > 0;
	return n;
}

bool shim_lent_again(void)
{
	const struct ring *r = the_ring;

	return r->astray || r->burnt > 0 || count_lent(r) >= r->lent_first;
}

/* ---- making and ending ---- */

int ring_open(struct ring **out, const struct ring_shape *shape)
{
	struct ring *r = &ring;

	if (shim_open_error)
		return shim_open_error;
	check(shape->submissions > 0 && shape->submissions <= SQ_MAX);
	check(shape->bufs > 0 && shape->bufs <= 32768);
	check(the_ring == NULL);
	r->on = false;
	r->filled = r->count = r->head = r->shown = r->tail = 0;
	r->past_count = r->ended_count = r->burnt = 0;
	r->lends = r->lends_seen = 0;
	r->astray = r->entered = r->linking = false;
	r->shape = *shape;
	r->room = shim_room > 0 ? shim_room : shape->submissions;
	r->bufs = calloc(shape->bufs, sizeof(*r->bufs));
	check(r->bufs != NULL);
	the_ring = r;
	*out = r;
	return 0;
}

int ring_enable(struct ring *r)
{
	check(!r->on);
	r->on = true;
	return 0;
}

void ring_close(struct ring *r)
{
	for (uint32_t i = 0; i < r->shape.bufs; i++)
		if (r->bufs[i].order > 0)
			unpoison(r->bufs[i].data, r->bufs[i].len);
	free(r->bufs);
	the_ring = NULL;
}

/* ---- completions ---- */

static void queue(struct ring *r, struct ring_done done)
{
	check(r->tail - r->head < CQ_MAX);
	r->cq[r->tail++ % CQ_MAX] = done;
	r->past[r->past_count++ % PAST_MAX] = done;
	if (done.flags & IORING_CQE_F_BUFFER)
		take_back(r, done.flags >> IORING_CQE_BUFFER_SHIFT);
	shim_trace("  done %#llx: %d, flags %#x\n", (unsigned long long)done.user_data, done.res, done.flags);
}

static void drop_entry(struct ring *r, struct entry *e)
{
	*e = r->entries[--r->count];
}

void ring_let_go(struct entry *e)
{
	e->sqe = e->then;
	e->linked = false;
	e->let_go = true;
}

void ring_settle(struct ring *r, struct entry *e, int32_t res, uint32_t flags)
{
	const struct ring_done done = {e->sqe.user_data, res, flags};

	if (e->sqe.opcode == IORING_OP_SEND && !e->lied)
		check(shim_sum((const void *)(uintptr_t)e->sqe.addr, e->sqe.len) == e->sum);
	if (!(flags & IORING_CQE_F_MORE))
		drop_entry(r, e);
	queue(r, done);
}

static struct entry *find_entry(struct ring *r, uint64_t user_data)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->entries[i].sqe.user_data == user_data)
			return &r->entries[i];
	return NULL;
}

void ring_lie(struct ring *r, struct ring_done done)
{
	struct entry *e = find_entry(r, done.user_data);

	shim_trace("  a lie:");
	if (e != NULL)
		e->lied = true;
	if (!(done.flags & IORING_CQE_F_MORE) || e == NULL) {
		r->ended[r->ended_count++ % PAST_MAX] = done.user_data;
		if (e != NULL)
			drop_entry(r, e);
	}
	queue(r, done);
}

void ring_lie_beside(struct ring *r, struct entry *e, int32_t res, uint32_t flags)
{
	shim_trace("  a lie beside:");
	e->lied = true;
	r->ended[r->ended_count++ % PAST_MAX] = e->sqe.user_data;
	queue(r, (struct ring_done){e->sqe.user_data, res, flags});
}

bool shim_is_pending_fd(int fd)
{
	for (uint32_t i = 0; the_ring != NULL && i < the_ring->count; i++) {
		const struct entry *e = &the_ring->entries[i];

		if (e->sqe.fd == fd && !e->lied && e->sqe.opcode != IORING_OP_CLOSE)
			return true;
	}
	return false;
}

/* ---- submitting ---- */

/* Was a lie told about it, maybe before it was submitted? */
static bool was_ended(const struct ring *r, uint64_t user_data)
{
	for (uint32_t i = 0; i < PAST_MAX && i < r->ended_count; i++)
		if (r->ended[i] == user_data)
			return true;
	return false;
}

/* Entries that a cancel speaks of; -ENOENT is said of those that lies have ended, and they end again. */
static void cancel(struct ring *r, const struct io_uring_sqe *by)
{
	struct entry *e = find_entry(r, by->addr);
	const uint8_t luck = calm ? 0 : shim_byte() % 8;
	int32_t res = 0;

	check(by->cancel_flags == 0);
	if (e == NULL) {
		res = -ENOENT;
		for (uint32_t i = 0; i < PAST_MAX && i < r->ended_count; i++) {
			if (r->ended[i] == by->addr) {
				queue(r, (struct ring_done){by->addr, -ECANCELED, 0});
				r->ended[i] = 0;
			}
		}
	} else if (e->let_go) {
		e->cancelled = true; /* it was not found, and ends by itself */
		res = -ENOENT;
	} else if (luck < 5) {
		ring_settle(r, e, -ECANCELED, 0);
	} else if (luck == 5) {
		e->cancelled = true;
		res = -EALREADY;
	} else {
		luck_complete(r, e); /* its result comes first, and may not be its last */
		e = find_entry(r, by->addr);
		if (e != NULL)
			e->cancelled = true;
		res = e != NULL ? -EALREADY : -ENOENT;
	}
	if (res < 0 || !(by->flags & IOSQE_CQE_SKIP_SUCCESS))
		queue(r, (struct ring_done){by->user_data, res, 0});
}

/* It never waits in the ring: behind an urgent mark or a FIN the kernel would hand it to a thread. */
static void check_transfer(const struct io_uring_sqe *sqe)
{
	check(sqe->msg_flags & MSG_DONTWAIT);
	check((sqe->ioprio & IORING_RECVSEND_POLL_FIRST) == 0);
	check((sqe->flags & IOSQE_BUFFER_SELECT) == 0 || sqe->buf_group == RING_BUF_GROUP);
	check(sqe->opcode != IORING_OP_SEND || (sqe->msg_flags & MSG_NOSIGNAL));
}

static bool is_transfer(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_RECV || sqe->opcode == IORING_OP_SEND;
}

/* An entry that waits; `then` is linked to it, or NULL. */
static void add_entry(struct ring *r, const struct io_uring_sqe *sqe, const struct io_uring_sqe *then)
{
	struct entry *e = find_entry(r, sqe->user_data);

	if (sqe->opcode != IORING_OP_TIMEOUT)
		(void)shim_file(sqe->fd);
	check(!honest || e == NULL);
	if (e != NULL)
		e->lied = true; /* it was told that this one has ended */
	check(r->count < ENTRIES_MAX);
	r->entries[r->count] = (struct entry){.sqe = *sqe, .lied = e != NULL || was_ended(r, sqe->user_data)};
	e = &r->entries[r->count++];
	e->key = shim_key(sqe->fd);
	e->linked = then != NULL;
	if (then != NULL)
		e->then = *then;
	if (is_transfer(sqe))
		check_transfer(sqe);
	if (sqe->opcode == IORING_OP_SEND)
		e->sum = shim_sum((const void *)(uintptr_t)sqe->addr, sqe->len);
}

/* A poll that tells of its failure alone, and the read of the same socket and name behind it. */
static void add_pair(struct ring *r, const struct io_uring_sqe *poll, const struct io_uring_sqe *read)
{
	check(poll->opcode == IORING_OP_POLL_ADD);
	check(poll->flags == (IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS));
	check(poll->len == 0);
	check(read->opcode == IORING_OP_RECV);
	check(read->flags == IOSQE_BUFFER_SELECT);
	check(read->fd == poll->fd);
	check(read->user_data == poll->user_data);
	check_transfer(read);
	add_entry(r, poll, read);
}

static void submit(struct ring *r, const struct io_uring_sqe *sqe)
{
	shim_trace("  entry %#llx: op %d, fd %d, len %u\n", (unsigned long long)sqe->user_data, sqe->opcode,
		   sqe->fd, sqe->len);
	/* Those that a ring of the program is restricted to. */
	check((sqe->flags & ~(IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK)) == 0);
	if (r->linking) {
		r->linking = false;
		add_pair(r, &r->link, sqe);
		return;
	}
	r->linking = (sqe->flags & IOSQE_IO_LINK) != 0;
	r->link = *sqe;
	if (r->linking)
		return;
	switch (sqe->opcode) {
	case IORING_OP_CLOSE:
		shim_close(sqe->fd);
		if (!(sqe->flags & IOSQE_CQE_SKIP_SUCCESS))
			queue(r, (struct ring_done){sqe->user_data, 0, 0});
		return;
	case IORING_OP_ASYNC_CANCEL:
		cancel(r, sqe);
		return;
	default:
		add_entry(r, sqe, NULL);
	}
}

static void submit_all(struct ring *r)
{
	check(r->on);
	r->lends_seen = r->lends;
	for (uint32_t i = 0; i < r->filled; i++)
		submit(r, &r->sq[i]);
	check(!r->linking); /* a submission ends a link */
	r->filled = 0;
}

void ring_reserve(struct ring *r, uint32_t n)
{
	const uint32_t room = r->on ? r->room : r->shape.submissions;

	check(n <= room);
	if (r->filled + n > room)
		submit_all(r);
}

struct io_uring_sqe *ring_sqe(struct ring *r)
{
	shim_count();
	ring_reserve(r, 1);
	return stale_entry(&r->sq[r->filled++]);
}

/* ---- entering ---- */

/* Shows the driver what has happened, or only a part of it. */
static void show(struct ring *r)
{
	uint32_t there = r->tail - r->head;

	if (there > 1 && shim_chance(16))
		there = shim_length(there);
	if (there > r->shape.completions)
		there = r->shape.completions;
	r->shown = r->head + there;
}

static void end_cancelled(struct ring *r)
{
	for (uint32_t i = r->count; i-- > 0;)
		if (r->entries[i].cancelled)
			ring_settle(r, &r->entries[i], r->entries[i].let_go ? -EAGAIN : -ECANCELED, 0);
}

int ring_enter(struct ring *r, int64_t timeout_ns)
{
	static const int errors[] = {-EBUSY, -EAGAIN, -ENOMEM};
	const uint8_t luck = calm ? 0 : shim_byte();

	shim_count();
	check(r->on);
	if (!r->entered)
		r->lent_first = count_lent(r);
	r->entered = true;
	if (luck >= 252) {
		const uint8_t which = shim_byte() % ARRAY_LEN(errors);

		shim_trace("enter fails: %d\n", errors[which]);
		return errors[which];
	}
	shim_trace("enter\n");
	mend_burnt(r);
	submit_all(r);
	if (calm)
		end_cancelled(r);
	if (giving)
		luck_give(r);
	for (unsigned left = luck % 8; left > 0 && !shim_is_out(); left--)
		luck_event(r);
	show(r);
	if (r->shown == r->head && timeout_ns > 0)
		shim_now_ns += timeout_ns;
	return 0;
}

uint32_t ring_take(struct ring *r, struct ring_done *out, uint32_t max)
{
	uint32_t n = 0;

	shim_count();
	while (r->head != r->shown && n < max)
		out[n++] = r->cq[r->head++ % CQ_MAX];
	return n;
}

bool ring_is_behind(const struct ring *r)
{
	return r->shown != r->tail;
}
