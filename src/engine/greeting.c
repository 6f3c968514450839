/* SPDX-License-Identifier: MIT
 *
 * greeting.c - our PROXY header: the first bytes to a server that wants one.
 *
 * Made afresh for each connected server, and put into the flow's hold before what the client has already
 * sent, so that both leave in one write, and at once even when the client is silent. A worker's thread.
 */
#include "greeting.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/net/proxy.h"
#include "weir/sys/sys.h"
#include "extra.h"
#include "session.h"
#include "session_end.h"
#include "session_name.h"
#include "worker.h"

/* A number for this run of the process: an id that is unique within one run may not be across two. */
static uint64_t run_number(void)
{
	static _Atomic uint64_t number;
	uint64_t made = 0, first = 0;

	if (atomic_load(&number) == 0) {
		/* This fails only before the machine has its first random bytes; the time must do in that
		 * case. */
		if (getrandom(&made, sizeof(made), GRND_NONBLOCK) != (ssize_t)sizeof(made) || made == 0)
			made = (uint64_t)sys_now_ns() | 1;
		(void)atomic_compare_exchange_strong(&number, &first, made); /* fails if another worker was
									      * first */
	}
	return atomic_load(&number);
}

/* It ends with the session's id as printed by the log and `show sess`. The session number wraps after 2^32
 * sessions, by then in another second. */
static void make_unique_id(struct session *s)
{
	struct session_extra *x = s->extra;
	char *out = (char *)x->unique_id;
	const int n = snprintf(out, sizeof(x->unique_id), "%016llx-%llx-%u.%u",
			       (unsigned long long)run_number(),
			       (unsigned long long)(s->accepted_ns / NS_PER_SEC), s->worker->index,
			       s->number);

	check(n > 0 && (size_t)n < sizeof(x->unique_id));
	x->unique_id_len = (uint8_t)n;
}

static void to_ip6(struct addr_brief *a)
{
	check(a->family == AF_INET);
	memmove(a->ip + 12, a->ip, 4);
	memset(a->ip, 0, 10);
	memset(a->ip + 10, 0xff, 2);
	a->family = AF_INET6;
}

/* A header has one family for both addresses; any IPv4 address has an IPv6 form. */
static void match_families(struct proxy_send *send)
{
	if (send->src.family == AF_INET && send->dst.family == AF_INET6)
		to_ip6(&send->src);
	else if (send->src.family == AF_INET6 && send->dst.family == AF_INET)
		to_ip6(&send->dst);
}

/* The address that the client connected to: only a server that gets a header needs it, so only here is the
 * kernel queried. */
static void set_destination(struct session *s, struct proxy_send *send)
{
	const struct addr *bound = &s->entry->endpoint->addr;
	struct addr local = {.len = sizeof(local.un)};
	struct addr_brief *dst = &s->extra->dst;

	if (dst->family == 0 && s->client.family == AF_UNIX && addr_is_unix(bound)) {
		dst->family = AF_UNIX;
		send->unix_dst = bound->un.sun_path;
	} else if (dst->family == 0 &&
		   sys_getsockname(s->sides[SIDE_CLIENT].sock.fd, &local.sa, &local.len) == 0) {
		addr_to_brief(&local.sa, local.len, dst);
	}
	send->dst = *dst;
}

/* What the client's own header contained besides its addresses, as far as this server is to get it. */
static void pass_on(const struct session_extra *x, const struct config_server *server,
		    struct proxy_send *send)
{
	struct proxy_header h;
	enum proxy_error why;

	if (x->proxy == NULL)
		return;
	check(proxy_parse(x->proxy->data, x->proxy->len, &h, &why) == (ssize_t)x->proxy->len);
	if (server->proxy_pass && x->tlvs_trusted) {
		send->tlvs = h.tlvs;
		send->tlv_len = h.tlv_len;
	}
	if (h.family == AF_UNIX) {
		send->unix_src = h.unix_src;
		send->unix_dst = h.unix_dst;
	}
}

/* What the client's hello said. What a PROXY header said instead is passed on, or not, with its TLVs. */
static void name_server(const struct session_extra *x, struct proxy_send *send)
{
	if (!x->name.from_hello)
		return;
	send->authority = session_name_text(&x->name);
	send->authority_len = x->name.len;
	send->alpn = session_name_protocol(&x->name);
	send->alpn_len = x->name.protocol_len;
}

static void fill_send(struct session *s, struct proxy_send *send)
{
	const struct config_server *server = s->at->config;

	check(s->server_counted);
	check(server->send_proxy != CONFIG_SEND_PROXY_OFF);
	memset(send, 0, sizeof(*send));
	send->version = server->send_proxy == CONFIG_SEND_PROXY_V1 ? 1 : 2;
	send->crc32c = server->proxy_crc32c;
	send->src = s->client;
	set_destination(s, send);
	match_families(send);
	if (send->version == 1)
		return;
	pass_on(s->extra, server, send);
	name_server(s->extra, send);
	if (server->proxy_unique_id) {
		make_unique_id(s);
		send->unique_id = s->extra->unique_id;
		send->unique_id_len = s->extra->unique_id_len;
	}
}

/* Puts the header, and what is held after it, into one buffer. 0 or -errno. */
static int put_header(struct session *s, const struct proxy_send *send)
{
	struct buf_cache *bufs = &s->worker->loop.bufs;
	struct flow *f = &s->flows[FLOW_TO_SERVER];
	const uint32_t held = flow_held(f);
	const uint32_t room = (uint32_t)proxy_make_room(send);
	struct buf *b;
	ssize_t n;

	check(f->bytes_out == 0);
	check(held == (f->buf != NULL ? f->buf->len : 0)); /* the content of a pipe cannot be put after it */
	check(s->extra->header_sent == 0);
	check(room + held <= BUF_MAX);
	b = buf_get(bufs, room + held);
	if (b == NULL)
		return -ENOMEM;
	n = proxy_make(send, b->data, room);
	if (n < 0) {
		buf_put(bufs, b);
		return (int)n;
	}
	check((uint32_t)n <= room);
	if (held > 0)
		memcpy(b->data + n, f->buf->data + f->buf->off, held);
	b->len = (uint32_t)n + held;
	s->extra->header_sent = (uint32_t)n;
	counter_add(&s->worker->counters.header_bytes, (uint64_t)n);
	flow_hold(f, b, (uint32_t)n);
	return 0;
}

static bool say_header(struct session *s)
{
	struct proxy_send send;
	int err = -ENOMEM;

	if (session_extra(s) != NULL) {
		fill_send(s, &send);
		err = put_header(s, &send);
	}
	if (err == 0)
		return true;
	/* -ENOSPC: a client's header that was just short enough, plus what we add to it. */
	session_close(s, err == -ENOSPC ? CLOSE_PROXY_TOO_LONG : CLOSE_NO_RESOURCE);
	return false;
}

bool greeting_say(struct session *s)
{
	const struct config_server *server = s->at->config;

	check(s->state == SESSION_FORWARDING);
	check(s->flows[FLOW_TO_SERVER].state == FLOW_IDLE);
	if (unlikely(server->send_proxy != CONFIG_SEND_PROXY_OFF) && !say_header(s))
		return false;
	/* There is no further try, so nothing reads the client's header any more. */
	if (unlikely(s->extra != NULL))
		session_extra_drop_bufs(s);
	return true;
}
