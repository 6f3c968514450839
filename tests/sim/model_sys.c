/* SPDX-License-Identifier: MIT
 *
 * model_sys.c - the system calls of include/weir/sys/sys.h over the model: sockets, options, time.
 *
 * Owns nothing but the translation. What the program sends is compared here with the stream that
 * its socket must carry. splice and pipes are in model_splice.c, epoll in model_epoll.c.
 * One thread. Tests only.
 */
#include "weir/sys/sys.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "weir/base/clock.h"
#include "cover.h"
#include "model.h"
#include "stream.h"

static void tell_peer(const struct msock *s, struct sockaddr *sa, socklen_t *len)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = (in_port_t)(s->index + 1),
		.sin_addr = {.s_addr = htonl(model.sources == 0 ? 0 : (uint32_t)s->index % model.sources)},
	};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	const socklen_t room = *len;

	*len = s->tcp ? sizeof(in) : sizeof(un.sun_family);
	memcpy(sa, s->tcp ? (void *)&in : (void *)&un, *len < room ? *len : room);
}

int sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	struct msock *s;
	int r;

	model_enter();
	if (site(SITE_ACCEPT_ABORTED))
		return -ECONNABORTED;
	r = msock_accept(fd);
	trace("accept(%d) = %d", fd, r);
	if (r < 0)
		return r;
	s = mfile_sock(r);
	if (sa != NULL && len != NULL)
		tell_peer(s, sa, len);
	return r;
}

int sys_socket(int family)
{
	struct msock *s;
	int fd;

	model_enter();
	if (site_fatal(SITE_SOCKET_EMFILE, NULL))
		return -EMFILE;
	fd = mfile_open(FILE_SOCK);
	if (fd < 0)
		return fd;
	s = msock_new(family != AF_UNIX);
	if (s == NULL)
		sim_fail("the model has no more sockets");
	s->fd = fd;
	s->watched = true;
	s->unspliceable = site(SITE_UNSPLICEABLE);
	model.files[fd].sock = s;
	trace("socket(%d) = %d", family, fd);
	return fd;
}

int sys_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	(void)sa; /* addresses play no part here */
	(void)len;
	(void)mfile_sock(fd); /* for its check */
	return 0;
}

static int disconnect(struct msock *s)
{
	msock_send_reset(s);
	msock_consume(s, msock_unread(s));
	s->state = SOCK_NEW;
	s->rcv_shut = false;
	s->snd_shut = false;
	return 0;
}

int msock_connect(struct msock *s, const struct sockaddr *sa)
{
	int r;

	if (sa->sa_family == AF_UNSPEC)
		return disconnect(s);
	if (s->state == SOCK_CONNECTING)
		return -EALREADY;
	if (s->state == SOCK_OPEN)
		return -EISCONN;
	if (s->state == SOCK_CLOSED)
		return s->err ? -msock_take_error(s) : -ECONNABORTED;
	if (s->tcp && site_fatal(SITE_CONNECT_NOW, s)) {
		cover(COVER_CONNECT_NOW_ERROR);
		return prng_chance(&model.rng, 50) ? -EADDRNOTAVAIL : -ENETUNREACH;
	}
	r = model.on_connect(s, sa);
	if (r == -EAGAIN && !s->tcp)
		cover(COVER_UNIX_CONNECT_EAGAIN);
	return r;
}

int sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct msock *s = mfile_sock(fd);
	int r;

	model_enter();
	(void)len;
	r = msock_connect(s, sa);
	trace("connect(%d) = %d", fd, r);
	return r;
}

int sys_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	(void)fd;
	(void)sa;
	(void)len;
	model_enter();
	return -ENOBUFS; /* no session of the simulator asks */
}

/* No server of the simulator is at one of these: its connections meet no one but who listens. */
int sys_port_range(uint16_t *first, uint16_t *last)
{
	*first = 32768;
	*last = 60999;
	return 0;
}

int sys_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr *from, socklen_t *from_len)
{
	(void)to;
	(void)len;
	(void)from;
	(void)from_len;
	return -ENOBUFS;
}

int sys_dup(int fd)
{
	int r;

	model_enter();
	if (site(SITE_DUP_EMFILE))
		return -EMFILE;
	r = msock_dup(fd);
	trace("dup(%d) = %d", fd, r);
	return r;
}

