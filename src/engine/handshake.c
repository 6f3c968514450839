/* SPDX-License-Identifier: MIT
 *
 * handshake.c - the client's PROXY header: who must send one, and what is read until it is whole.
 *
 * Owns the bytes of a header that is on its way. What came behind it becomes the hold of the flow to the
 * server, so that it goes first. A read here is never so long that our own header would not fit in front
 * of what it leaves (greeting.c). A worker's thread.
 */
#include "handshake.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/last_words.h"
#include "weir/net/netset.h"
#include "weir/net/proxy.h"
#include "admission.h"
#include "extra.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "worker.h"

/* One read: with a header that is almost whole before it, and ours in its place, it fits into a buffer. */
#define HANDSHAKE_READ_BYTES (2 * PROXY_MAX)

_Static_assert(PROXY_MAX + HANDSHAKE_READ_BYTES + PROXY_MAX <= BUF_MAX,
	       "our header goes into one buffer with what came behind the client's");

static enum close_reason close_reason_of(enum proxy_error why)
{
	switch (why) {
	case PROXY_NOT_HEADER:
		return CLOSE_PROXY_NOT_HEADER;
	case PROXY_BAD_V1:
		return CLOSE_PROXY_BAD_V1;
	case PROXY_BAD_VERSION:
		return CLOSE_PROXY_BAD_VERSION;
	case PROXY_BAD_FAMILY:
		return CLOSE_PROXY_BAD_FAMILY;
	case PROXY_BAD_LENGTH:
		return CLOSE_PROXY_BAD_LENGTH;
	case PROXY_BAD_TLV:
		return CLOSE_PROXY_BAD_TLV;
	case PROXY_BAD_CHECKSUM:
		return CLOSE_PROXY_BAD_CHECKSUM;
	case PROXY_TOO_LONG:
		return CLOSE_PROXY_TOO_LONG;
	default:
		return CLOSE_INTERNAL;
	}
}

/* ---- a whole header ---- */

/* Is it a sender that the configuration names? A client of a Unix socket is, by the socket's mode and
 * allow-uid. Asked before its header takes the place of its own address. */
static bool is_named(const struct session *s)
{
	const struct netset *trusted = s->endpoint->frontend->config->trusted;

	return s->client.family == AF_UNIX || (trusted != NULL && netset_has(trusted, &s->client));
}

static bool has_v2_server(const struct backend *b, bool tlvs)
{
	for (size_t i = 0; i < b->config->server_count; i++) {
		const struct config_server *server = &b->config->servers[i];

		if (server->send_proxy == CONFIG_SEND_PROXY_V2 && (!tlvs || server->proxy_pass))
			return true;
	}
	return false;
}

/* May a server get what only a v2 header can say, its `tlvs` or its paths? Which backend it will be is not
 * known yet. */
static bool may_pass_on(const struct session *s, bool tlvs)
{
	const struct frontend *fe = s->endpoint->frontend;

	for (size_t i = 0; i < fe->config->route_count; i++)
		if (has_v2_server(fe->routes[i], tlvs))
			return true;
	return has_v2_server(fe->backend, tlvs);
}

/* An IPv4 client is one, however it was written: lists and balancing must not see two. */
static struct addr_brief plain_address(const struct addr_brief *a)
{
	struct addr_brief plain = {.family = AF_INET, .port = a->port};

	if (a->family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)a->ip))
		return *a;
	memcpy(plain.ip, a->ip + 12, 4);
	return plain;
}

static void note_unique_id(struct session_extra *x, const struct proxy_header *h)
{
	size_t len;
	const uint8_t *id = proxy_tlv_find(h->tlvs, h->tlv_len, PROXY_TLV_UNIQUE_ID, &len);

	if (id == NULL)
		return;
	check(len <= sizeof(x->unique_id));
	memcpy(x->unique_id, id, len);
	x->unique_id_len = (uint8_t)len;
}

/* Takes over what it says; its bytes are copied where a server may get them. False without memory. Its TLVs
 * count for something only when the sender is a named one. */
static bool adopt_header(struct session *s, const struct proxy_header *h, const uint8_t *bytes, size_t len)
{
	struct session_extra *x = s->extra;

	x->tlvs_trusted = h->tlv_len > 0 && is_named(s);
	if (x->tlvs_trusted)
		note_unique_id(x, h);
	if (h->family != 0) {
		s->client = plain_address(&h->src);
		x->dst = plain_address(&h->dst);
	}
	if (!(x->tlvs_trusted && may_pass_on(s, true)) && !(h->family == AF_UNIX && may_pass_on(s, false)))
		return true;
	x->proxy = buf_get(&s->worker->loop.bufs, (uint32_t)len);
	if (x->proxy == NULL)
		return false;
	memcpy(x->proxy->data, bytes, len);
	x->proxy->len = (uint32_t)len;
	return true;
}

/* What is behind the header in a buffer of ours; NULL when that is nothing. */
static struct buf *rest_of_head(struct session *s, uint32_t header)
{
	struct buf *b = s->extra->head;

	s->extra->head = NULL;
	b->off += header;
	b->len -= header;
	if (b->len > 0)
		return b;
	buf_put(&s->worker->loop.bufs, b);
	return NULL;
}

