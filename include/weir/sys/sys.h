/* SPDX-License-Identifier: MIT
 *
 * sys.h - every system call of the data plane, and no other use of the kernel.
 *
 * The one seam below the drivers: production links src/sys/sys.c, the simulator links a model of
 * the kernel in its place (tests/sim/). Each function is one call, retried on EINTR where
 * that is safe, and returns its result or -errno. Any thread.
 */
#ifndef WEIR_SYS_SYS_H
#define WEIR_SYS_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

/* accept4(2) with SOCK_NONBLOCK | SOCK_CLOEXEC. `len` in and out as in accept(2). */
int sys_accept(int fd, struct sockaddr *sa, socklen_t *len);

/* socket(2), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC of the family `family`. */
int sys_socket(int family);
int sys_bind(int fd, const struct sockaddr *sa, socklen_t len);
int sys_connect(int fd, const struct sockaddr *sa, socklen_t len);
/* getsockname(2): the address of our end. `len` in and out. */
int sys_getsockname(int fd, struct sockaddr *sa, socklen_t *len);
/* The ports that connect(2) chooses from in this network namespace: ip_local_port_range, read afresh each
 * time. 0 or -errno. This and the next function make several calls and are too slow for each connection. */
int sys_port_range(uint16_t *first, uint16_t *last);
/* The ports among these that it does not choose all the same, as the kernel writes them ("8080,9000-9010"),
 * into `text`; cut off after `room` bytes. 0 or -errno. */
int sys_reserved_ports(char *text, size_t room);
/* The source address that this machine would use towards `to`, found by connect(2) of a UDP socket, which
 * sends nothing. `from_len` in and out. 0 or -errno. */
int sys_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr *from, socklen_t *from_len);
int sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

/* recv(2) with MSG_DONTWAIT | `flags`. */
ssize_t sys_recv(int fd, void *data, size_t len, int flags);
/* send(2) with MSG_DONTWAIT | MSG_NOSIGNAL. */
ssize_t sys_send(int fd, const void *data, size_t len);
/* The same, but a last partial segment may wait for more data (tcp(7), TCP_CORK: at most 200 ms). For the
 * last bytes of a stream: a shutdown(2) or close(2) right after it sends them and the FIN together. */
ssize_t sys_send_more(int fd, const void *data, size_t len);

/* splice(2) with SPLICE_F_MOVE | SPLICE_F_NONBLOCK and never SPLICE_F_MORE (rules R14, R15 of
 * doc/architecture.md): socket to pipe, and pipe to socket. */
ssize_t sys_splice(int from, int to, size_t len);
/* read(2); used on pipes and eventfds. */
ssize_t sys_read(int fd, void *data, size_t len);
/* write(2); used on eventfds. */
ssize_t sys_write(int fd, const void *data, size_t len);

int sys_shutdown(int fd, int how);
/* close(2). EBADF is a bug of ours and aborts; after EINTR the descriptor is closed, as Linux defines it. */
void sys_close(int fd);

/* fcntl(2) F_DUPFD_CLOEXEC: another descriptor of the same socket. */
int sys_dup(int fd);

/* pipe2(2) with O_NONBLOCK | O_CLOEXEC. */
int sys_pipe(int fds[2]);
/* fcntl(2) F_SETPIPE_SZ and F_GETPIPE_SZ: the real size in bytes, or -errno. */
int sys_pipe_set_size(int fd, int bytes);
int sys_pipe_size(int fd);
/* ioctl(2) FIONREAD (bytes waiting to be read) and SIOCOUTQ (bytes not yet acknowledged). */
int sys_unread(int fd);
int sys_unacked(int fd);

/* The page size of this machine, sysconf(3): what one slot of a pipe counts for in its size (pipe(7)). Never
 * fails; makes no system call. */
uint32_t sys_page_bytes(void);
/* madvise(2), MADV_DONTNEED: returns pages of private memory to the system; from then on they read as zeros.
 * 0, or -errno with nothing changed. */
int sys_discard(void *memory, size_t len);

int sys_epoll_create(void);
int sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data);
/* epoll_pwait2(2) where the kernel has it, epoll_wait(2) rounded up to ms elsewhere.
 * `timeout_ns` < 0 waits for ever. A wait ended by a signal reports 0 events; a call that does not wait (0)
 * is repeated instead. */
int sys_epoll_wait(int epfd, struct epoll_event *events, int max, int64_t timeout_ns);
/* eventfd(2), nonblocking, close-on-exec. */
int sys_eventfd(void);
/* timerfd_create(2) of CLOCK_MONOTONIC, nonblocking, close-on-exec. */
int sys_timerfd(void);
/* timerfd_settime(2): readable once, at `at_ns` > 0; replaces any earlier time. 0 or -errno. */
int sys_timerfd_set(int fd, int64_t at_ns);

/* clock_gettime(2) CLOCK_MONOTONIC, in ns. */
int64_t sys_now_ns(void);

#endif
