/* SPDX-License-Identifier: MIT
 *
 * load.c - the clients of the demo: many at once, on one libev loop.
 *
 * Bulk transfers grow until one takes about a quarter of a second, so that a slow machine ends in time and a
 * fast one does not spend its time connecting. Main thread.
 */
#include "load.h"

#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/net/sock.h"
#include "talk.h"

#define EXCHANGES     20 /* per small client, before it connects again */
#define BULK_FIRST    (UINT64_C(1) << 20)
#define BULK_MAX      (UINT64_C(64) << 20)
#define BULK_NS	      (NS_PER_SEC / 4)
#define AGAIN_S	      0.02
#define AFTER_ERROR_S 0.2

struct client {
	struct ev_io io; /* fd -1 = not connected */
	struct ev_timer again;
	struct load *load;
	enum talk_what kind;
	bool goodbye;
	unsigned exchange;
	uint64_t bulk_bytes;
	int64_t began_ns; /* start of the connect, or of this request */
	int64_t moved_ns; /* time of the last progress */
	struct talk talk;
};

struct load {
	struct ev_loop *loop; /* borrows */
	struct addr to;
	bool ending;
	uint64_t next_key;
	struct load_counts counts;
	struct client clients[LOAD_CLIENTS];
};

static void connect_client(struct client *c);

static bool is_connected(const struct client *c)
{
	return c->io.fd >= 0;
}

static void close_client(struct client *c)
{
	if (!is_connected(c))
		return;
	ev_io_stop(c->load->loop, &c->io);
	(void)close(c->io.fd);
	c->io.fd = -1;
}

static void connect_later(struct client *c, double seconds)
{
	if (c->load->ending)
		return;
	ev_timer_set(&c->again, seconds, 0.);
	ev_timer_start(c->load->loop, &c->again);
}

static void on_again(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)loop;
	(void)revents;
	connect_client(timer->data);
}

static const char *word(enum talk_what kind)
{
	switch (kind) {
	case TALK_ASK:
		return "request";
	case TALK_UP:
		return "bulk up";
	default:
		return "bulk down";
	}
}

static void fail_client(struct client *c, int err)
{
	struct load_counts *n = &c->load->counts;

	if (n->errors++ == 0)
		(void)snprintf(n->first_error, sizeof(n->first_error), "%s: %s", word(c->kind),
			       err == -EBADMSG	? "a wrong byte arrived"
			       : err == -EPROTO ? "the connection ended early"
						: strerror(-err));
	close_client(c);
	connect_later(c, AFTER_ERROR_S);
}

/* Sizes from 64 to 2063 bytes, a different one for each request. */
static void begin_request(struct client *c)
{
	uint64_t key = c->load->next_key;

	c->load->next_key += 2; /* the reply uses the next key */
	talk_begin_client(&c->talk, TALK_ASK, key, 64 + key * 31 % 2000);
}

static void begin_talk(struct client *c)
{
	c->exchange = 0;
	c->goodbye = false;
	if (c->kind == TALK_ASK) {
		begin_request(c);
		return;
	}
	talk_begin_client(&c->talk, c->kind, c->load->next_key, c->bulk_bytes);
	c->load->next_key += 2;
}

static void grow_bulk(struct client *c, int64_t took_ns)
{
	if (took_ns < BULK_NS && c->bulk_bytes < BULK_MAX)
		c->bulk_bytes *= 2;
	else if (took_ns > 2 * BULK_NS && c->bulk_bytes > BULK_FIRST)
		c->bulk_bytes /= 2;
}

/* The steps are done; true if there are more. */
static bool next_talk(struct client *c)
{
	struct load_counts *n = &c->load->counts;
	int64_t now = clock_mono_ns();

	if (c->kind == TALK_ASK && !c->goodbye) {
		n->requests++;
		if (now - c->began_ns > n->slowest_ns)
			n->slowest_ns = now - c->began_ns;
		c->began_ns = now;
		c->goodbye = ++c->exchange == EXCHANGES || c->load->ending;
		if (c->goodbye)
			talk_begin_goodbye(&c->talk);
		else
			begin_request(c);
		return true;
	}
	if (c->kind != TALK_ASK)
		grow_bulk(c, now - c->began_ns);
	n->connections++;
	return false;
}

