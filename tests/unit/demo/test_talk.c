/* SPDX-License-Identifier: MIT
 *
 * test_talk.c - what a client and a server of the demo say to each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "demo/keyed.h"
#include "demo/talk.h"

struct pair {
	int fds[2];
	struct talk client;
	struct talk server;
	uint64_t up;   /* keyed bytes that the client moved */
	uint64_t down; /* and the server */
};

static void open_pair(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p->fds), 0);
	talk_begin_server(&p->server);
}

static void close_pair(struct pair *p)
{
	close(p->fds[0]);
	close(p->fds[1]);
}

/* Both sides in turn; the client's last answer. The server's in `*server`. */
static int run(struct pair *p, int *server)
{
	int client = TALK_NEED_READ;

	*server = TALK_NEED_READ;
	for (int i = 0; i < 100000; i++) {
		if (client == TALK_NEED_READ || client == TALK_NEED_WRITE)
			client = talk_go(&p->client, p->fds[0], &p->up);
		if (*server == TALK_NEED_READ || *server == TALK_NEED_WRITE)
			*server = talk_go(&p->server, p->fds[1], &p->down);
		if (*server == TALK_NEED_NOTHING && p->server.steps[0] == TALK_STEP_RECV_HELLO &&
		    talk_answer(&p->server) == 0)
			*server = TALK_NEED_READ;
		else if (*server == TALK_NEED_NOTHING && p->server.what == TALK_DOWN)
			talk_begin_server(&p->server), *server = TALK_NEED_READ;
		else if (client != TALK_NEED_READ && client != TALK_NEED_WRITE && *server != TALK_NEED_READ &&
			 *server != TALK_NEED_WRITE)
			return client;
		if (*server == TALK_NEED_CLOSE || *server == TALK_NEED_NOTHING)
			(void)shutdown(p->fds[1], SHUT_WR); /* as its close would */
	}
	fail_msg("the talk has no end");
	return 0;
}

static void talk_ask_is_answered(void **state)
{
	struct pair p;
	int server;

	(void)state;
	open_pair(&p);
	talk_begin_client(&p.client, TALK_ASK, 11, 2000);
	assert_int_equal(run(&p, &server), TALK_NEED_NOTHING);
	assert_int_equal(server, TALK_NEED_NOTHING);
	assert_int_equal(p.up, 4000);
	assert_int_equal(p.down, 4000);
	talk_begin_goodbye(&p.client);
	talk_begin_server(&p.server);
	assert_int_equal(run(&p, &server), TALK_NEED_NOTHING);
	assert_int_equal(server, TALK_NEED_CLOSE);
	close_pair(&p);
}

static void talk_bulk_goes_up_and_down(void **state)
{
	/* Lengths at, before and after the end of a piece: there a step must end by itself. */
	static const uint64_t lengths[] = {1, KEYED_PIECE - 1, KEYED_PIECE, KEYED_PIECE + 1, 8 * KEYED_PIECE};
	static const enum talk_what kinds[] = {TALK_UP, TALK_DOWN};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (size_t j = 0; j < 2; j++) {
			struct pair p;
			int server;

			open_pair(&p);
			talk_begin_client(&p.client, kinds[j], 77 + i, lengths[i]);
			assert_int_equal(run(&p, &server), TALK_NEED_NOTHING);
			assert_int_equal(server, kinds[j] == TALK_UP ? TALK_NEED_NOTHING : TALK_NEED_CLOSE);
			assert_int_equal(p.up, lengths[i]);
			assert_int_equal(p.down, lengths[i]);
			close_pair(&p);
		}
	}
}

/* A server that is a few bytes on a socket. */
static int client_hears(enum talk_what what, uint64_t len, const void *bytes, size_t count)
{
	struct pair p;
	int need = TALK_NEED_READ;

	open_pair(&p);
	talk_begin_client(&p.client, what, 5, len);
	assert_int_equal(send(p.fds[1], bytes, count, 0), (ssize_t)count);
	assert_int_equal(shutdown(p.fds[1], SHUT_WR), 0);
	for (int i = 0; i < 100 && (need == TALK_NEED_READ || need == TALK_NEED_WRITE); i++)
		need = talk_go(&p.client, p.fds[0], &p.up);
	close_pair(&p);
	return need;
}

static void talk_sees_what_is_wrong(void **state)
{
	unsigned char right[300], wrong[300];

	(void)state;
	memcpy(right, keyed_at(5, 0), sizeof(right));
	memcpy(wrong, right, sizeof(wrong));
	wrong[150] ^= 0x80;
	assert_int_equal(client_hears(TALK_DOWN, 300, right, 300), TALK_NEED_NOTHING);
	assert_int_equal(client_hears(TALK_DOWN, 300, wrong, 300), -EBADMSG);
	assert_int_equal(client_hears(TALK_DOWN, 300, right, 299), -EPROTO);
	assert_int_equal(client_hears(TALK_DOWN, 299, right, 300), -EPROTO);
	assert_int_equal(client_hears(TALK_ASK, 300, right, 300), -EBADMSG); /* the key of the question */
	assert_int_equal(client_hears(TALK_ASK, 300, keyed_at(6, 0), 300), TALK_NEED_NOTHING);
	assert_int_equal(client_hears(TALK_UP, 300, right, TALK_HELLO_BYTES), -EBADMSG);
	assert_int_equal(client_hears(TALK_UP, 300, right, 3), -EPROTO);
}

static void talk_server_refuses_what_is_no_question(void **state)
{
	struct talk t;

	(void)state;
	memset(&t, 0, sizeof(t));
	t.hello[0] = 'G';
	assert_int_equal(talk_answer(&t), -EPROTO);
	t.hello[0] = TALK_THANKS;
	assert_int_equal(talk_answer(&t), -EPROTO);
	assert_false(talk_is_hello('G'));
	assert_true(talk_is_hello(TALK_ASK));
}

static int setup(void **state)
{
	(void)state;
	keyed_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(talk_ask_is_answered),
	    cmocka_unit_test(talk_bulk_goes_up_and_down),
	    cmocka_unit_test(talk_sees_what_is_wrong),
	    cmocka_unit_test(talk_server_refuses_what_is_no_question),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
