/* SPDX-License-Identifier: MIT
 *
 * sys.c - the system calls of the data plane, one function each.
 *
 * Decides nothing: retries EINTR where nothing has happened yet and turns errno into a result. The simulator
 * replaces this file. Any thread.
 */
#include "weir/sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

/* Added in Linux 5.11 with the same number on every architecture; older headers lack it. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* The kernel's own timespec: 64 bits even where libc's is smaller. */
struct kernel_timespec {
	int64_t tv_sec;
	int64_t tv_nsec;
};

static atomic_bool no_pwait2; /* the kernel or a seccomp filter has refused it before */

/* The value of a call that returns -1 on error, or -errno. The call is repeated while it is interrupted. */
#define RETRY(type, call)                                                                                  \
	({                                                                                                 \
		type result_;                                                                              \
		do                                                                                         \
			result_ = (call);                                                                  \
		while (result_ < 0 && errno == EINTR);                                                     \
		result_ < 0 ? (type)-errno : result_;                                                      \
	})

int sys_accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	return RETRY(int, accept4(fd, sa, len, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

int sys_socket(int family)
{
	return RETRY(int, socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int sys_bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	return RETRY(int, bind(fd, sa, len));
}

int sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	/* Not retried: a nonblocking connect does not sleep, and a second one would return EALREADY. */
	return connect(fd, sa, len) < 0 ? -errno : 0;
}

int sys_getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	return getsockname(fd, sa, len) < 0 ? -errno : 0;
}

int sys_port_range(uint16_t *first, uint16_t *last)
{
	const int fd = RETRY(int, open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC));
	char text[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return sscanf(text, "%" SCNu16 " %" SCNu16, first, last) == 2 ? 0 : -EPROTO;
}

int sys_reserved_ports(char *text, size_t room)
{
	const int fd =
		RETRY(int, open("/proc/sys/net/ipv4/ip_local_reserved_ports", O_RDONLY | O_CLOEXEC));
	ssize_t n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, text, room - 1);
	sys_close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	return 0;
}

int sys_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr *from, socklen_t *from_len)
{
	const int fd = RETRY(int, socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	int err;

	if (fd < 0)
		return fd;
	err = sys_connect(fd, to, len);
	if (!err)
		err = sys_getsockname(fd, from, from_len);
	sys_close(fd);
	return err;
}

int sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return getsockopt(fd, level, name, value, len) < 0 ? -errno : 0;
}

int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return setsockopt(fd, level, name, value, len) < 0 ? -errno : 0;
}

ssize_t sys_recv(int fd, void *data, size_t len, int flags)
{
	return RETRY(ssize_t, recv(fd, data, len, flags | MSG_DONTWAIT));
}

ssize_t sys_send(int fd, const void *data, size_t len)
{
	return RETRY(ssize_t, send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL));
}

ssize_t sys_send_more(int fd, const void *data, size_t len)
{
	return RETRY(ssize_t, send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE));
}

ssize_t sys_splice(int from, int to, size_t len)
{
	return RETRY(ssize_t, splice(from, NULL, to, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
}

ssize_t sys_read(int fd, void *data, size_t len)
{
	return RETRY(ssize_t, read(fd, data, len));
}

ssize_t sys_write(int fd, const void *data, size_t len)
{
	return RETRY(ssize_t, write(fd, data, len));
}

int sys_shutdown(int fd, int how)
{
	return shutdown(fd, how) < 0 ? -errno : 0;
}

void sys_close(int fd)
{
	/* Linux frees the number before anything can fail: closing again after EINTR or EIO could close a
	 * descriptor that another thread has opened meanwhile. EBADF means that we closed twice. */
	check(close(fd) == 0 || errno != EBADF);
}

int sys_dup(int fd)
{
	const int to = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return to < 0 ? -errno : to;
}

int sys_pipe(int fds[2])
{
	return pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0 ? -errno : 0;
}

int sys_pipe_set_size(int fd, int bytes)
{
	return RETRY(int, fcntl(fd, F_SETPIPE_SZ, bytes));
}

int sys_pipe_size(int fd)
{
	return RETRY(int, fcntl(fd, F_GETPIPE_SZ));
}

int sys_unread(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) < 0 ? -errno : n;
}

int sys_unacked(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) < 0 ? -errno : n;
}

uint32_t sys_page_bytes(void)
{
	const long page = sysconf(_SC_PAGESIZE);

	check(page > 0);
	check(page <= 1 << 20);
	return (uint32_t)page;
}

int sys_discard(void *memory, size_t len)
{
	return madvise(memory, len, MADV_DONTNEED) < 0 ? -errno : 0;
}

int sys_epoll_create(void)
{
	return RETRY(int, epoll_create1(EPOLL_CLOEXEC));
}

int sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = {.events = events, .data.u64 = data};

	return epoll_ctl(epfd, op, fd, &ev) < 0 ? -errno : 0;
}

/* Rounded up, so that a timer does not wake too early and spin until its deadline. */
static int timeout_ms(int64_t timeout_ns)
{
	if (timeout_ns < 0)
		return -1;
	if (timeout_ns > (int64_t)INT32_MAX * NS_PER_MS - NS_PER_MS)
		return INT32_MAX;
	return (int)((timeout_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* epoll_wait(2) as this kernel has it: the number of events, or -errno. */
static int wait_once(int epfd, struct epoll_event *events, int max, int64_t timeout_ns)
{
	struct kernel_timespec ts = {timeout_ns / NS_PER_SEC, timeout_ns % NS_PER_SEC};
	int n;

	if (!atomic_load_explicit(&no_pwait2, memory_order_relaxed)) {
		n = (int)syscall(SYS_epoll_pwait2, epfd, events, max, timeout_ns < 0 ? NULL : &ts, NULL, 0);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n >= 0 ? n : -errno;
		atomic_store_explicit(&no_pwait2, true, memory_order_relaxed);
	}
	n = epoll_wait(epfd, events, max, timeout_ms(timeout_ns));
	return n >= 0 ? n : -errno;
}

int sys_epoll_wait(int epfd, struct epoll_event *events, int max, int64_t timeout_ns)
{
	int n;

	check(max > 0);
	/* A call that does not wait must report everything: the caller may not call again for what it
	 * missed. */
	do
		n = wait_once(epfd, events, max, timeout_ns);
	while (unlikely(n == -EINTR) && timeout_ns == 0);
	return n == -EINTR ? 0 : n;
}

int sys_eventfd(void)
{
	return RETRY(int, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

int sys_timerfd(void)
{
	return RETRY(int, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
}

int sys_timerfd_set(int fd, int64_t at_ns)
{
	/* A time of 0 would disarm it. */
	const struct itimerspec at = {.it_value = {at_ns / NS_PER_SEC, at_ns % NS_PER_SEC}};

	check(at_ns > 0);
	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

int64_t sys_now_ns(void)
{
	return clock_mono_ns();
}
