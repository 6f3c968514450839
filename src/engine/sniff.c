/* SPDX-License-Identifier: MIT
 *
 * sniff.c - the client's TLS hello, which says where it wants to go: what is not one, what comes too late.
 * With `sniff = auto` also which other protocol the client speaks, and with `sniff = rdp` its RDP request
 * instead, whose cookie names a server.
 *
 * preface.c collects its bytes, which all go on to the server; net/client_hello.h and net/rdp_request.h
 * describe them. Only a client that is silent, or stops within its hello, waits for the timeout. A worker's
 * thread.
 */
#include "sniff.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/net/client_hello.h"
#include "weir/net/rdp_request.h"
#include "admission.h"
#include "connect.h"
#include "extra.h"
#include "preface.h"
#include "session.h"
#include "session_deadline.h"
#include "session_end.h"
#include "session_name.h"
#include "worker.h"

static const struct config_sniff *sniff_config(const struct session *s)
{
	return &s->entry->front->config->sniff;
}

static enum preface_step refuse(struct session *s, enum close_reason why)
{
	session_close(s, why);
	return PREFACE_CLOSED;
}

/* `hello` is NULL for what is not TLS; `proto` is one of enum config_proto, 0 of a silent client. */
static enum preface_step decide(struct session *s, const struct client_hello *hello, unsigned proto)
{
	s->extra->proto = (uint8_t)proto;
	if (hello == NULL && sniff_config(s)->required)
		return refuse(s, CLOSE_SNIFF_NOT_TLS);
	if (hello != NULL && !session_name_take_hello(s, hello))
		return refuse(s, CLOSE_NO_RESOURCE);
	if (!admission_choose_backend(s, hello, sniff_config(s)->kind == CONFIG_SNIFF_AUTO ? proto : 0))
		return PREFACE_CLOSED;
	return PREFACE_WHOLE;
}

/* These bytes are not TLS. `over`: there will be no more. */
static enum preface_step look_at_text(struct session *s, const uint8_t *bytes, size_t len, bool over)
{
	if (sniff_config(s)->kind != CONFIG_SNIFF_AUTO)
		return decide(s, NULL, CONFIG_PROTO_OTHER);
	switch (opening_read(&s->extra->opening, bytes, len)) {
	case OPENING_MORE:
		return over ? decide(s, NULL, CONFIG_PROTO_OTHER) : PREFACE_MORE;
	case OPENING_HTTP:
		return decide(s, NULL, CONFIG_PROTO_HTTP);
	case OPENING_SSH:
		return decide(s, NULL, CONFIG_PROTO_SSH);
	case OPENING_NEITHER:
		break;
	}
	return decide(s, NULL, CONFIG_PROTO_OTHER);
}

static enum preface_step look_at_hello(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used)
{
	/* Not even a reader that were wrong may let so much pile up that the next read does not fit behind
	 * it. */
	const bool over = len >= CLIENT_HELLO_MAX || s->extra->sniffed_late;
	struct client_hello hello;

	(void)used; /* all of it goes on to the server */
	switch (client_hello_read(&s->extra->hello, bytes, len, &hello)) {
	case CLIENT_HELLO_MORE:
		return over ? decide(s, NULL, CONFIG_PROTO_OTHER) : PREFACE_MORE;
	case CLIENT_HELLO_WHOLE:
		return decide(s, &hello, CONFIG_PROTO_TLS);
	case CLIENT_HELLO_NOT:
		break;
	}
	return look_at_text(s, bytes, len, over);
}

/* `proto` is RDP if a request came, otherwise as above. */
static enum preface_step decide_rdp(struct session *s, unsigned proto)
{
	s->extra->proto = (uint8_t)proto;
	if (proto != CONFIG_PROTO_RDP && sniff_config(s)->required)
		return refuse(s, CLOSE_SNIFF_NOT_RDP);
	return admission_choose_backend(s, NULL, 0) ? PREFACE_WHOLE : PREFACE_CLOSED;
}

