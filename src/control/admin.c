/* SPDX-License-Identifier: MIT
 *
 * admin.c - the admin protocol: one line of commands in, their answers out, close.
 *
 * Owns its clients, at most ADMIN_CLIENTS_MAX, each with a timer in every state, which client_set_state()
 * alone changes; admin_accept.c brings them. Who asks what workers know waits for all of them: see
 * admin_take_answers(). After `prompt` a connection takes line after line, as tools for HAProxy want it.
 * Main thread. Floor 5.
 */
#include "weir/control/admin_client.h"

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/control/admin_accept.h"
#include "weir/control/admin_places.h"
#include "weir/control/low_fds.h"
#include "weir/io/sys.h"

#define LINGER_WAIT_S    1.
#define LINGER_BYTES_MAX 65536u

static void on_client(struct ev_loop *loop, struct ev_io *io, int revents);
static void on_client_timer(struct ev_loop *loop, struct ev_timer *timer, int revents);
static void client_run(struct client *c);

struct admin *admin_new(struct ev_loop *loop, struct admin_socket *socket, const struct admin_context *ctx)
{
	struct admin *a = calloc(1, sizeof(*a));

	check(socket->fd >= 0);
	if (a == NULL)
		return NULL;
	a->loop = loop;
	a->socket = socket;
	a->ctx = ctx;
	a->line_s = ADMIN_LINE_S;
	a->answer_s = ADMIN_ANSWER_S;
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		struct client *c = &a->clients[i];

		c->admin = a;
		c->fd = -1;
		ev_init(&c->io, on_client);
		c->io.data = c;
		ev_init(&c->timer, on_client_timer);
		c->timer.data = c;
	}
	admin_accept_start(a);
	return a;
}

static void client_set_state(struct client *c, enum client_state to)
{
	static const unsigned allowed[] = {
		[CLIENT_FREE] = 1u << CLIENT_READING,
		[CLIENT_READING] = 1u << CLIENT_ASKING | 1u << CLIENT_WRITING | 1u << CLIENT_FREE,
		[CLIENT_ASKING] = 1u << CLIENT_ASKING | 1u << CLIENT_WRITING | 1u << CLIENT_FREE,
		[CLIENT_WRITING] = 1u << CLIENT_LINGERING | 1u << CLIENT_READING | 1u << CLIENT_FREE,
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

/* Waits for `events`, or for nothing but the timer when they are 0. */
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
	text_free(&c->gathered);
	text_free(&c->answer);
	admin_socket_refill(a->socket);
	admin_accept_again(a);
}

void admin_free(struct admin *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++)
		if (a->clients[i].state != CLIENT_FREE)
			client_close(&a->clients[i]);
	admin_accept_stop(a);
	free(a);
}

void client_begin(struct client *c, int fd, const struct admin_peer *peer)
{
	client_set_state(c, CLIENT_READING);
	c->fd = fd;
	c->peer = *peer;
	admin_places_progress(c);
	c->request_len = 0;
	c->line_len = 0;
	c->linger = false;
	c->prompt = false;
	c->quit = false;
	c->wait_s = ADMIN_WAIT_S;
	c->rest = NULL;
	c->answered = 0;
	c->missing = 0;
	c->sent = 0;
	c->thrown_away = 0;
	text_init(&c->gathered);
	text_init(&c->answer);
	client_wait(c, EV_READ);
	client_set_timer(c, ADMIN_WAIT_S);
}

/* Throws away what the client sends; closes at its end, or when it sends for ever. */
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

/* The answer is out, and a prompt behind it: the next line. */
static void client_next_line(struct client *c)
{
	check(c->line_len <= c->request_len);
	c->request_len -= c->line_len;
	memmove(c->request, c->request + c->line_len, c->request_len);
	c->answered = 0;
	c->sent = 0;
	text_free(&c->answer);
	client_set_state(c, CLIENT_READING);
	client_wait(c, EV_READ);
	client_set_timer(c, c->request_len == 0 ? c->wait_s : c->admin->line_s);
	admin_places_progress(c);
	/* It may be here already: looked at from the loop, so that many lines are no deep recursion. */
	if (c->request_len > 0)
		ev_feed_event(c->admin->loop, &c->io, EV_READ);
}

