/* SPDX-License-Identifier: MIT
 *
 * probe_steps.c - what a check sends and receives on its connection, and its verdict on it.
 *
 * Owns the request and the matchers for the expected strings. Main thread.
 */
#include "probe_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/sys/sys.h"
#include "probe_tls.h"

/* Maximum bytes of a string to show in a message. */
#define SHOWN_BYTES 40

/* "expected 'OK' not found". */
static void tell_string(struct probe *p, const char *format, const void *bytes, size_t len)
{
	char shown[SHOWN_BYTES + 1], text[PROBE_DETAIL_MAX];

	log_escape(bytes, len, shown, sizeof(shown));
	(void)snprintf(text, sizeof(text), format, shown); /* always fits */
	probe_tell(p, PROBE_L7RSP, text);
}

/* ---- sending ---- */

/* Called when everything has been sent: selects the next thing to send. If there is none, starts to receive
 * or finishes. */
static void next_step(struct probe *p)
{
	const struct config_check *c = p->check;
	const bool http = c->kind == CONFIG_CHECK_HTTP;

	if (probe_wire_is_due(p)) {
		probe_wire_secure(p);
	} else if (c->kind == CONFIG_CHECK_TLS && c->tls) {
		probe_tell(p, PROBE_L6OK, probe_tls_protocol(p->wire.tls));
	} else if (probe_talk_is(c->kind)) {
		p->out = probe_talk_question(&p->talk, &p->out_len);
		if (p->out == NULL)
			p->phase = PROBE_PHASE_LISTENING;
	} else if (c->kind == CONFIG_CHECK_TCP) {
		probe_tell(p, PROBE_L4OK, "");
	} else if (http && p->step == 0) {
		p->step++;
		p->out = (const uint8_t *)p->request;
		p->out_len = strlen(p->request);
	} else if (c->kind == CONFIG_CHECK_AGENT && p->step == c->step_count) {
		p->phase = PROBE_PHASE_LISTENING;
	} else if (!http && p->step == c->step_count) {
		probe_tell(p, PROBE_L7OK, "");
	} else if (http || c->steps[p->step].expect) {
		p->phase = PROBE_PHASE_LISTENING;
	} else {
		p->out = c->steps[p->step].bytes;
		p->out_len = c->steps[p->step].len;
		p->step++;
	}
}

/* Continues sending; false if it has to wait. */
static bool send_out(struct probe *p)
{
	ssize_t n;

	if (p->out_len == 0) {
		next_step(p);
		return true;
	}
	n = probe_wire_send(p, p->out, p->out_len);
	if (n == -EAGAIN) {
		probe_wire_wait(p, EV_WRITE);
		return false;
	}
	if (n < 0) {
		probe_wire_failed(p, (int)n);
		return false;
	}
	p->out += n;
	p->out_len -= (size_t)n;
	p->received = p->in_len - p->in_at;
	return true;
}

void probe_steps_say_goodbye(struct probe *p)
{
	const uint8_t *words;
	size_t len = 0;

	if (probe_talk_is(p->check->kind) && p->out_len == 0) {
		words = probe_talk_farewell(&p->talk, &len);
		if (words != NULL)
			(void)sys_send(p->fd, words, len); /* the verdict stands */
	}
	probe_wire_say_goodbye(p);
}

/* ---- receiving ---- */

static void judge_talk(struct probe *p, enum probe_answer answer)
{
	const char *detail = probe_talk_detail(&p->talk);
	const bool hello = p->check->kind == CONFIG_CHECK_TLS;

	switch (answer) {
	case PROBE_ANSWER_MORE:
		break;
	case PROBE_ANSWER_ASK:
		p->phase = PROBE_PHASE_SAYING;
		break;
	case PROBE_ANSWER_GOOD:
		probe_tell(p, hello ? PROBE_L6OK : PROBE_L7OK, detail);
		break;
	case PROBE_ANSWER_REFUSED:
		probe_tell(p, hello ? PROBE_L6RSP : PROBE_L7STS, detail);
		break;
	case PROBE_ANSWER_BROKEN:
		probe_tell(p, hello ? PROBE_L6RSP : PROBE_L7RSP, detail);
		break;
	}
}