static enum preface_step look_at_rdp(struct session *s, const uint8_t *bytes, size_t len, uint32_t *used)
{
	const bool over = len >= CLIENT_HELLO_MAX || s->extra->sniffed_late; /* as in look_at_hello() */

	(void)used; /* all of it goes on to the server */
	switch (rdp_request_read(&s->extra->rdp, bytes, len, &s->extra->home)) {
	case RDP_REQUEST_MORE:
		return over ? decide_rdp(s, CONFIG_PROTO_OTHER) : PREFACE_MORE;
	case RDP_REQUEST_COOKIE:
	case RDP_REQUEST_PLAIN:
		return decide_rdp(s, CONFIG_PROTO_RDP);
	case RDP_REQUEST_NOT:
		break;
	}
	return decide_rdp(s, CONFIG_PROTO_OTHER);
}

/* Nothing more comes that would complete it. */
static enum preface_step decide_incomplete(struct session *s)
{
	const unsigned proto = s->extra->head != NULL ? CONFIG_PROTO_OTHER : 0;

	if (sniff_config(s)->kind == CONFIG_SNIFF_RDP)
		return decide_rdp(s, proto);
	return decide(s, NULL, proto);
}

/* The client has ended its side, or its read was cancelled by sniff_late(): what it has sent must do. One
 * that has sent nothing may still want to hear what the server says. */
static enum preface_step client_ended(struct session *s, int result)
{
	if (result == 0 && s->extra->head == NULL && sniff_config(s)->required) {
		session_close(s, CLOSE_CLIENT_GONE);
		s->ends[SIDE_CLIENT] = SIDE_CLOSE;
		return PREFACE_CLOSED;
	}
	if (result == 0 || (result == -ECANCELED && s->extra->sniffed_late))
		return decide_incomplete(s);
	return refuse(s, CLOSE_CLIENT_GONE);
}

static void read_done(struct io_op *op, int result);

static const struct preface_kind hello_kind = {
	.state = SESSION_SNIFFING,
	.look = look_at_hello,
	.ended = client_ended,
	.read_done = read_done,
	.go_on = connect_begin,
};

static void read_done(struct io_op *op, int result)
{
	preface_read_done(op, result, &hello_kind);
}

static void read_rdp_done(struct io_op *op, int result);

static const struct preface_kind rdp_kind = {
	.state = SESSION_SNIFFING,
	.look = look_at_rdp,
	.ended = client_ended,
	.read_done = read_rdp_done,
	.go_on = connect_begin,
};

static void read_rdp_done(struct io_op *op, int result)
{
	preface_read_done(op, result, &rdp_kind);
}

static int64_t timeout_ns(const struct session *s)
{
	const int64_t own_ns = sniff_config(s)->timeout_ns;

	return own_ns >= 0 ? own_ns : s->entry->front->config->timeouts.handshake_ns;
}

void sniff_begin(struct session *s)
{
	check(s->entry->front->sniffs);
	if (session_extra(s) == NULL) {
		session_close(s, CLOSE_NO_RESOURCE);
		return;
	}
	if (sniff_config(s)->kind == CONFIG_SNIFF_RDP) {
		rdp_request_begin(&s->extra->rdp);
		preface_begin(s, &rdp_kind, timeout_ns(s));
		return;
	}
	client_hello_begin(&s->extra->hello);
	opening_begin(&s->extra->opening);
	preface_begin(s, &hello_kind, timeout_ns(s));
}

/* The read comes back before the session goes on: it may have taken bytes already. */
void sniff_late(struct session *s)
{
	struct io_op *op = &s->flows[FLOW_TO_SERVER].rd;

	check(s->state == SESSION_SNIFFING);
	check(io_is_pending(op));
	if (sniff_config(s)->required) {
		session_close(s, CLOSE_SNIFF_TIMEOUT);
		return;
	}
	s->extra->sniffed_late = true;
	s->fixed_ns = CLOCK_NEVER;
	session_rearm(s);
	if (s->state == SESSION_SNIFFING)
		io_cancel(&s->worker->loop, op);
}
