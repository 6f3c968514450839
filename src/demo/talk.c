/* SPDX-License-Identifier: MIT
 *
 * talk.c - the protocol between a client and a server of the demo, as a list of steps.
 *
 * Main thread of each process.
 */
#include "talk.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/base/check.h"
#include "keyed.h"

/* Shared by all talks: received bytes are verified and forgotten. */
static unsigned char scratch[KEYED_PIECE];

bool talk_is_hello(unsigned char first)
{
	return first >= TALK_ASK && first <= TALK_THANKS;
}

static void set_steps(struct talk *t, const uint8_t *steps, size_t count)
{
	check(count < TALK_STEPS_MAX);
	memset(t->steps, TALK_STEP_STOP, sizeof(t->steps));
	memcpy(t->steps, steps, count);
	t->at = 0;
	t->done = 0;
}

#define SET_STEPS(t, ...) set_steps(t, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_hello(struct talk *t, enum talk_what what)
{
	t->hello[0] = (unsigned char)what;
	memcpy(t->hello + 1, &t->key, 8); /* both ends are on this machine, so host byte order will do */
	memcpy(t->hello + 9, &t->len, 8);
}

void talk_begin_client(struct talk *t, enum talk_what what, uint64_t key, uint64_t len)
{
	t->what = what;
	t->key = key;
	t->len = len;
	put_hello(t, what);
	if (what == TALK_ASK)
		SET_STEPS(t, TALK_STEP_SEND_HELLO, TALK_STEP_SEND_BYTES, TALK_STEP_RECV_REPLY);
	else if (what == TALK_UP)
		SET_STEPS(t, TALK_STEP_SEND_HELLO, TALK_STEP_SEND_BYTES, TALK_STEP_SHUT, TALK_STEP_RECV_HELLO,
			  TALK_STEP_RECV_END);
	else
		SET_STEPS(t, TALK_STEP_SEND_HELLO, TALK_STEP_RECV_BYTES, TALK_STEP_SHUT, TALK_STEP_RECV_END);
}

void talk_begin_goodbye(struct talk *t)
{
	SET_STEPS(t, TALK_STEP_SHUT, TALK_STEP_RECV_END);
}

void talk_begin_server(struct talk *t)
{
	SET_STEPS(t, TALK_STEP_RECV_HELLO);
}

int talk_answer(struct talk *t)
{
	memcpy(&t->key, t->hello + 1, 8);
	memcpy(&t->len, t->hello + 9, 8);
	t->what = (enum talk_what)t->hello[0];
	switch (t->what) {
	case TALK_ASK:
		SET_STEPS(t, TALK_STEP_RECV_BYTES, TALK_STEP_SEND_REPLY);
		return 0;
	case TALK_UP:
		put_hello(t, TALK_THANKS);
		SET_STEPS(t, TALK_STEP_RECV_BYTES, TALK_STEP_RECV_END, TALK_STEP_SEND_HELLO, TALK_STEP_SHUT);
		return 0;
	case TALK_DOWN:
		SET_STEPS(t, TALK_STEP_SEND_BYTES);
		return 0;
	default:
		return -EPROTO;
	}
}

/* Bytes sent, or -errno. `more` lets the kernel wait for the next bytes. */
static ssize_t send_some(int fd, const void *from, size_t len, bool more)
{
	ssize_t n = send(fd, from, len, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));

	if (n >= 0)
		return n;
	return errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t recv_some(int fd, void *into, size_t len)
{
	ssize_t n = recv(fd, into, len, MSG_DONTWAIT);

	if (n >= 0)
		return n;
	return errno == EINTR ? -EAGAIN : -errno;
}

static size_t piece_of(uint64_t left)
{
	return left < KEYED_PIECE ? (size_t)left : KEYED_PIECE;
}

/* A client verifies the TALK_THANKS; a server accepts any hello and judges it later. */
static int look_at_hello(const struct talk *t)
{
	struct talk thanks = *t;

	if (t->what != TALK_UP || t->steps[0] != TALK_STEP_SEND_HELLO)
		return 0;
	put_hello(&thanks, TALK_THANKS);
	return memcmp(thanks.hello, t->hello, sizeof(t->hello)) == 0 ? 0 : -EBADMSG;
}

