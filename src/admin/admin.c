/* SPDX-License-Identifier: MIT
 *
 * admin.c - the admin protocol: the client sends a line of commands, gets the answers, and is disconnected.
 *
 * Owns its clients, at most ADMIN_CLIENTS_MAX, which admin_accept.c adds. Each has a timer in every state;
 * only client_set_state() changes the state. While workers are asked, the question's deadline replaces the
 * timer. A reload takes as long as it takes; meanwhile the timer looks for a client that has gone. Generating
 * and writing an answer alternate: see client_go_on(). After `prompt` a connection accepts line after line,
 * as tools for HAProxy expect. Main thread.
 */
#include "admin_client.h"

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/low_fds.h"
#include "weir/sys/sys.h"
#include "admin_accept.h"
#include "admin_make.h"
#include "admin_places.h"
#include "admin_reload.h"

#define LINGER_WAIT_S    1.
#define LINGER_BYTES_MAX 65536u

static void on_client(struct ev_loop *loop, struct ev_io *io, int revents);
static void on_client_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void on_answer(void *arg);
static void client_go_on(struct client *c);

struct admin *admin_new(struct ev_loop *loop, struct admin_socket *configured, struct admin_socket *control,
			const struct admin_context *ctx)
{
	struct admin *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->loop = loop;
	a->ctx = ctx;
	a->line_s = ADMIN_LINE_S;
	a->answer_s = ADMIN_ANSWER_S;
	a->gone_s = ADMIN_GONE_S;
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		struct client *c = &a->clients[i];

		c->admin = a;
		c->fd = -1;
		question_init(&c->asked, ctx->stats, on_answer, c);
		admin_wait_init(c);
		ev_init(&c->io, on_client);
		c->io.data = c;
		ev_init(&c->timer, on_client_timer);
		c->timer.data = c;
	}
	admin_reserve_init(&a->reserve);
	admin_reserve_refill(&a->reserve);
	admin_accept_start(a, &a->configured, configured);
	admin_accept_start(a, &a->control, control);
	return a;
}

static void client_set_state(struct client *c, enum client_state to)
{
	static const unsigned allowed[] = {
		[CLIENT_FREE] = 1u << CLIENT_READING,
		[CLIENT_READING] = 1u << CLIENT_ASKING | 1u << CLIENT_RELOADING | 1u << CLIENT_WRITING |
				   1u << CLIENT_FREE,
		[CLIENT_ASKING] = 1u << CLIENT_ASKING | 1u << CLIENT_RELOADING | 1u << CLIENT_WRITING |
				  1u << CLIENT_FREE,
		[CLIENT_RELOADING] = 1u << CLIENT_ASKING | 1u << CLIENT_RELOADING | 1u << CLIENT_WRITING |
				     1u << CLIENT_FREE,
		[CLIENT_WRITING] = 1u << CLIENT_ASKING | 1u << CLIENT_RELOADING | 1u << CLIENT_LINGERING |
				   1u << CLIENT_READING | 1u << CLIENT_FREE,
		[CLIENT_LINGERING] = 1u << CLIENT_FREE,
	};

	check((allowed[c->state] & 1u << to) != 0);
	c->state = to;
}

static void client_set_timer(struct client *c, double seconds)
{
	ev_timer_stop(c->admin->loop, &c->timer);
	ev_timer_set(&c->timer, seconds, 0.);
	ev_timer_start(c->admin->loop, &c->timer);
}

/* Waits for `events`, or only for the timer if they are 0. */
static void client_wait(struct client *c, int events)
{
	ev_io_stop(c->admin->loop, &c->io);
	ev_io_set(&c->io, c->fd, events);
	if (events != 0)
		ev_io_start(c->admin->loop, &c->io);
}

void client_close(struct client *c)
{
	struct admin *a = c->admin;

	client_set_state(c, CLIENT_FREE);
	ev_io_stop(a->loop, &c->io);
	ev_timer_stop(a->loop, &c->timer);
	low_fds_close(c->fd);
	c->fd = -1;
	question_withdraw(&c->asked);
	admin_reload_forget(c);
	admin_wait_forget(c);
	text_free(&c->answer);
	admin_request_free(&c->request);
	admin_reserve_refill(&a->reserve);
	admin_accept_again(a);
}

