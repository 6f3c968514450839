/* SPDX-License-Identifier: MIT
 *
 * check_steps.c - what a check says over its connection, what it hears, and what it makes of that.
 *
 * Owns the request and the places of the strings that are waited for. Main thread.
 */
#include "check_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/sys/sys.h"

/* So much of a string is shown in a message. */
#define SHOWN_BYTES 40

/* "expected 'OK' not found". */
static void tell_string(struct check_talk *t, const char *format, const void *bytes, size_t len)
{
	char shown[SHOWN_BYTES + 1], text[CHECK_DETAIL_MAX];

	log_escape(bytes, len, shown, sizeof(shown));
	(void)snprintf(text, sizeof(text), format, shown); /* has room for it */
	check_talk_tell(t, CHECK_L7RSP, text);
}

/* ---- saying ---- */

/* Chooses what is said next, when there is nothing left of the last; else there is something to be heard,
 * or nothing more to be done. */
static void next_step(struct check_talk *t)
{
	const struct config_check *c = t->check;
	const bool http = c->kind == CONFIG_CHECK_HTTP;

	if (c->kind == CONFIG_CHECK_TCP) {
		check_talk_tell(t, CHECK_L4OK, "");
	} else if (http && t->step == 0) {
		t->step++;
		t->out = (const uint8_t *)t->request;
		t->out_len = strlen(t->request);
	} else if (!http && t->step == c->step_count) {
		check_talk_tell(t, CHECK_L7OK, "");
	} else if (http || c->steps[t->step].expect) {
		t->phase = CHECK_LISTENING;
	} else {
		t->out = c->steps[t->step].bytes;
		t->out_len = c->steps[t->step].len;
		t->step++;
	}
}

/* Goes on with what is being said; false when it must be waited for. */
static bool say(struct check_talk *t)
{
	ssize_t n;

	if (t->out_len == 0) {
		next_step(t);
		return true;
	}
	n = sys_send(t->fd, t->out, t->out_len);
	if (n == -EAGAIN) {
		check_talk_watch(t, EV_WRITE);
		return false;
	}
	if (n < 0) {
		check_talk_tell_error(t, CHECK_L7RSP, (int)n);
		return false;
	}
	t->out += n;
	t->out_len -= (size_t)n;
	t->received = t->in_len - t->in_at;
	return true;
}

/* ---- listening ---- */

static void judge_http(struct check_talk *t, enum check_http_verdict verdict)
{
	const char *body = t->check->body;
	char status[32];

	(void)snprintf(status, sizeof(status), "status %u", t->http.status);
	switch (verdict) {
	case CHECK_HTTP_MORE:
		break;
	case CHECK_HTTP_GOOD:
		check_talk_tell(t, CHECK_L7OK, status);
		break;
	case CHECK_HTTP_BAD_STATUS:
		check_talk_tell(t, CHECK_L7STS, status);
		break;
	case CHECK_HTTP_NOT_FOUND:
		tell_string(t, "expected '%s' not found", body, strlen(body));
		break;
	case CHECK_HTTP_BROKEN:
		check_talk_tell(t, CHECK_L7RSP, t->http.why);
		break;
	}
}

static void judge_expect(struct check_talk *t, enum check_expected verdict)
{
	const struct check_expect *x = &t->expects[t->expect_at];
	const struct config_check_step *fault = &x->steps[x->fault];

	switch (verdict) {
	case CHECK_EXPECT_MORE:
		break;
	case CHECK_EXPECT_GOOD:
		t->step += x->count;
		t->expect_at++;
		t->phase = CHECK_SAYING;
		break;
	case CHECK_EXPECT_MISSING:
		tell_string(t, "expected '%s' not found", fault->bytes, fault->len);
		break;
	case CHECK_EXPECT_UNWANTED:
		tell_string(t, "unwanted '%s' came", fault->bytes, fault->len);
		break;
	}
}

static void take_input(struct check_talk *t)
{
	const uint8_t *data = t->in + t->in_at;
	const size_t len = t->in_len - t->in_at;
	enum check_expected verdict;
	size_t used = 0;

	if (t->check->kind == CONFIG_CHECK_HTTP) {
		t->in_at = t->in_len;
		judge_http(t, check_http_push(&t->http, data, len));
		return;
	}
	verdict = check_expect_push(&t->expects[t->expect_at], data, len, &used);
	t->in_at += used;
	judge_expect(t, verdict);
}