static void judge_http(struct probe *p, enum probe_http_verdict verdict)
{
	const char *body = p->check->body;
	char status[32];

	(void)snprintf(status, sizeof(status), "status %u", p->http.status);
	switch (verdict) {
	case PROBE_HTTP_MORE:
		break;
	case PROBE_HTTP_GOOD:
		probe_tell(p, PROBE_L7OK, status);
		break;
	case PROBE_HTTP_SOFT_STOP:
		probe_tell(p, PROBE_L7OKC, status);
		break;
	case PROBE_HTTP_BAD_STATUS:
		probe_tell(p, PROBE_L7STS, status);
		break;
	case PROBE_HTTP_NOT_FOUND:
		tell_string(p, "expected '%s' not found", body, strlen(body));
		break;
	case PROBE_HTTP_BROKEN:
		probe_tell(p, PROBE_L7RSP, p->http.why);
		break;
	}
}

static void judge_expect(struct probe *p, enum probe_expected verdict)
{
	const struct probe_expect *x = &p->expects[p->expect_at];
	const struct config_check_step *fault = &x->steps[x->fault];

	switch (verdict) {
	case PROBE_EXPECT_MORE:
		break;
	case PROBE_EXPECT_GOOD:
		p->step += x->count;
		p->expect_at++;
		p->phase = PROBE_PHASE_SAYING;
		break;
	case PROBE_EXPECT_MISSING:
		tell_string(p, "expected '%s' not found", fault->bytes, fault->len);
		break;
	case PROBE_EXPECT_UNWANTED:
		tell_string(p, "unexpected '%s' received", fault->bytes, fault->len);
		break;
	}
}

/* What the line says is for the receiver of the result. The rest of the answer does not matter. */
static void judge_line(struct probe *p)
{
	if (p->line->ended)
		probe_tell(p, PROBE_CHECKED, "");
	else
		probe_tell(p, PROBE_L7TOUT, "Ignoring incomplete line from agent");
}

/* HAProxy's texts. */
static void judge_end_of_line(struct probe *p)
{
	if (p->received == 0)
		probe_tell(p, PROBE_L7RSP, "empty response from agent");
	else
		judge_line(p);
}

static void take_input(struct probe *p)
{
	const uint8_t *data = p->in + p->in_at;
	const size_t len = p->in_len - p->in_at;
	enum probe_expected verdict;
	size_t used = 0;

	if (p->check->kind == CONFIG_CHECK_AGENT) {
		p->in_at = p->in_len;
		if (agent_line_push(p->line, data, len))
			judge_line(p);
		return;
	}
	if (p->check->kind == CONFIG_CHECK_HTTP) {
		p->in_at = p->in_len;
		judge_http(p, probe_http_push(&p->http, data, len));
		return;
	}
	if (probe_talk_is(p->check->kind)) {
		const enum probe_answer answer = probe_talk_push(&p->talk, data, len, &used);

		p->in_at += used;
		judge_talk(p, answer);
		return;
	}
	verdict = probe_expect_push(&p->expects[p->expect_at], data, len, &used);
	p->in_at += used;
	judge_expect(p, verdict);
}

/* The server has closed, or enough was received. */
static void take_end(struct probe *p)
{
	if (p->check->kind == CONFIG_CHECK_AGENT)
		judge_end_of_line(p);
	else if (p->check->kind == CONFIG_CHECK_HTTP)
		judge_http(p, probe_http_end(&p->http));
	else if (probe_talk_is(p->check->kind))
		judge_talk(p, probe_talk_end(&p->talk));
	else
		judge_expect(p, probe_expect_end(&p->expects[p->expect_at]));
}

/* Receives more; false if it has to wait. */
static bool listen_on(struct probe *p)
{
	size_t room = sizeof(p->in);
	ssize_t n;

	if (p->in_at < p->in_len) {
		take_input(p);
		return true;
	}
	if (room > PROBE_BYTES_MAX - p->received)
		room = PROBE_BYTES_MAX - p->received;
	n = room > 0 ? probe_wire_recv(p, p->in, room) : 0;
	if (n == -EAGAIN) {
		probe_wire_wait(p, EV_READ);
		return false;
	}
	p->in_at = 0;
	p->in_len = n > 0 ? (size_t)n : 0;
	p->received += p->in_len;
	if (n < 0)
		probe_wire_failed(p, (int)n);
	else if (n == 0)
		take_end(p);
	return true;
}