void admin_free(struct admin *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		if (a->clients[i].state != CLIENT_FREE)
			client_close(&a->clients[i]);
	admin_accept_stop(&a->configured);
	admin_accept_stop(&a->control);
	admin_reserve_free(&a->reserve);
	free(a);
}

void client_begin(struct client *c, int fd, const struct admin_peer *peer)
{
	client_set_state(c, CLIENT_READING);
	c->fd = fd;
	c->peer = *peer;
	admin_places_progress(c);
	admin_request_init(&c->request);
	c->linger = false;
	c->prompt = false;
	c->quit = false;
	c->wait_s = ADMIN_WAIT_S;
	c->rest = NULL;
	c->answered = 0;
	c->due = false;
	c->changing = false;
	c->question.verdict = ADMIN_ANSWERED;
	c->asker = NULL;
	c->sent = 0;
	c->said = false;
	c->whole = false;
	c->thrown_away = 0;
	text_init(&c->answer);
	client_wait(c, EV_READ);
	client_set_timer(c, ADMIN_WAIT_S);
}

/* Discards what the client sends. Closes at the end of the stream, or if it sends too much. */
static void client_linger(struct client *c)
{
	char scrap[4096];
	ssize_t n;

	check(c->state == CLIENT_LINGERING);
	do {
		n = sys_recv(c->fd, scrap, sizeof(scrap), 0);
		c->thrown_away += n > 0 ? (size_t)n : 0;
	} while (n > 0 && c->thrown_away < LINGER_BYTES_MAX);
	if (n != -EAGAIN)
		client_close(c);
}

/* The answer and the prompt after it have been written: on to the next line. */
static void client_next_line(struct client *c)
{
	admin_request_drop_line(&c->request);
	c->answered = 0;
	c->said = false;
	c->whole = false;
	client_set_state(c, CLIENT_READING);
	client_wait(c, EV_READ);
	client_set_timer(c, c->request.len == 0 ? c->wait_s : c->admin->line_s);
	admin_places_progress(c);
	/* It may be here already. Process it from the loop, so that many lines do not recurse deeply. */
	if (c->request.len > 0)
		ev_feed_event(c->admin->loop, &c->io, EV_READ);
}

/* The answer has been written. */
static void client_finish(struct client *c)
{
	char scrap[4096];

	if (c->prompt) {
		client_next_line(c);
		return;
	}
	/* FIN after the answer; if the client is gone, the next call notices. */
	(void)sys_shutdown(c->fd, SHUT_WR);
	if (!c->linger) {
		(void)sys_recv(c->fd, scrap, sizeof(scrap), 0); /* only so that close() does not reset */
		client_close(c);
		return;
	}
	client_set_state(c, CLIENT_LINGERING);
	client_wait(c, EV_READ);
	client_set_timer(c, LINGER_WAIT_S);
	client_linger(c);
}

/* How long the client may read nothing, but not beyond the deadline for the whole answer. */
static double client_write_wait_s(const struct client *c)
{
	const double left_s = (double)(c->answer_by_ns - clock_mono_ns()) / (double)NS_PER_SEC;

	if (left_s < 0.)
		return 0.;
	return left_s < ADMIN_WAIT_S ? left_s : ADMIN_WAIT_S;
}

/* True if all of the answer so far has been written; false if it waits, or the client has gone. */
static bool client_write(struct client *c)
{
	bool lost;
	ssize_t n;

	if (c->state != CLIENT_WRITING) {
		const bool waited = c->state == CLIENT_RELOADING; /* for us, perhaps long */

		client_set_state(c, CLIENT_WRITING);
		if (!c->said || waited)
			c->answer_by_ns =
				clock_mono_ns() + (int64_t)(c->admin->answer_s * (double)NS_PER_SEC);
		client_set_timer(c, client_write_wait_s(c));
	}
	while (c->sent < c->answer.len) {
		n = sys_send(c->fd, c->answer.bytes + c->sent, c->answer.len - c->sent);
		if (n == -EAGAIN) {
			client_wait(c, EV_WRITE);
			return false;
		}
		if (n < 0) {
			client_close(c);
			return false;
		}
		c->sent += (size_t)n;
		c->said = true;
		client_set_timer(c, client_write_wait_s(c)); /* a reader may be slow if it makes progress */
		admin_places_progress(c);
	}
	c->sent = 0;
	/* A reload answers in parts, and there may have been no memory for one: admin_make() reports it. */
	lost = c->answer.failed && !c->whole;
	text_free(&c->answer);
	c->answer.failed = lost;
	return true;
}

