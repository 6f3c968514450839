/* SPDX-License-Identifier: MIT
 *
 * facts_linux.h - the side of facts.h and facts_ring.h that is Linux itself, over loopback.
 *
 * Included by the tests that ask this kernel. Owns nothing. One thread. Tests only.
 */
#ifndef TESTS_FACTS_LINUX_H
#define TESTS_FACTS_LINUX_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* Loopback delivers before the call returns, all but acknowledgements that are delayed. */
#define SETTLE_US 3000

static void tcp_pair(int fds[2])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	const int one = 1;
	const int l = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(l >= 0);
	assert_int_equal(bind(l, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&in, &len), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&in, sizeof(in)), 0);
	fds[1] = sys_accept(l, NULL, NULL);
	assert_true(fds[1] >= 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	close(l);
}

static void port_pair(bool tcp, bool oobinline, int fds[2])
{
	const int value = oobinline;

	if (tcp)
		tcp_pair(fds);
	else
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(setsockopt(fds[i], SOL_SOCKET, SO_OOBINLINE, &value, sizeof(value)), 0);
}

static void port_urgent(int fd)
{
	assert_int_equal(send(fd, "!", 1, MSG_OOB), 1);
}

static void port_settle(void)
{
	(void)usleep(SETTLE_US); /* the kernel's own timers are what is waited for: no event tells */
}

static void port_small_queue(int from, int to)
{
	/* A window below two segments of loopback would be opened by timers of 200 ms each. */
	const int window = 160 * 1024;
	const int queue = 64 * 1024;

	assert_int_equal(setsockopt(to, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
	assert_int_equal(setsockopt(from, SOL_SOCKET, SO_SNDBUF, &queue, sizeof(queue)), 0);
}

#endif