/* Part of a step: bytes moved, 0 if the step is done, or -errno. */
static ssize_t hello_step(struct talk *t, int fd, bool is_send)
{
	size_t left = TALK_HELLO_BYTES - (size_t)t->done;
	ssize_t n;

	if (left == 0)
		return is_send ? 0 : look_at_hello(t);
	if (is_send)
		return send_some(fd, t->hello + t->done, left, t->what != TALK_DOWN && t->len > 0);
	n = recv_some(fd, t->hello + t->done, left);
	if (n != 0)
		return n;
	return t->done == 0 && t->steps[0] == TALK_STEP_RECV_HELLO ? -ENODATA : -EPROTO;
}

static ssize_t send_step(struct talk *t, int fd, uint64_t key)
{
	size_t len = piece_of(t->len - t->done);

	return len == 0 ? 0 : send_some(fd, keyed_at(key, t->done), len, false);
}

static ssize_t recv_step(struct talk *t, int fd, uint64_t key)
{
	size_t len = piece_of(t->len - t->done);
	ssize_t n;

	if (len == 0)
		return 0;
	n = recv_some(fd, scratch, len);
	if (n == 0)
		return -EPROTO;
	if (n > 0 && !keyed_same(key, t->done, scratch, (size_t)n))
		return -EBADMSG;
	return n;
}

static ssize_t end_step(int fd)
{
	ssize_t n = recv_some(fd, scratch, 1);

	return n > 0 ? -EPROTO : n;
}

static ssize_t do_step(struct talk *t, int fd)
{
	switch ((enum talk_step)t->steps[t->at]) {
	case TALK_STEP_SEND_HELLO:
		return hello_step(t, fd, true);
	case TALK_STEP_RECV_HELLO:
		return hello_step(t, fd, false);
	case TALK_STEP_SEND_BYTES:
		return send_step(t, fd, t->key);
	case TALK_STEP_RECV_BYTES:
		return recv_step(t, fd, t->key);
	case TALK_STEP_SEND_REPLY:
		return send_step(t, fd, t->key + 1);
	case TALK_STEP_RECV_REPLY:
		return recv_step(t, fd, t->key + 1);
	case TALK_STEP_SHUT:
		return shutdown(fd, SHUT_WR) == 0 ? 0 : -errno;
	default:
		check(t->steps[t->at] == TALK_STEP_RECV_END);
		return end_step(fd);
	}
}

static bool is_sending(enum talk_step step)
{
	return step == TALK_STEP_SEND_HELLO || step == TALK_STEP_SEND_BYTES || step == TALK_STEP_SEND_REPLY;
}

/* Completing a step is free, and must not wait: no later event might wake us for it. */
static bool has_bytes_left(const struct talk *t, enum talk_step step)
{
	return step >= TALK_STEP_SEND_BYTES && step <= TALK_STEP_RECV_REPLY && t->done < t->len;
}

int talk_go(struct talk *t, int fd, uint64_t *moved)
{
	uint64_t here = 0;

	while (t->steps[t->at] != TALK_STEP_STOP) {
		enum talk_step step = (enum talk_step)t->steps[t->at];
		enum talk_need need = is_sending(step) ? TALK_NEED_WRITE : TALK_NEED_READ;
		bool enough = here >= KEYED_PIECE && has_bytes_left(t, step);
		ssize_t n = enough ? -EAGAIN : do_step(t, fd);

		if (n == -EAGAIN)
			return (int)need;
		if (n == -ENODATA)
			return TALK_NEED_CLOSE;
		if (n < 0)
			return (int)n;
		t->done += (uint64_t)n;
		if (n == 0) {
			t->done = 0;
			t->at++;
		} else if (step != TALK_STEP_SEND_HELLO && step != TALK_STEP_RECV_HELLO) {
			here += (uint64_t)n;
			*moved += (uint64_t)n;
		}
	}
	return TALK_NEED_NOTHING;
}