/* The server says no more, or has said enough. */
static void take_end(struct check_talk *t)
{
	if (t->check->kind == CONFIG_CHECK_HTTP)
		judge_http(t, check_http_end(&t->http));
	else
		judge_expect(t, check_expect_end(&t->expects[t->expect_at]));
}

/* Hears some more; false when it must be waited for. */
static bool listen_on(struct check_talk *t)
{
	size_t room = sizeof(t->in);
	ssize_t n;

	if (t->in_at < t->in_len) {
		take_input(t);
		return true;
	}
	if (room > CHECK_BYTES_MAX - t->received)
		room = CHECK_BYTES_MAX - t->received;
	n = room > 0 ? sys_recv(t->fd, t->in, room, 0) : 0;
	if (n == -EAGAIN) {
		check_talk_watch(t, EV_READ);
		return false;
	}
	t->in_at = 0;
	t->in_len = n > 0 ? (size_t)n : 0;
	t->received += t->in_len;
	if (n < 0)
		check_talk_tell_error(t, CHECK_L7RSP, (int)n);
	else if (n == 0)
		take_end(t);
	return true;
}

/* Speaks and hears until there is something to be waited for. */
void check_steps_run(struct check_talk *t)
{
	bool more = true;

	while (more) {
		if (t->phase == CHECK_SAYING)
			more = say(t);
		else
			more = t->phase == CHECK_LISTENING && listen_on(t);
	}
}

/* ---- life ---- */

/* HTTP/1.0 asks for the least, and the server ends the connection; who names a host speaks to one of several
 * behind the address, as browsers do. */
static int make_request(struct check_talk *t, const struct config_server *s)
{
	const struct config_check *c = t->check;
	const char *method = c->method != NULL ? c->method : "GET";
	const char *path = c->path != NULL ? c->path : "/";
	char own[ADDR_TEXT_MAX];
	int n;

	if (c->host != NULL)
		n = asprintf(&t->request, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method,
			     path, c->host);
	else
		n = asprintf(&t->request, "%s %s HTTP/1.0\r\nHost: %s\r\n\r\n", method, path,
			     s->addr.kind == ADDR_UNIX ? "localhost" : addr_spec_format(&s->addr, own));
	if (n >= 0)
		return check_http_init(&t->http, c);
	t->request = NULL;
	return -ENOMEM;
}

/* How many expects stand together from `from` on. */
static size_t row_of_expects(const struct config_check *c, size_t from)
{
	size_t n = 0;

	while (from + n < c->step_count && c->steps[from + n].expect)
		n++;
	return n;
}

static int make_expects(struct check_talk *t)
{
	const struct config_check *c = t->check;
	int err = 0;

	t->expects = calloc(c->step_count + 1, sizeof(*t->expects));
	if (t->expects == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->step_count && !err; i++) {
		const size_t count = row_of_expects(c, i);

		if (count == 0)
			continue;
		err = check_expect_init(&t->expects[t->expect_count], &c->steps[i], count);
		t->expect_count += err ? 0 : 1;
		i += count - 1;
	}
	return err;
}

int check_steps_init(struct check_talk *t, const struct config_server *s)
{
	if (t->check->kind == CONFIG_CHECK_HTTP)
		return make_request(t, s);
	return t->check->kind == CONFIG_CHECK_SEND ? make_expects(t) : 0;
}

void check_steps_free(struct check_talk *t)
{
	check_http_free(&t->http);
	for (size_t i = 0; i < t->expect_count; i++)
		check_expect_free(&t->expects[i]);
	t->expect_count = 0;
	free(t->expects);
	t->expects = NULL;
	free(t->request);
	t->request = NULL;
}

void check_steps_reset(struct check_talk *t)
{
	t->step = 0;
	t->expect_at = 0;
	t->out_len = 0;
	t->received = 0;
	t->in_at = 0;
	t->in_len = 0;
	check_http_reset(&t->http);
	for (size_t i = 0; i < t->expect_count; i++)
		check_expect_reset(&t->expects[i]);
}
