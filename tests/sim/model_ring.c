/* SPDX-License-Identifier: MIT
 *
 * model_ring.c - an io_uring over the modelled kernel: its queues, the buffers lent to it, and the wait.
 *
 * Stands in the place of src/sys/ring.c. Entries run when the ring is entered, or when there is no room for
 * more; what has to wait completes in a later enter, in any order, and now and then later than it could. In
 * many seeds there is room for few entries and completions. Refuses what a driver may never do by failing
 * the seed: a buffer lent twice or touched while it is lent, a link torn by a submission, use before the ring
 * is on, and what model_ring_rules.c says. One thread. Tests only.
 */
#include "model_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cover.h"
#include "stale_entry.h"

/* What lent memory looks like, at both its ends. */
#define LENT_BYTE 0xdb
#define LENT_EDGE 32u

static struct ring *rings[MODEL_SETS];

bool mring_coin(uint32_t percent)
{
	return model.faults && percent > 0 && prng_chance(&model.rng, percent);
}

/* ---- begin and end ---- */

/* Polls that are not exclusive stand before the others in a wait queue; of those, one is woken. */
static bool on_wake(int fd, uint32_t keys)
{
	const bool shared = model.files[fd].kind == FILE_LISTENER && model.set_top > 1;
	const uint32_t first = shared ? prng_below(&model.rng, MODEL_SETS) : 0;

	for (uint32_t i = 0; i < MODEL_SETS; i++) {
		struct ring *r = rings[(first + i) % MODEL_SETS];

		if (r != NULL && mop_wake(r, fd, keys))
			return true;
	}
	return false;
}

static bool has_news(int at)
{
	const struct ring *r = rings[at];

	if (r == NULL || r->done_count > 0 || r->sq_count > 0)
		return r != NULL;
	for (int i = 0; i < r->op_top; i++)
		if (mop_is_due(&r->ops[i]))
			return true;
	return false;
}

static int free_place(void)
{
	for (int at = 0; at < MODEL_SETS; at++)
		if (rings[at] == NULL)
			return at;
	sim_fail("the model has no more rings");
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void draw_luck(struct ring *r)
{
	static const uint8_t late[] = {0, 0, 30, 60};
	static const uint16_t room[] = {2, 4, 8, 16, 64, 4096, 4096, 4096};
	struct prng *rng = &model.rng;

	r->late = late[prng_below(rng, 4)];
	r->ends = prng_chance(rng, 30) ? 30 : 0;
	r->no_bufs = prng_chance(rng, 20) ? 30 : 0;
	r->already = prng_chance(rng, 30) ? 30 : 0;
	r->unix_says_more = prng_chance(rng, 50);
	if (!model.strict)
		return; /* the suites want rings of the size that they asked for */
	r->room = lesser(r->shape.completions, room[prng_below(rng, 8)]);
	r->sq_room = lesser(r->shape.submissions, room[prng_below(rng, 8)]);
}

int ring_open(struct ring **out, const struct ring_shape *shape)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (r == NULL)
		sim_fail("there is no memory for a ring");
	r->shape = *shape;
	r->room = shape->completions;
	r->sq_room = shape->submissions;
	r->sq = calloc(shape->submissions, sizeof(*r->sq));
	r->bufs = calloc(shape->bufs, sizeof(*r->bufs));
	r->lent = calloc(shape->bufs, sizeof(*r->lent));
	if (r->sq == NULL || r->bufs == NULL || r->lent == NULL)
		sim_fail("there is no memory for a ring");
	draw_luck(r);
	rings[free_place()] = r;
	model.on_wake = on_wake;
	model.ring_has_news = has_news;
	*out = r;
	return 0;
}

int ring_enable(struct ring *r)
{
	if (r->on)
		sim_fail("a ring is switched on twice");
	r->on = true;
	return 0;
}

static void forget_ring(const struct ring *r)
{
	bool any = false;

	for (int at = 0; at < MODEL_SETS; at++) {
		if (rings[at] == r)
			rings[at] = NULL;
		any |= rings[at] != NULL;
	}
	if (any)
		return;
	model.on_wake = NULL;
	model.ring_has_news = NULL;
}