static void begin(struct session *s, struct buf *rest)
{
	if (rest != NULL)
		flow_hold(&s->flows[FLOW_TO_SERVER], rest, rest->len);
	s->fixed_ns = CLOCK_NEVER;
	admission_enter(s);
}

/* ---- reading ---- */

/* The header is whole: `header` bytes of it, the last read included. */
static void header_came(struct session *s, const struct proxy_header *h, const uint8_t *bytes,
			uint32_t header)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	struct buf *rest = NULL;

	if (!adopt_header(s, h, bytes, header)) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	if (s->extra->head != NULL) {
		rest = rest_of_head(s, header);
	} else if (header < op->len) {
		rest = io_buf_keep(&s->worker->loop, op, header);
		if (rest == NULL) {
			session_close(s, CLOSE_NO_RESOURCE);
			return;
		}
	}
	begin(s, rest);
}

/* Puts the bytes of a read behind those that are kept. False without memory. */
static bool append(struct session *s, const struct io_op *op)
{
	struct buf_cache *bufs = &s->worker->loop.bufs;
	struct buf *b = s->extra->head;

	if (b->off + b->len + op->len > b->cap) {
		struct buf *longer = buf_get(bufs, b->len + op->len);

		if (longer == NULL)
			return false;
		memcpy(longer->data, b->data + b->off, b->len);
		longer->len = b->len;
		buf_put(bufs, b);
		s->extra->head = b = longer;
	}
	memcpy(b->data + b->off + b->len, op->data, op->len);
	b->len += op->len;
	return true;
}

/* A client that says nothing at all is a balancer's probe: no fault of anybody. */
static void client_ended(struct session *s)
{
	if (s->extra->head != NULL) {
		session_close(s, CLOSE_PROXY_TRUNCATED);
		return;
	}
	session_close(s, CLOSE_CLIENT_GONE);
	s->ends[SIDE_CLIENT] = SIDE_CLOSE;
}

static void bytes_came(struct session *s)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	struct session_extra *x = s->extra;
	const uint8_t *bytes = op->data;
	size_t len = op->len;
	struct proxy_header h;
	enum proxy_error why;
	ssize_t n;

	if (x->head != NULL) {
		if (!append(s, op)) {
			session_close(s, CLOSE_NO_RESOURCE);
			return;
		}
		bytes = x->head->data + x->head->off;
		len = x->head->len;
	}
	n = proxy_parse(bytes, len, &h, &why);
	if (n < 0) {
		session_close(s, close_reason_of(why));
	} else if (n > 0) {
		header_came(s, &h, bytes, (uint32_t)n);
	} else if (x->head == NULL) {
		x->head = io_buf_keep(&s->worker->loop, op, 0);
		if (x->head == NULL)
			session_close(s, CLOSE_NO_RESOURCE);
	}
}

static void bytes_or_end(struct session *s, int n)
{
	if (n > 0)
		bytes_came(s);
	else if (unlikely(n == -ENOMEM)) /* for example, its worker has no ring for the moment */
		session_close(s, CLOSE_NO_RESOURCE);
	else
		client_ended(s);
}

static void read_more(struct session *s)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;
	int n;

	while (s->state == SESSION_HANDSHAKE) {
		op->kind = IO_READ;
		op->max = HANDSHAKE_READ_BYTES;
		n = io_start(&s->worker->loop, op);
		if (n == IO_PENDING)
			return;
		bytes_or_end(s, n);
	}
}

static void read_done(struct io_op *op, int result)
{
	struct session *s = flow_session(container_of(op, struct flow, rd));

	last_words_session(s->number);
	check(s->state == SESSION_HANDSHAKE);
	bytes_or_end(s, result);
	read_more(s);
}

/* ---- the beginning and the end ---- */

static bool start(struct session *s)
{
	const int64_t timeout_ns = s->endpoint->frontend->config->timeouts.handshake_ns;

	/* Who must send one and is not trusted has been turned away. */
	if (s->endpoint->config->accept_proxy == CONFIG_ACCEPT_PROXY_OPTIONAL &&
	    !admission_trusts(s->endpoint->frontend, &s->client))
		return false;
	s->judged = false;
	if (session_extra(s) == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return true;
	}
	session_set_state(s, SESSION_HANDSHAKE);
	s->flows[FLOW_TO_SERVER].rd.done = read_done;
	if (timeout_ns > 0)
		s->fixed_ns = s->accepted_ns + timeout_ns;
	session_rearm(s);
	read_more(s);
	if (s->state == SESSION_HANDSHAKE)
		admission_owes_header(s);
	return true;
}

bool handshake_start(struct session *s)
{
	return unlikely(s->endpoint->config->accept_proxy != CONFIG_ACCEPT_PROXY_OFF) && start(s);
}

void handshake_drop(struct session *s)
{
	struct session_extra *x = s->extra;

	if (x->head != NULL)
		buf_put(&s->worker->loop.bufs, x->head);
	x->head = NULL;
	if (x->proxy != NULL)
		buf_put(&s->worker->loop.bufs, x->proxy);
	x->proxy = NULL;
}
