/* SPDX-License-Identifier: MIT
 *
 * proxy_preface.c - the client's PROXY header: who must send one, and what is done with its content.
 *
 * preface.c collects its bytes; net/proxy.h describes them. A worker's thread.
 */
#include "proxy_preface.h"

#include <string.h>

#include "weir/balance/fallback.h"
#include "weir/base/check.h"
#include "weir/entry/rules.h"
#include "weir/net/netset.h"
#include "weir/net/proxy.h"
#include "admission.h"
#include "extra.h"
#include "preface.h"
#include "session.h"
#include "session_end.h"
#include "session_name.h"
#include "worker.h"

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

/* ---- a complete header ---- */

/* Does the configuration name this sender? A client of a Unix socket counts as named, by the socket's mode
 * and allow-uid. Called before the address in its header replaces its own. */
static bool is_named(const struct session *s)
{
	const struct netset *trusted = s->entry->front->config->trusted;

	return s->client.family == AF_UNIX || (trusted != NULL && netset_has(trusted, &s->client));
}

static bool has_v2_server(const struct backend *b, bool tlvs)
{
	return atomic_load_explicit(tlvs ? &b->passes_tlvs : &b->sends_v2, memory_order_relaxed);
}

/* Has this backend one, or a fallback that it may be given up for? */
static bool leads_to_v2(const struct backend *b, bool tlvs)
{
	for (unsigned n = 0; b != NULL && n <= CONFIG_FALLBACK_MAX; n++, b = backend_fallback(b))
		if (has_v2_server(b, tlvs))
			return true;
	return false;
}

/* May a server get what only a v2 header can carry, its `tlvs` or its paths? It is not known yet which
 * backend it will be. */
static bool may_pass_on(const struct session *s, bool tlvs)
{
	const struct frontend_settings *front = s->entry->front;

	for (size_t i = 0; i < front->config->route_count; i++)
		if (leads_to_v2(front->routes[i], tlvs))
			return true;
	return leads_to_v2(front->backend, tlvs);
}

/* An IPv4 client has one address, however it was written: lists and balancing must not see two. */
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

/* Takes over the content of the header; its bytes are copied if a server may get them. False without memory.
 * Its TLVs count only if the configuration names the sender. */
static bool adopt_header(struct session *s, const struct proxy_header *h, const uint8_t *bytes, size_t len)
{
	struct session_extra *x = s->extra;

	check(x->proxy == NULL);
	check(len <= PROXY_MAX);
	x->tlvs_trusted = h->tlv_len > 0 && is_named(s);
	if (x->tlvs_trusted)
		note_unique_id(x, h);
	if (x->tlvs_trusted && s->entry->front->names && !session_name_take_tlvs(s, h->tlvs, h->tlv_len))
		return false;
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

static enum preface_step look_at_header(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used)
{
	struct proxy_header h;
	enum proxy_error why;
	const ssize_t n = proxy_parse(bytes, len, &h, &why);

	if (n == 0)
		return PREFACE_MORE;
	if (n < 0) {
		session_close(s, close_reason_of(why));
		return PREFACE_CLOSED;
	}
	check((size_t)n <= len);
	*used = (uint32_t)n;
	if (adopt_header(s, &h, bytes, (size_t)n))
		return PREFACE_WHOLE;
	session_close(s, CLOSE_NO_RESOURCE);
	return PREFACE_CLOSED;
}

/* A client that sends nothing at all is a balancer's probe, which is not an error. */
static enum preface_step client_ended(struct session *s, int result)
{
	(void)result; /* FIN or not, its header will never be complete */
	if (s->extra->head != NULL) {
		session_close(s, CLOSE_PROXY_TRUNCATED);
		return PREFACE_CLOSED;
	}
	session_close(s, CLOSE_CLIENT_GONE);
	s->ends[SIDE_CLIENT] = SIDE_CLOSE;
	return PREFACE_CLOSED;
}

/* ---- the beginning ---- */

static void read_done(struct io_op *op, int result);

static const struct preface_kind proxy_kind = {
	.state = SESSION_HANDSHAKE,
	.look = look_at_header,
	.ended = client_ended,
	.read_done = read_done,
	.go_on = admission_enter,
};

static void read_done(struct io_op *op, int result)
{
	preface_read_done(op, result, &proxy_kind);
}

static bool start(struct session *s)
{
	/* A client that must send one and is not trusted has already been turned away. */
	if (s->entry->config->accept_proxy == CONFIG_ACCEPT_PROXY_OPTIONAL &&
	    !rules_trust(s->entry->front->config, &s->client))
		return false;
	check(s->judged);
	s->judged = false;
	preface_begin(s, &proxy_kind, s->entry->front->config->timeouts.handshake_ns);
	if (s->state == SESSION_HANDSHAKE)
		admission_owes_header(s);
	return true;
}

bool proxy_preface_start(struct session *s)
{
	return unlikely(s->entry->config->accept_proxy != CONFIG_ACCEPT_PROXY_OFF) && start(s);
}
