/* SPDX-License-Identifier: MIT
 *
 * contract_model.h - the op-contract suite's kernel: the simulator's model.
 *
 * Included once, by contract_epoll.c or contract_fake.c, which name the driver. All is delivered at
 * once and no fault fires, but coins are tossed. Owns the far ends of one test. One thread. Tests only.
 */
#ifndef SIM_CONTRACT_MODEL_H
#define SIM_CONTRACT_MODEL_H

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/sys/sys.h"
#include "../unit/io/contract.h"
#include "model.h"
#include "stream.h"

#define FARS 16
#define PORT_LISTENER 1
#define PORT_REFUSES 2
#define PORT_ANSWERS 3
/* The stream of a far end, and the one that it is sent. */
#define KEY_FROM(far) ((uint32_t)(far) + 101)
#define KEY_TO(far) ((uint32_t)(far) + 1)

static struct msock *fars[FARS];
static int far_count;
static int far_accepted;
static int far_listener;
static uint64_t world_number;

static int add_far(struct msock *s)
{
	assert_true(far_count < FARS);
	s->oobinline = true;
	s->tx_key = KEY_FROM(far_count);
	s->peer->tx_key = KEY_TO(far_count);
	s->rx_key = KEY_TO(far_count);
	s->peer->rx_key = KEY_FROM(far_count);
	fars[far_count] = s;
	return far_count++;
}

static void make_addr(struct addr *a, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(port);
	a->len = sizeof(a->in);
}

static int on_connect(struct msock *s, const struct sockaddr *sa)
{
	struct sockaddr_in in;
	struct msock *far;

	memcpy(&in, sa, sizeof(in));
	s->state = SOCK_CONNECTING;
	if (ntohs(in.sin_port) == PORT_REFUSES) {
		msock_established(s, -ECONNREFUSED);
		return -EINPROGRESS;
	}
	far = msock_new(s->tcp);
	msock_pair(s, far);
	far_accepted = add_far(far);
	msock_established(s, 0);
	return -EINPROGRESS;
}

static void model_begin(void)
{
	stream_init();
	model_reset(++world_number);
	model.faults = true; /* none is active; but the fake driver tosses its coins */
	model.sleep_max_ns = INT64_MAX;
	model.on_connect = on_connect;
	far_count = 0;
	far_accepted = -1;
}

static void model_end(void)
{
}

static int model_pair(bool tcp, int *far)
{
	struct msock *ours = msock_new(tcp);
	struct msock *theirs = msock_new(tcp);
	const int fd = mfile_open(FILE_SOCK);

	msock_pair(ours, theirs);
	ours->state = SOCK_OPEN;
	theirs->state = SOCK_OPEN;
	ours->watched = true;
	ours->oobinline = tcp; /* inherited from a listener, which Unix does not */
	ours->fd = fd;
	model.files[fd].sock = ours;
	*far = add_far(theirs);
	return fd;
}

static int model_listener(struct addr *a)
{
	make_addr(a, PORT_LISTENER);
	far_listener = msock_listen(true, true);
	return far_listener;
}

static int model_far_connect(const struct addr *a)
{
	assert_int_equal(ntohs(a->in.sin_port), PORT_LISTENER);
	return add_far(msock_connect_to(far_listener));
}

static void model_refusing(struct addr *a)
{
	make_addr(a, PORT_REFUSES);
}

static void model_answering(struct addr *a)
{
	make_addr(a, PORT_ANSWERS);
}

static int model_far_accept(void)
{
	assert_true(far_accepted >= 0);
	return far_accepted;
}

static int model_socket(const struct addr *to)
{
	return sys_socket(to->sa.sa_family);
}

static void model_far_send(int far, uint32_t n)
{
	assert_int_equal(msock_send_room(fars[far], n), n);
	msock_sent(fars[far], n, false);
}

static void model_far_urgent(int far)
{
	assert_int_equal(msock_send_room(fars[far], 1), 1);
	msock_sent(fars[far], 1, true);
}

static void model_far_fin(int far)
{
	msock_shutdown_wr(fars[far]);
}

static void model_far_close(int far)
{
	msock_close(fars[far]);
}

static void model_far_reset(int far)
{
	fars[far]->linger0 = true;
	msock_close(fars[far]);
}

static int model_far_read(int far, uint32_t n)
{
	/* What was sent was compared when it was sent. */
	assert_false(fars[far]->peer->mismatch);
	return (int)msock_recv(fars[far], NULL, n, 0);
}

static void model_fill(int far, uint8_t *data, uint32_t offset, uint32_t n)
{
	stream_fill(KEY_TO(far), offset, data, n);
}

static bool model_same(int far, const uint8_t *data, uint32_t offset, uint32_t n)
{
	return stream_match(KEY_FROM(far), offset, data, n);
}

static void model_settle(void)
{
	model.now_ns += 200000;
}

/* The model acknowledges what its peer reads. */
static bool model_is_under_way(int fd)
{
	(void)fd;
	return false;
}

#define CONTRACT_MODEL(words, a_driver)                                                                    \
	{                                                                                                  \
		.name = (words), .driver = (a_driver), .begin = model_begin, .end = model_end,             \
		.pair = model_pair, .listener = model_listener, .far_connect = model_far_connect,          \
		.refusing = model_refusing, .answering = model_answering,                                  \
		.far_accept = model_far_accept, .socket = model_socket, .far_send = model_far_send,        \
		.far_urgent = model_far_urgent, .far_fin = model_far_fin, .far_reset = model_far_reset,    \
		.far_read = model_far_read, .far_close = model_far_close, .fill = model_fill,              \
		.same = model_same, .settle = model_settle, .is_under_way = model_is_under_way,            \
	}

#endif