static int domain_of(int fd)
{
	const struct mfile *f = mfile_get(fd);

	return (f->kind == FILE_LISTENER ? f->listener->tcp : mfile_sock(fd)->tcp) ? AF_INET : AF_UNIX;
}

int sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct msock *s;

	model_enter();
	if (level == SOL_SOCKET && name == SO_DOMAIN) {
		*(int *)value = domain_of(fd);
		return 0;
	}
	if (level == SOL_SOCKET && name == SO_PROTOCOL) {
		*(int *)value = IPPROTO_TCP;
		return 0;
	}
	s = mfile_sock(fd);
	if (level == IPPROTO_TCP && name == TCP_INFO) {
		struct tcp_info *info = value;

		info->tcpi_state = s->state == SOCK_CLOSED ? TCP_CLOSE : TCP_ESTABLISHED;
		return 0;
	}
	if (level != SOL_SOCKET || name != SO_ERROR)
		return -ENOPROTOOPT;
	*(int *)value = msock_take_error(s);
	*len = sizeof(int);
	trace("getsockopt(%d, SO_ERROR) = %d", fd, *(int *)value);
	return 0;
}

/* IP_MINTTL, which every client of the model is below. A RST is not dropped: nobody sends it again, and a
 * client that has gone in silence is another matter. */
static int limit_ttl(int fd, bool deaf)
{
	struct mfile *f = mfile_get(fd);
	struct msock *s;

	trace("setsockopt(%d, IP_MINTTL, %d)", fd, deaf);
	if (f->kind == FILE_LISTENER) {
		if (!deaf && f->listener->deaf && site(SITE_HEAR_ENOBUFS))
			return -ENOBUFS;
		f->listener->deaf = deaf && f->listener->tcp;
		f->listener->deaf_ns = model.now_ns;
		return f->listener->tcp ? 0 : -EOPNOTSUPP;
	}
	s = mfile_sock(fd);
	if (!s->tcp)
		return -EOPNOTSUPP;
	s->deaf = deaf;
	if (!deaf && s->peer != NULL && model.auto_wire)
		wire_flush(s->peer);
	return 0;
}

int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct mfile *f = mfile_get(fd);

	model_enter();
	(void)len;
	if (level == IPPROTO_IP && name == IP_MINTTL)
		return limit_ttl(fd, *(const int *)value > 0);
	if (f->kind == FILE_LISTENER) {
		if (level == SOL_SOCKET && name == SO_OOBINLINE)
			f->listener->oobinline = *(const int *)value != 0;
		if (level == SOL_SOCKET && name == SO_REUSEPORT)
			f->listener->shares = *(const int *)value != 0;
		return 0;
	}
	if (level != SOL_SOCKET)
		return 0;
	if (name == SO_OOBINLINE)
		mfile_sock(fd)->oobinline = *(const int *)value != 0;
	else if (name == SO_LINGER)
		mfile_sock(fd)->linger0 = ((const struct linger *)value)->l_onoff != 0;
	else if (name == SO_SNDBUF && *(const int *)value == 1)
		/* The kernel makes it 4608 with its own overhead counted: writable below 2,240. */
		mfile_sock(fd)->sndbuf = 3360;
	trace("setsockopt(%d, SOL_SOCKET, %d)", fd, name);
	return 0;
}

ssize_t sys_recv(int fd, void *data, size_t len, int flags)
{
	ssize_t n;

	model_enter();
	n = msock_recv(mfile_sock(fd), data, len, flags);
	trace("recv(%d, %zu, %#x) = %zd", fd, len, (unsigned)flags, n);
	return n;
}

uint32_t msock_expect(struct msock *s)
{
	if (s->tx_key == 0 && model.strict)
		sim_fail("fd %d sends bytes, and nobody knows for whom", s->fd);
	return s->tx_key;
}