void ring_close(struct ring *r)
{
	for (int i = 0; i < r->op_top; i++)
		if (r->ops[i].state != MOP_NONE)
			mop_release(&r->ops[i]);
	forget_ring(r);
	model.lent -= r->lent_count + r->lent_new;
	free(r->lent);
	free(r->bufs);
	free(r->sq);
	free(r);
}

/* ---- lent buffers ---- */

static bool overlaps(const struct mbuf *b, const uint8_t *data, uint32_t len)
{
	return data < b->data + b->len && b->data < data + len;
}

void mring_check_memory(const struct ring *r, const uint8_t *data, uint32_t len, const char *what)
{
	const uint32_t all = r->lent_count + r->lent_new;

	for (uint32_t i = 0; i < all; i++) {
		const uint16_t id = r->lent[(r->lent_head + i) % r->shape.bufs];

		if (overlaps(&r->bufs[id], data, len))
			sim_fail("%s memory that the kernel was lent as buffer %u", what, id);
	}
}

/* Is a write still to read there? */
static void check_writes(const struct ring *r, const struct mbuf *b, uint16_t id)
{
	for (int i = 0; i < r->op_top; i++) {
		const struct mop *op = &r->ops[i];
		const uint8_t *data = (const uint8_t *)(uintptr_t)op->sqe.addr;

		if (op->state != MOP_NONE && op->sqe.opcode == IORING_OP_SEND &&
		    overlaps(b, data, op->sqe.len))
			sim_fail("buffer %u is lent while a write still uses it", id);
	}
	for (uint32_t i = 0; i < r->sq_count; i++) {
		const uint8_t *data = (const uint8_t *)(uintptr_t)r->sq[i].addr;

		if (r->sq[i].opcode == IORING_OP_SEND && overlaps(b, data, r->sq[i].len))
			sim_fail("buffer %u is lent while a write is to use it", id);
	}
}

static uint32_t edge_of(const struct mbuf *b)
{
	return b->len < LENT_EDGE ? b->len : LENT_EDGE;
}

void ring_lend(struct ring *r, uint16_t id, void *data, uint32_t len)
{
	struct mbuf *b = &r->bufs[id];

	if (id >= r->shape.bufs)
		sim_fail("buffer %u is lent to a ring of %u", id, r->shape.bufs);
	if (b->state != MBUF_OURS)
		sim_fail("buffer %u is lent twice", id);
	mring_check_memory(r, data, len, "the program lends");
	*b = (struct mbuf){.state = MBUF_ON_ITS_WAY, .data = data, .len = len};
	check_writes(r, b, id);
	memset(b->data, LENT_BYTE, edge_of(b));
	memset(b->data + b->len - edge_of(b), LENT_BYTE, edge_of(b));
	r->lent[(r->lent_head + r->lent_count + r->lent_new++) % r->shape.bufs] = id;
	model.lent++;
}

static void check_untouched(const struct mbuf *b, uint16_t id)
{
	for (uint32_t i = 0; i < edge_of(b); i++)
		if (b->data[i] != LENT_BYTE || b->data[b->len - 1 - i] != LENT_BYTE)
			sim_fail("buffer %u was written to while it was lent", id);
}

struct mbuf *mring_first_buf(struct ring *r, uint16_t *id)
{
	if (r->lent_count == 0 || mring_coin(r->no_bufs))
		return NULL;
	*id = r->lent[r->lent_head];
	check_untouched(&r->bufs[*id], *id);
	return &r->bufs[*id];
}

void mring_take_buf(struct ring *r)
{
	r->bufs[r->lent[r->lent_head]].state = MBUF_OURS;
	r->lent_head = (r->lent_head + 1) % r->shape.bufs;
	r->lent_count--;
	model.lent--;
}

/* ---- entries ---- */

static void submit(struct ring *r)
{
	const uint32_t count = r->sq_count;

	r->lent_count += r->lent_new;
	r->lent_new = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct io_uring_sqe sqe = r->sq[i];

		r->sq[i].opcode = IORING_OP_NOP; /* it is the kernel's now */
		mop_execute(r, &sqe);
	}
	if (r->linking)
		sim_fail("a submission tears a poll from the read that is linked to it");
	r->sq_count = 0;
}