/* Sends and receives until it has to wait. */
void probe_steps_run(struct probe *p)
{
	bool more = true;

	probe_wire_next_turn(p);
	while (more) {
		if (p->phase == PROBE_PHASE_SECURING)
			more = probe_wire_shake(p);
		else if (p->phase == PROBE_PHASE_SAYING)
			more = send_out(p);
		else
			more = p->phase == PROBE_PHASE_LISTENING && listen_on(p);
	}
}

/* ---- life ---- */

static const char *name_host(const struct server *s, char *buf)
{
	struct addr_spec spec = s->config->addr;

	/* With the client's port there is one for checks. */
	if (spec.client_port) {
		spec.client_port = false;
		spec.port = s->config->check_port != 0 ? s->config->check_port : s->backend->check.port;
		addr_set_port(&spec.addr, spec.port);
	}
	if (spec.kind != ADDR_UNIX)
		return addr_spec_format(&spec, buf);
	(void)snprintf(buf, ADDR_TEXT_MAX, "localhost"); /* fits */
	return buf;
}

bool probe_steps_fit(const struct probe *p)
{
	char host[ADDR_TEXT_MAX];

	return p->check->kind != CONFIG_CHECK_HTTP || p->check->host != NULL ||
	       strcmp(name_host(p->server, host), p->host) == 0;
}

/* HTTP/1.0 needs the least, and the server closes the connection. A check that names a host selects one of
 * several sites at the address, so it uses HTTP/1.1, as browsers do. */
static int make_request(struct probe *p)
{
	const struct config_check *c = p->check;
	const char *method = c->method != NULL ? c->method : "GET";
	const char *path = c->path != NULL ? c->path : "/";
	int n;

	if (c->host != NULL)
		n = asprintf(&p->request, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method,
			     path, c->host);
	else
		n = asprintf(&p->request, "%s %s HTTP/1.0\r\nHost: %s\r\n\r\n", method, path,
			     name_host(p->server, p->host));
	if (n >= 0)
		return probe_http_init(&p->http, c);
	p->request = NULL;
	return -ENOMEM;
}

/* The length of the run of expects that starts at `from`. */
static size_t row_of_expects(const struct config_check *c, size_t from)
{
	size_t n = 0;

	while (from + n < c->step_count && c->steps[from + n].expect)
		n++;
	return n;
}

static int make_expects(struct probe *p)
{
	const struct config_check *c = p->check;
	int err = 0;

	p->expects = calloc(c->step_count + 1, sizeof(*p->expects));
	if (p->expects == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->step_count && !err; i++) {
		const size_t count = row_of_expects(c, i);

		if (count == 0)
			continue;
		err = probe_expect_init(&p->expects[p->expect_count], &c->steps[i], count);
		p->expect_count += err ? 0 : 1;
		i += count - 1;
	}
	return err;
}

int probe_steps_init(struct probe *p)
{
	if (probe_talk_is(p->check->kind))
		probe_talk_init(&p->talk, p->check, p->server);
	if (p->check->kind == CONFIG_CHECK_HTTP)
		return make_request(p);
	return p->check->kind == CONFIG_CHECK_SEND ? make_expects(p) : 0;
}

void probe_steps_free(struct probe *p)
{
	probe_http_free(&p->http);
	for (size_t i = 0; i < p->expect_count; i++)
		probe_expect_free(&p->expects[i]);
	p->expect_count = 0;
	free(p->expects);
	p->expects = NULL;
	free(p->request);
	p->request = NULL;
}

void probe_steps_reset(struct probe *p)
{
	p->step = 0;
	p->expect_at = 0;
	p->out_len = 0;
	p->received = 0;
	p->in_at = 0;
	p->in_len = 0;
	probe_http_reset(&p->http);
	if (p->line != NULL)
		agent_line_reset(p->line);
	if (p->check != NULL && probe_talk_is(p->check->kind))
		probe_talk_reset(&p->talk);
	for (size_t i = 0; i < p->expect_count; i++)
		probe_expect_reset(&p->expects[i]);
}
