/* SPDX-License-Identifier: MIT
 *
 * preface.c - what a client must send before it gets a server: its state, its deadline, its bytes.
 *
 * Owns the bytes of an incomplete preface. Bytes that go on to the server become the hold of its flow, so
 * that they go first. A read here is never so long that our own header would not fit in front of what it
 * leaves (greeting.c). A worker's thread.
 */
#include "preface.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/crash_report.h"
#include "weir/net/client_hello.h"
#include "weir/net/proxy.h"
#include "extra.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

/* Maximum bytes per read: together with an almost complete header before it, and our header in its place,
 * they fit into a buffer. */
#define PREFACE_READ_BYTES (2 * PROXY_MAX)

_Static_assert(PROXY_MAX + PREFACE_READ_BYTES + PROXY_MAX <= BUF_MAX,
	       "our header fits into one buffer with what follows the client's");
/* None is incomplete with CLIENT_HELLO_MAX bytes or more, so no read follows those of a whole read. */
_Static_assert(CLIENT_HELLO_MAX <= PROXY_MAX, "and with an almost complete hello and a read behind it");

/* What follows the preface, in a buffer that we hold; NULL when nothing does. */
static struct buf *rest_of_head(struct session *s, uint32_t used)
{
	struct buf *b = s->extra->head;

	check(used <= b->len);
	s->extra->head = NULL;
	b->off += used;
	b->len -= used;
	if (b->len > 0)
		return b;
	buf_put(&s->worker->loop.bufs, b);
	return NULL;
}

static void go_on_with(struct session *s, const struct preface_kind *kind, struct buf *rest)
{
	check(!io_is_pending(&s->flows[FLOW_TO_SERVER].rd)); /* client_watch() uses it next */
	if (rest != NULL)
		flow_hold(&s->flows[FLOW_TO_SERVER], rest, rest->len);
	s->fixed_ns = CLOCK_NEVER;
	kind->go_on(s);
}

/* The preface is complete: `used` bytes, including those of the last read. */
static void whole(struct session *s, const struct preface_kind *kind, uint32_t used)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	struct buf *rest = NULL;

	check(s->state == kind->state);
	if (s->extra->head != NULL) {
		rest = rest_of_head(s, used);
	} else if (used < op->len) {
		rest = io_buf_keep(&s->worker->loop, op, used);
		if (rest == NULL) {
			session_close(s, CLOSE_NO_RESOURCE);
			return;
		}
	}
	go_on_with(s, kind, rest);
}

/* Appends the bytes of a read to those that are kept. False without memory. */
static bool append(struct session *s, const struct io_op *op)
{
	struct buf_cache *bufs = &s->worker->loop.bufs;
	struct buf *b = s->extra->head;

	check(op->len > 0);
	check(b->len > 0 && b->off + b->len <= b->cap);
	if (b->off + b->len + op->len > b->cap) {
		struct buf *longer = buf_get(bufs, b->len + op->len);

		if (longer == NULL)
			return false;
		memcpy(longer->data, b->data + b->off, b->len);
		longer->len = b->len;
		buf_put(bufs, b);
		s->extra->head = b = longer;
	}
	check(b->off + b->len + op->len <= b->cap);
	memcpy(b->data + b->off + b->len, op->data, op->len);
	b->len += op->len;
	return true;
}

/* Looks at what is kept, or else at what the last read lends. */
static void look(struct session *s, const struct preface_kind *kind)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	struct session_extra *x = s->extra;
	const uint8_t *bytes = x->head != NULL ? x->head->data + x->head->off : op->data;
	const size_t len = x->head != NULL ? x->head->len : op->len;
	uint32_t used = 0;

	switch (kind->look(s, bytes, len, &used)) {
	case PREFACE_WHOLE:
		check(used <= len);
		whole(s, kind, used);
		break;
	case PREFACE_MORE:
		check(s->state == kind->state);
		if (x->head != NULL)
			break;
		x->head = io_buf_keep(&s->worker->loop, op, 0);
		if (x->head == NULL)
			session_close(s, CLOSE_NO_RESOURCE);
		break;
	case PREFACE_CLOSED:
		check(s->state == SESSION_CLOSING);
		break;
	}
}

static void bytes_came(struct session *s, const struct preface_kind *kind)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;

	check(op->len > 0);
	check(op->len <= PREFACE_READ_BYTES);
	if (s->extra->head == NULL || append(s, op))
		look(s, kind);
	else
		session_close(s, CLOSE_NO_RESOURCE);
}

static void client_ended(struct session *s, int result, const struct preface_kind *kind)
{
	const enum preface_step step = kind->ended(s, result);

	check(step != PREFACE_MORE);
	if (step == PREFACE_CLOSED)
		check(s->state == SESSION_CLOSING);
	else
		go_on_with(s, kind, s->extra->head != NULL ? rest_of_head(s, 0) : NULL);
}

static void bytes_or_end(struct session *s, int n, const struct preface_kind *kind)
{
	if (n > 0)
		bytes_came(s, kind);
	else if (unlikely(n == -ENOMEM)) /* for example, its worker has no ring at the moment */
		session_close(s, CLOSE_NO_RESOURCE);
	else
		client_ended(s, n, kind);
}

static void read_more(struct session *s, const struct preface_kind *kind)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	int n;

	while (s->state == kind->state) {
		op->kind = IO_READ;
		op->max = PREFACE_READ_BYTES;
		n = io_start(&s->worker->loop, op);
		if (n == IO_PENDING)
			return;
		bytes_or_end(s, n, kind);
	}
}

void preface_read_done(struct io_op *op, int result, const struct preface_kind *kind)
{
	struct session *s = flow_session(container_of(op, struct flow, rd));

	crash_report_session(s->number);
	check(s->state == kind->state);
	bytes_or_end(s, result, kind);
	read_more(s, kind);
}

void preface_begin(struct session *s, const struct preface_kind *kind, int64_t timeout_ns)
{
	struct flow *f = &s->flows[FLOW_TO_SERVER];

	if (session_extra(s) == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	check(s->extra->head == NULL);
	s->extra->head = flow_unhold(f);
	check(f->bytes_in == 0);
	session_set_state(s, kind->state);
	f->rd.done = kind->read_done;
	if (timeout_ns > 0)
		s->fixed_ns = s->accepted_ns + timeout_ns;
	session_rearm(s);
	if (s->extra->head != NULL && s->state == kind->state)
		look(s, kind);
	read_more(s, kind);
}