void ring_reserve(struct ring *r, uint32_t n)
{
	if (n > r->sq_room)
		sim_fail("%u entries are more than the ring has room for", n);
	if (r->sq_count + n <= r->sq_room)
		return;
	if (!r->on)
		sim_fail("a ring that is off is full");
	cover(COVER_RING_FULL);
	submit(r);
}

struct io_uring_sqe *ring_sqe(struct ring *r)
{
	ring_reserve(r, 1);
	return stale_entry(&r->sq[r->sq_count++]);
}

/* ---- completions ---- */

bool mring_post(struct ring *r, const struct mop *op, int32_t res, uint32_t flags)
{
	const bool more = (flags & IORING_CQE_F_MORE) != 0;
	struct mdone *d;

	if (more && (r->visible < r->done_count || r->visible == r->room))
		return false;
	if (r->done_count == MODEL_RING_DONE)
		sim_fail("%u completions wait, and nobody takes them", MODEL_RING_DONE);
	d = &r->done[(r->done_head + r->done_count) % MODEL_RING_DONE];
	d->done = (struct ring_done){op->sqe.user_data, res, flags};
	d->opcode = op->sqe.opcode;
	d->last = !more;
	if (r->visible == r->done_count && r->visible < r->room)
		r->visible++;
	else
		cover(COVER_RING_OVERFLOW);
	r->done_count++;
	trace("  completion of op %u, user_data %#llx: %d, flags %#x", d->opcode,
	      (unsigned long long)op->sqe.user_data, res, flags);
	return true;
}

uint32_t ring_take(struct ring *r, struct ring_done *out, uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && r->visible > 0; n++) {
		out[n] = r->done[r->done_head].done;
		r->done_head = (r->done_head + 1) % MODEL_RING_DONE;
		r->done_count--;
		r->visible--;
	}
	return n;
}

bool ring_is_behind(const struct ring *r)
{
	return r->done_count > r->visible;
}

/* ---- the wait ---- */

/* True when somebody was put off: that is no rest. */
static bool work(struct ring *r)
{
	int order[MODEL_RING_OPS];
	bool put_off = false;
	int count = 0;

	for (int i = 0; i < r->op_top; i++)
		if (r->ops[i].state != MOP_NONE)
			order[count++] = i;
	while (count > 0) {
		const uint32_t pick = model.faults ? prng_below(&model.rng, (uint32_t)count) : 0;
		const int at = order[pick];
		const bool was_linked = r->ops[at].state == MOP_LINKED;

		order[pick] = order[--count];
		if (r->ops[at].state != MOP_NONE)
			put_off |= !mop_visit(r, &r->ops[at]);
		if (!was_linked && r->ops[at].state == MOP_LINKED)
			order[count++] = at; /* its poll let it go just now */
	}
	return put_off;
}

/* A poll of one wake-up believes the bits that it names: the read that is linked to it may find nothing. */
static void wake_somebody(struct ring *r)
{
	struct mop *op;

	if (r->op_top == 0)
		return;
	op = &r->ops[prng_below(&model.rng, (uint32_t)r->op_top)];
	op->wrong = op->wakes == 0 && op->linked;
	op->key = op->wrong ? EPOLLIN : 0;
	op->wakes++;
}

/* Of two times to wait; -1 = for ever. */
static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

int ring_enter(struct ring *r, int64_t timeout_ns)
{
	const bool busy = r->sq_count > 0;
	bool put_off;

	if (!r->on)
		sim_fail("a ring is entered that is off");
	if (timeout_ns == RING_ALL)
		timeout_ns = 0; /* this one brings all that is ready always */
	model_enter();
	submit(r);
	model.idle = false;
	timeout_ns = sooner(timeout_ns, model_look_at_alarms());
	if (site(SITE_WAIT_EMPTY))
		return 0; /* EINTR */
	if (site(SITE_SPURIOUS))
		wake_somebody(r);
	if (!model.faults)
		r->room = r->shape.completions;
	r->visible = r->done_count < r->room ? r->done_count : r->room;
	put_off = work(r);
	timeout_ns = sooner(timeout_ns, mop_next_timeout(r));
	if (r->done_count > 0 || put_off)
		return 0;
	if (timeout_ns != 0)
		model_judge_corks();
	if (!busy)
		model_wait(timeout_ns);
	return 0;
}
