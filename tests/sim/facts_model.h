/* SPDX-License-Identifier: MIT
 *
 * facts_model.h - the side of facts.h and facts_ring.h that is the modelled kernel: all is delivered at once
 * and no fault fires.
 *
 * Included by the tests that ask the model. Owns nothing. One thread. Tests only.
 */
#ifndef SIM_FACTS_MODEL_H
#define SIM_FACTS_MODEL_H

#include "model.h"
#include "stream.h"

static int fd_of(struct msock *s)
{
	const int fd = mfile_open(FILE_SOCK);

	model.files[fd].sock = s;
	s->fd = fd;
	s->state = SOCK_OPEN;
	return fd;
}

static void port_pair(bool tcp, bool oobinline, int fds[2])
{
	struct msock *a = msock_new(tcp);
	struct msock *b = msock_new(tcp);

	msock_pair(a, b);
	a->oobinline = oobinline;
	b->oobinline = oobinline;
	fds[0] = fd_of(a);
	fds[1] = fd_of(b);
}

static void port_urgent(int fd)
{
	struct msock *s = mfile_sock(fd);

	assert_int_equal(msock_send_room(s, 1), 1);
	msock_sent(s, 1, true);
}

static void port_settle(void)
{
}

static void port_small_queue(int from, int to)
{
	(void)from; /* its queue is small enough */
	mfile_sock(to)->rcvbuf = 8192;
}

#endif