ssize_t msock_send(struct msock *s, const void *data, size_t len, bool more)
{
	ssize_t n;

	if (len == 0)
		sim_fail("send of length 0 to fd %d", s->fd);
	s->corked = false;
	n = msock_send_room(s, len);
	if (n < 0) {
		if (n == -EAGAIN && s->watched)
			cover(COVER_SEND_EAGAIN);
		return n;
	}
	if ((size_t)n < len && s->watched)
		cover(COVER_SHORT_SEND);
	if (s->watched && msock_expect(s) != 0 && !stream_match(s->tx_key, s->tx_total, data, (size_t)n)) {
		if (model.strict)
			sim_fail("send to fd %d: not the bytes of stream %u at offset %u", s->fd, s->tx_key,
				 s->tx_total);
		s->mismatch = true;
	}
	msock_sent(s, (uint32_t)n, false);
	s->corked = more && n > 0 && s->tcp;
	if (more && n > 0 && s->watched)
		cover(COVER_LAST_BYTES);
	return n;
}

static ssize_t send_to(int fd, const void *data, size_t len, bool more)
{
	struct msock *s = mfile_sock(fd);
	ssize_t n;

	model_enter();
	n = msock_send(s, data, len, more);
	trace("send(%d, %zu) = %zd", fd, len, n);
	return n;
}

ssize_t sys_send(int fd, const void *data, size_t len)
{
	return send_to(fd, data, len, false);
}

ssize_t sys_send_more(int fd, const void *data, size_t len)
{
	return send_to(fd, data, len, true);
}

ssize_t sys_read(int fd, void *data, size_t len)
{
	struct mfile *f = mfile_get(fd);
	ssize_t n;

	model_enter();
	if (f->kind != FILE_EVENT) {
		n = mpipe_read(fd, data, len);
		trace("read(%d, %zu) = %zd", fd, len, n);
		return n;
	}
	if (f->counter == 0)
		return -EAGAIN;
	memcpy(data, &f->counter, sizeof(f->counter));
	f->counter = 0;
	return sizeof(f->counter);
}

ssize_t sys_write(int fd, const void *data, size_t len)
{
	struct mfile *f = mfile_get(fd);
	uint64_t n;

	model_enter();
	if (f->kind != FILE_EVENT)
		sim_fail("write to descriptor %d, which is no eventfd", fd);
	memcpy(&n, data, sizeof(n));
	f->counter += n;
	mfile_wake(fd, EPOLLIN);
	return (ssize_t)len;
}

int sys_shutdown(int fd, int how)
{
	struct msock *s = mfile_sock(fd);

	model_enter();
	trace("shutdown(%d, %d)", fd, how);
	if (s->state != SOCK_OPEN)
		return s->tcp ? -ENOTCONN : 0;
	if (how == SHUT_RD)
		sim_fail("shutdown(SHUT_RD) of fd %d: nobody has a reason for that", fd);
	s->corked = false;
	msock_shutdown_wr(s);
	return 0;
}

void sys_close(int fd)
{
	model_enter();
	mfile_close(fd);
}

int sys_unread(int fd)
{
	struct mfile *f = mfile_get(fd);

	model_enter();
	if (f->kind == FILE_PIPE_RD || f->kind == FILE_PIPE_WR)
		return (int)f->pipe->bytes;
	return (int)msock_unread(mfile_sock(fd));
}

int sys_unacked(int fd)
{
	const struct msock *s = mfile_sock(fd);

	model_enter();
	return (int)msock_send_used(s) + (s->tcp && s->snd_shut && s->state == SOCK_OPEN && !s->fin_sent);
}

int sys_eventfd(void)
{
	model_enter();
	return mfile_open(FILE_EVENT);
}

int sys_timerfd(void)
{
	model_enter();
	return mfile_open(FILE_ALARM);
}

int sys_timerfd_set(int fd, int64_t at_ns)
{
	struct mfile *f = mfile_get(fd);

	model_enter();
	if (f->kind != FILE_ALARM || at_ns <= 0)
		sim_fail("timerfd_settime of descriptor %d", fd);
	if (site(SITE_NO_ALARM))
		return -EINVAL;
	f->alarm_ns = at_ns;
	trace("timerfd_settime(%d, %lld us)", fd, (long long)at_ns / 1000);
	return 0;
}

int64_t sys_now_ns(void)
{
	return model.now_ns;
}

/* In the place of src/base/clock.c: a seed repeats exactly. */
int64_t clock_mono_ns(void)
{
	return model.now_ns;
}

int64_t clock_thread_ns(void)
{
	return model.now_ns;
}

int64_t clock_wall_ns(void)
{
	return model.now_ns;
}
