/* SPDX-License-Identifier: MIT
 *
 * contract_real.h - the op-contract suite's kernel: the real one, over loopback.
 *
 * Included once, by contract_real_epoll.c or contract_real_io_uring.c, which name the driver. Owns the far
 * ends of one test. One thread. Tests only.
 */
#ifndef TESTS_CONTRACT_REAL_H
#define TESTS_CONTRACT_REAL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/sys/sys.h"
#include "contract.h"

#define FARS 16

static struct {
	int fd;
	uint32_t sent;
	uint32_t got;
} fars[FARS];
static int far_count;
static int far_listener = -1;
static int refuse_fd = -1;

static uint8_t byte_at(uint32_t offset)
{
	return (uint8_t)(offset * 31u + (offset >> 8) * 7u + 1u);
}

static void real_begin(void)
{
	far_count = 0;
	far_listener = -1;
	refuse_fd = -1;
}

static void real_end(void)
{
	int i;

	for (i = 0; i < far_count; i++)
		if (fars[i].fd >= 0)
			close(fars[i].fd);
	if (far_listener >= 0)
		close(far_listener);
	if (refuse_fd >= 0)
		close(refuse_fd);
}

static int add_far(int fd)
{
	assert_true(far_count < FARS);
	fars[far_count].fd = fd;
	fars[far_count].sent = 0;
	fars[far_count].got = 0;
	return far_count++;
}

static int listen_tcp(struct addr *a, int backlog)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int one = 1;

	memset(a, 0, sizeof(*a));
	a->in.sin_family = AF_INET;
	a->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->len = sizeof(a->in);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one)), 0);
	/* Accepted sockets inherit it. BBR sends by a timer, so that a full send queue gets room later; Reno
	 * is in every kernel. An emulator may refuse. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	assert_int_equal(bind(fd, &a->sa, a->len), 0);
	assert_int_equal(getsockname(fd, &a->sa, &a->len), 0);
	if (backlog > 0)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static int real_listener(struct addr *a)
{
	return listen_tcp(a, 16);
}

static int real_far_connect(const struct addr *a)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, &a->sa, a->len), 0);
	return add_far(fd);
}

static int accept_within(int lfd)
{
	struct pollfd p = {.fd = lfd, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 5000), 1);
	return accept4(lfd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static int real_pair(bool tcp, int *far)
{
	struct addr a;
	int fds[2];
	int lfd;
	int fd;

	if (!tcp) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
		*far = add_far(fds[1]);
		return fds[0];
	}
	lfd = real_listener(&a);
	*far = real_far_connect(&a);
	fd = accept_within(lfd);
	assert_true(fd >= 0);
	close(lfd);
	return fd;
}

static void real_refusing(struct addr *a)
{
	refuse_fd = listen_tcp(a, 0); /* bound, so that nobody else gets it; never listens */
}

static void real_answering(struct addr *a)
{
	far_listener = listen_tcp(a, 16);
}

static int real_far_accept(void)
{
	return add_far(accept_within(far_listener));
}

static int real_socket(const struct addr *to)
{
	return sys_socket(to->sa.sa_family);
}

static void real_far_send(int far, uint32_t n)
{
	uint8_t data[65536];
	uint32_t i;

	assert_true(n <= sizeof(data));
	for (i = 0; i < n; i++)
		data[i] = byte_at(fars[far].sent + i);
	assert_int_equal(send(fars[far].fd, data, n, MSG_NOSIGNAL), n);
	fars[far].sent += n;
}

static void real_far_urgent(int far)
{
	const uint8_t b = byte_at(fars[far].sent);

	assert_int_equal(send(fars[far].fd, &b, 1, MSG_OOB | MSG_NOSIGNAL), 1);
	fars[far].sent++;
}

static void real_far_fin(int far)
{
	assert_int_equal(shutdown(fars[far].fd, SHUT_WR), 0);
}

static void real_far_close(int far)
{
	close(fars[far].fd);
	fars[far].fd = -1;
}

static void real_far_reset(int far)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	assert_int_equal(setsockopt(fars[far].fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	real_far_close(far);
}

static int real_far_read(int far, uint32_t n)
{
	uint8_t data[65536];
	ssize_t r;
	ssize_t i;

	r = recv(fars[far].fd, data, n < sizeof(data) ? n : sizeof(data), MSG_DONTWAIT);
	if (r < 0)
		return -errno;
	for (i = 0; i < r; i++)
		assert_int_equal(data[i], byte_at(fars[far].got + (uint32_t)i));
	fars[far].got += (uint32_t)r;
	return (int)r;
}

static void real_fill(int far, uint8_t *data, uint32_t offset, uint32_t n)
{
	uint32_t i;

	(void)far;
	for (i = 0; i < n; i++)
		data[i] = byte_at(offset + i);
}

static bool real_same(int far, const uint8_t *data, uint32_t offset, uint32_t n)
{
	uint32_t i;

	(void)far;
	for (i = 0; i < n; i++)
		if (data[i] != byte_at(offset + i))
			return false;
	return true;
}

static void real_settle(void)
{
	/* Loopback delivers inside the sender's call; delayed acknowledgements come by themselves. */
	const struct timespec t = {.tv_nsec = 200000};

	(void)nanosleep(&t, NULL);
}

static bool real_is_under_way(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	assert_true(len > offsetof(struct tcp_info, tcpi_unacked)); /* emulators may give less */
	return info.tcpi_unacked > 0;
}

#define CONTRACT_REAL(words, a_driver, begins)                                                             \
	{                                                                                                  \
		.name = (words), .driver = (a_driver), .begin = (begins), .end = real_end,                 \
		.pair = real_pair, .listener = real_listener, .far_connect = real_far_connect,             \
		.refusing = real_refusing, .answering = real_answering, .far_accept = real_far_accept,     \
		.socket = real_socket, .far_send = real_far_send, .far_urgent = real_far_urgent,           \
		.far_fin = real_far_fin, .far_reset = real_far_reset, .far_read = real_far_read,           \
		.far_close = real_far_close, .fill = real_fill, .same = real_same, .settle = real_settle,  \
		.is_under_way = real_is_under_way,                                                         \
	}

#endif