static void on_client_io(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct client *c = io->data;
	uint64_t moved = 0;
	int need, events;

	(void)revents;
	do
		need = talk_go(&c->talk, io->fd, &moved);
	while (need == TALK_NEED_NOTHING && next_talk(c));
	c->load->counts.bytes += moved;
	c->moved_ns = clock_mono_ns();
	if (need == TALK_NEED_NOTHING) {
		close_client(c);
		if (!c->load->ending)
			connect_client(c);
		return;
	}
	if (need < 0 || need == TALK_NEED_CLOSE) {
		fail_client(c, need < 0 ? need : -EPROTO);
		return;
	}
	events = need == TALK_NEED_READ ? EV_READ : EV_WRITE;
	if (io->events == events)
		return;
	ev_io_stop(loop, io);
	ev_io_set(io, io->fd, events);
	ev_io_start(loop, io);
}

static void connect_client(struct client *c)
{
	static const struct addr anywhere;
	static const struct sock_tcp tcp;
	struct load *l = c->load;
	int fd;

	if (l->ending)
		return;
	check(!is_connected(c));
	fd = sock_open(&l->to, &anywhere, &tcp);
	if (fd < 0) {
		l->counts.waits++;
		connect_later(c, AGAIN_S);
		return;
	}
	sock_nodelay(fd);
	if (connect(fd, &l->to.sa, l->to.len) != 0 && errno != EINPROGRESS) {
		int err = -errno;

		(void)close(fd);
		if (err != -EADDRNOTAVAIL) {
			fail_client(c, err);
			return;
		}
		l->counts.waits++;
		connect_later(c, AGAIN_S);
		return;
	}
	c->began_ns = clock_mono_ns();
	c->moved_ns = c->began_ns;
	begin_talk(c);
	ev_io_set(&c->io, fd, EV_WRITE);
	ev_io_start(l->loop, &c->io);
}

struct load *load_new(struct ev_loop *loop, const struct addr *to)
{
	struct load *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->loop = loop;
	l->to = *to;
	l->next_key = 1;
	for (size_t i = 0; i < LOAD_CLIENTS; i++) {
		struct client *c = &l->clients[i];

		c->load = l;
		c->kind = i < LOAD_UP ? TALK_UP : i < LOAD_UP + LOAD_DOWN ? TALK_DOWN : TALK_ASK;
		c->bulk_bytes = BULK_FIRST;
		ev_io_init(&c->io, on_client_io, -1, EV_WRITE);
		c->io.data = c;
		ev_timer_init(&c->again, on_again, 0., 0.);
		c->again.data = c;
	}
	return l;
}

void load_free(struct load *l)
{
	if (l == NULL)
		return;
	l->ending = true;
	for (size_t i = 0; i < LOAD_CLIENTS; i++) {
		close_client(&l->clients[i]);
		ev_timer_stop(l->loop, &l->clients[i].again);
	}
	free(l);
}

void load_start(struct load *l)
{
	for (size_t i = 0; i < LOAD_CLIENTS; i++)
		connect_client(&l->clients[i]);
}

void load_end(struct load *l)
{
	l->ending = true;
	for (size_t i = 0; i < LOAD_CLIENTS; i++)
		ev_timer_stop(l->loop, &l->clients[i].again);
}

bool load_is_idle(const struct load *l)
{
	for (size_t i = 0; i < LOAD_CLIENTS; i++)
		if (is_connected(&l->clients[i]))
			return false;
	return true;
}

void load_fail_stalled(struct load *l)
{
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < LOAD_CLIENTS; i++) {
		struct client *c = &l->clients[i];

		if (is_connected(c) && now - c->moved_ns > LOAD_PATIENCE_S * NS_PER_SEC)
			fail_client(c, -ETIMEDOUT);
	}
}

const struct load_counts *load_counts(const struct load *l)
{
	return &l->counts;
}