static void client_wait_for_worker(struct client *c)
{
	client_set_state(c, CLIENT_ASKING);
	client_wait(c, 0); /* ignore its FIN: it may have sent all it wanted to send */
	ev_timer_stop(c->admin->loop, &c->timer); /* the deadline of `asked` applies instead */
}

static void client_wait_for_reload(struct client *c)
{
	client_set_state(c, CLIENT_RELOADING);
	client_wait(c, 0);
	client_set_timer(c, c->admin->gone_s);
}

/* Generates and writes alternately, until it has to wait for a worker, for a reload or for the reader, or is
 * done. */
static void client_go_on(struct client *c)
{
	do {
		if (c->answer.len == 0 && admin_make(c)) {
			if (c->asker != NULL || c->waiting.on)
				client_wait_for_reload(c);
			else
				client_wait_for_worker(c);
			return;
		}
		if (!client_write(c))
			return;
	} while (!c->whole);
	client_finish(c);
}

void client_answer(struct client *c)
{
	c->whole = true;
	client_go_on(c);
}

static void client_refuse(struct client *c, const char *why)
{
	c->linger = true;
	c->prompt = false;
	admin_make_refusal(c, why);
	client_answer(c);
}

/* Runs the line that ends at `end`, which is in the request or just after it. */
static void client_take_line(struct client *c, char *end)
{
	if (!admin_request_take_line(&c->request, end)) {
		client_refuse(c, "the request has a NUL byte");
		return;
	}
	c->line_ns = clock_mono_ns();
	admin_make_begin(c);
	client_go_on(c);
}

/* Reads until there is a whole line; the end of the stream also ends a line. */
static void client_read(struct client *c)
{
	struct admin_request *r = &c->request;
	char *end = admin_request_find_end(r);
	ssize_t n;

	check(c->state == CLIENT_READING);
	if (end != NULL) {
		client_take_line(c, end);
		return;
	}
	if (admin_request_make_room(r) != 0) {
		client_refuse(c, "no memory for a request of this length");
		return;
	}
	n = sys_recv(c->fd, r->bytes + r->len, r->room - r->len, 0);
	if (n == -EAGAIN)
		return;
	if (n < 0 || (n == 0 && r->len == 0)) {
		client_close(c);
		return;
	}
	if (c->prompt && r->len == 0)
		client_set_timer(c, c->admin->line_s); /* for the next line */
	admin_places_progress(c);
	r->len += (size_t)n;
	end = admin_request_find_end(r);
	if (end != NULL)
		client_take_line(c, end);
	else if (n == 0)
		client_take_line(c, r->bytes + r->len);
	else if (r->len == ADMIN_REQUEST_MAX)
		client_refuse(c, "the request is longer than 16384 bytes");
}

static void on_client(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct client *c = io->data;
	struct admin *a = c->admin;

	(void)loop;
	if (c->state == CLIENT_READING)
		client_read(c);
	else if (c->state == CLIENT_WRITING || c->state == CLIENT_RELOADING)
		client_go_on(c);
	else if (c->state == CLIENT_LINGERING)
		client_linger(c);
	/* The kernel had no memory to watch the socket, so libev has stopped the watcher: no event would
	 * follow. */
	if ((revents & EV_ERROR) != 0 && (c->state == CLIENT_READING || c->state == CLIENT_LINGERING))
		client_close(c);
	/* It may have asked a question that is already being answered, or that has not been sent yet. */
	stats_take_answers(a->ctx->stats);
}

/* Has it closed its socket? One that only ended its side still reads. */
static bool client_has_gone(const struct client *c)
{
	struct pollfd p = {.fd = c->fd};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

static void on_client_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct client *c = timer->data;

	(void)loop;
	(void)revents;
	if (c->state == CLIENT_RELOADING && !client_has_gone(c))
		client_set_timer(c, c->admin->gone_s);
	else
		client_close(c);
}

/* News about what it asked the workers. */
static void on_answer(void *arg)
{
	struct client *c = arg;

	if (c->state == CLIENT_ASKING)
		client_go_on(c);
}