/* The answer is out. */
static void client_finish(struct client *c)
{
	char scrap[ADMIN_REQUEST_MAX];

	if (c->prompt) {
		client_next_line(c);
		return;
	}
	/* FIN behind the answer; a client that is gone is found by the next call. */
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

/* How long it may take no byte: not beyond the end of the time for the whole answer. */
static double client_write_wait_s(const struct client *c)
{
	const double left_s = (double)(c->answer_by_ns - clock_mono_ns()) / (double)NS_PER_SEC;

	if (left_s < 0.)
		return 0.;
	return left_s < ADMIN_WAIT_S ? left_s : ADMIN_WAIT_S;
}

static void client_write(struct client *c)
{
	ssize_t n;

	check(c->state == CLIENT_WRITING);
	while (c->sent < c->answer.len) {
		n = sys_send(c->fd, c->answer.bytes + c->sent, c->answer.len - c->sent);
		if (n == -EAGAIN) {
			client_wait(c, EV_WRITE);
			return;
		}
		if (n < 0) {
			client_close(c);
			return;
		}
		c->sent += (size_t)n;
		client_set_timer(c, client_write_wait_s(c)); /* a slow reader may be slow while it reads */
		admin_places_progress(c);
	}
	client_finish(c);
}

void client_answer(struct client *c)
{
	if (c->answer.failed) {
		text_free(&c->answer);
		text_printf(&c->answer, "error: no memory for the answer\n");
	}
	if (c->prompt)
		text_printf(&c->answer, "\n> ");
	else if (c->answer.len == 0 && !c->quit)
		text_add(&c->answer, "\n", 1); /* done, with nothing to be said: that is no hang-up */
	client_set_state(c, CLIENT_WRITING);
	c->answer_by_ns = clock_mono_ns() + (int64_t)(c->admin->answer_s * (double)NS_PER_SEC);
	client_set_timer(c, client_write_wait_s(c));
	client_write(c);
}

/* Asks the workers; true when there are none to wait for. */
static bool client_ask(struct client *c)
{
	struct engine *e = c->admin->ctx->engine;

	c->token = ++c->admin->last_token;
	c->missing = e->worker_count;
	if (c->missing == 0)
		return true;
	client_set_state(c, CLIENT_ASKING);
	client_wait(c, 0); /* its FIN is no reason to forget it: it may have said all it has to say */
	client_set_timer(c, ADMIN_WAIT_S);
	if (c->question.verdict == ADMIN_ASK_TALLIES)
		engine_ask_tallies(e, c->token);
	else
		engine_ask_sessions(e, c->token);
	return false;
}

/* All answers of workers are there, or no more will come. */
static void client_conclude(struct client *c)
{
	admin_conclude(c->admin->ctx, &c->question, &c->gathered, &c->answer);
	text_free(&c->gathered);
}

/* A prompt may stay for as long as it likes: some places are kept for those who come, ask and go. */
static void client_prompt(struct client *c)
{
	struct client *victim;

	if (admin_places_prompt(c, &victim)) {
		if (victim != NULL)
			admin_accept_evict(victim, &c->peer);
		c->prompt = true;
	} else {
		text_printf(&c->answer, "error: %d prompts are open already\n",
			    c->peer.trusted ? ADMIN_PROMPTS_MAX : ADMIN_ONE_PROMPTS_MAX);
	}
}

/* True when the client must wait for workers. */
static bool client_command(struct client *c, const char *command)
{
	switch (admin_command(c->admin->ctx, &c->peer, command, &c->answer, &c->question)) {
	case ADMIN_ANSWERED:
		break;
	case ADMIN_ASK_SESSIONS:
	case ADMIN_ASK_TALLIES:
		if (!client_ask(c))
			return true;
		client_conclude(c);
		break;
	case ADMIN_PROMPT:
		client_prompt(c);
		break;
	case ADMIN_TIMEOUT:
		c->wait_s = c->question.seconds;
		break;
	case ADMIN_QUIT:
		c->prompt = false;
		c->quit = true;
		c->rest = NULL;
		break;
	}
	return false;
}

/* Runs commands until one must wait, or all are answered. */
static void client_run(struct client *c)
{
	const char *command;

	while (c->rest != NULL) {
		command = strsep(&c->rest, ";");
		if (command[strspn(command, " \t\r")] == '\0')
			continue;
		if (c->answered++ > 0)
			text_add(&c->answer, "\n", 1);
		if (c->answered > ADMIN_COMMANDS_MAX) {
			text_printf(&c->answer, "error: a line has at most %d commands\n",
				    ADMIN_COMMANDS_MAX);
			c->rest = NULL;
			break;
		}
		if (client_command(c, command))
			return;
	}
	if (c->answered == 0 && !c->prompt)
		text_printf(&c->answer, "error: empty request; try help\n");
	client_answer(c);
}

static void client_refuse(struct client *c, const char *why)
{
	c->linger = true;
	c->prompt = false;
	text_printf(&c->answer, "error: %s; try help\n", why);
	client_answer(c);
}

/* Runs the line that ends at `end`, which is in the request or just behind it. */
static void client_take_line(struct client *c, char *end)
{
	*end = '\0';
	c->line_len = (size_t)(end - c->request);
	if (c->line_len < c->request_len)
		c->line_len++; /* its newline */
	if (strlen(c->request) != (size_t)(end - c->request)) {
		client_refuse(c, "the request has a NUL byte");
		return;
	}
	c->rest = c->request;
	client_run(c);
}

/* Reads until there is a whole line; the end of the stream ends a line too. */
static void client_read(struct client *c)
{
	size_t room = ADMIN_REQUEST_MAX - c->request_len;
	char *end = memchr(c->request, '\n', c->request_len);
	ssize_t n;

	check(c->state == CLIENT_READING);
	if (end != NULL) {
		client_take_line(c, end);
		return;
	}
	check(room > 0);
	n = sys_recv(c->fd, c->request + c->request_len, room, 0);
	if (n == -EAGAIN)
		return;
	if (n < 0 || (n == 0 && c->request_len == 0)) {
		client_close(c);
		return;
	}
	if (c->prompt && c->request_len == 0)
		client_set_timer(c, c->admin->line_s); /* the next line has begun */
	admin_places_progress(c);
	c->request_len += (size_t)n;
	end = memchr(c->request, '\n', c->request_len);
	if (end != NULL)
		client_take_line(c, end);
	else if (n == 0)
		client_take_line(c, c->request + c->request_len);
	else if (c->request_len == ADMIN_REQUEST_MAX)
		client_refuse(c, "the request is longer than 1024 bytes");
}

static void on_client(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct client *c = io->data;

	(void)loop;
	(void)revents;
	if (c->state == CLIENT_READING)
		client_read(c);
	else if (c->state == CLIENT_WRITING)
		client_write(c);
	else if (c->state == CLIENT_LINGERING)
		client_linger(c);
}

static void on_client_timer(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	struct client *c = timer->data;

	(void)loop;
	(void)revents;
	if (c->state != CLIENT_ASKING) {
		client_close(c);
		return;
	}
	if (c->question.verdict == ADMIN_ASK_SESSIONS && !c->question.json)
		client_conclude(c); /* half a list is better than none; half a sum is a wrong one */
	text_free(&c->gathered);
	text_printf(&c->answer, "error: %u workers did not answer\n", c->missing);
	c->missing = 0;
	client_run(c);
}

static struct client *asking_client(struct admin *a, uint64_t token)
{
	for (size_t i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		struct client *c = &a->clients[i];

		if (c->state == CLIENT_ASKING && c->missing > 0 && c->token == token)
			return c;
	}
	return NULL;
}

void admin_take_answers(struct admin *a)
{
	struct engine_answer *answer;
	struct client *c;

	while ((answer = engine_take_answer(a->ctx->engine)) != NULL) {
		/* Its client may have gone, or got tired of waiting. */
		c = asking_client(a, answer->token);
		if (c != NULL) {
			text_add(&c->gathered, answer->text, answer->len);
			c->missing--;
		}
		free(answer);
		if (c != NULL && c->missing == 0) {
			client_conclude(c);
			client_run(c);
		}
	}
}
