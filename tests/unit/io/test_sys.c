/* SPDX-License-Identifier: MIT
 *
 * test_sys.c - the wrappers keep their word on this kernel, and the pipe pool works over real pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/io/pipe_pool.h"
#include "weir/sys/sys.h"
#include "io/alarm.h"

static void assert_nonblocking_and_cloexec(int fd)
{
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* A connected pair over loopback: [0] connects, [1] is accepted. */
static void tcp_pair(int fds[2])
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in peer;
	socklen_t len = sizeof(in);
	int listener = sys_socket(AF_INET);

	assert_nonblocking_and_cloexec(listener);
	assert_int_equal(sys_bind(listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&in, &len), 0);
	assert_int_equal(sys_accept(listener, NULL, NULL), -EAGAIN);
	fds[0] = sys_socket(AF_INET);
	assert_int_equal(sys_connect(fds[0], (struct sockaddr *)&in, sizeof(in)), -EINPROGRESS);
	len = sizeof(peer);
	fds[1] = sys_accept(listener, (struct sockaddr *)&peer, &len);
	assert_nonblocking_and_cloexec(fds[1]);
	assert_int_equal(len, sizeof(peer));
	sys_close(listener);
}

static void sockets_do_not_block_and_tell_errors_as_results(void **state)
{
	int fds[2];
	char buf[16];

	(void)state;
	tcp_pair(fds);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), -EAGAIN);
	assert_int_equal(sys_send(fds[0], "hello", 5), 5);
	assert_int_equal(sys_unread(fds[1]), 5);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), MSG_PEEK), 5);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), 5);
	assert_int_equal(sys_unread(fds[1]), 0);
	assert_int_equal(sys_unacked(fds[0]), 0);
	assert_int_equal(sys_shutdown(fds[0], SHUT_WR), 0);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), 0);
	assert_int_equal(sys_send(fds[0], "x", 1), -EPIPE); /* and no SIGPIPE */
	assert_int_equal(sys_getsockopt(fds[0], SOL_SOCKET, 9999, buf, &(socklen_t){4}), -ENOPROTOOPT);
	assert_int_equal(sys_setsockopt(fds[0], SOL_SOCKET, 9999, buf, 4), -ENOPROTOOPT);
	sys_close(fds[0]);
	sys_close(fds[1]);
	assert_int_equal(sys_shutdown(fds[0], SHUT_WR), -EBADF);
}

static void last_bytes_go_with_the_end(void **state)
{
	int fds[2];
	char buf[16];

	(void)state;
	tcp_pair(fds);
	assert_int_equal(sys_send_more(fds[0], "hello", 5), 5);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), -EAGAIN); /* it waits for what follows */
	assert_int_equal(sys_shutdown(fds[0], SHUT_WR), 0);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), 5);
	assert_int_equal(sys_recv(fds[1], buf, sizeof(buf), 0), 0);
	assert_int_equal(sys_send_more(fds[1], "world", 5), 5);
	sys_close(fds[1]); /* as good as shutdown */
	assert_int_equal(sys_recv(fds[0], buf, sizeof(buf), 0), 5);
	assert_int_equal(sys_recv(fds[0], buf, sizeof(buf), 0), 0);
	sys_close(fds[0]);
}

static void splice_moves_between_socket_and_pipe_and_says_eagain(void **state)
{
	int fds[2], pipe[2];
	char buf[16];

	(void)state;
	tcp_pair(fds);
	assert_int_equal(sys_pipe(pipe), 0);
	assert_nonblocking_and_cloexec(pipe[0]);
	assert_nonblocking_and_cloexec(pipe[1]);
	assert_int_equal(sys_splice(fds[1], pipe[1], 65536), -EAGAIN);
	assert_int_equal(sys_send(fds[0], "hello", 5), 5);
	assert_int_equal(sys_splice(fds[1], pipe[1], 65536), 5);
	assert_int_equal(sys_splice(pipe[0], fds[1], 5), 5);
	assert_int_equal(sys_recv(fds[0], buf, sizeof(buf), 0), 5);
	assert_int_equal(sys_write(pipe[1], "abc", 3), 3);
	assert_int_equal(sys_unread(pipe[0]), 3);
	assert_int_equal(sys_read(pipe[0], buf, sizeof(buf)), 3);
	assert_int_equal(sys_read(pipe[0], buf, sizeof(buf)), -EAGAIN);
	for (int i = 0; i < 2; i++) {
		sys_close(fds[i]);
		sys_close(pipe[i]);
	}
}

static void pipe_size_is_the_one_that_the_kernel_gave(void **state)
{
	int pipe[2];

	(void)state;
	assert_int_equal(sys_pipe(pipe), 0);
	assert_int_equal(sys_pipe_set_size(pipe[0], 100000), 131072);
	assert_int_equal(sys_pipe_size(pipe[1]), 131072);
	sys_close(pipe[0]);
	sys_close(pipe[1]);
	assert_int_equal(sys_pipe_size(pipe[0]), -EBADF);
}

static void closing_twice_ends_the_process(void **state)
{
	const struct rlimit no_core = {0, 0};
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = sys_eventfd();

		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		sys_close(fd);
		sys_close(fd);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void an_alarm_rings_once_at_the_latest_when_told(void **state)
{
	struct epoll_event ev;
	struct alarm a;
	const int epfd = sys_epoll_create();
	int64_t began_ns;

	(void)state;
	assert_int_equal(alarm_open(&a), 0);
	assert_nonblocking_and_cloexec(a.fd);
	assert_int_equal(sys_epoll_ctl(epfd, EPOLL_CTL_ADD, a.fd, EPOLLIN | EPOLLET, 1), 0);
	assert_int_equal(sys_epoll_wait(epfd, &ev, 1, 0), 0);
	began_ns = sys_now_ns();
	assert_int_equal(alarm_by(&a, began_ns + 3600 * NS_PER_SEC), 0);
	assert_int_equal(alarm_by(&a, began_ns + 20 * NS_PER_MS), 0); /* sooner counts */
	assert_int_equal(alarm_by(&a, began_ns + 7200 * NS_PER_SEC), 0); /* later does not */
	assert_int_equal(sys_epoll_wait(epfd, &ev, 1, -1), 1);
	assert_true(sys_now_ns() >= began_ns + 20 * NS_PER_MS);
	assert_int_equal(sys_epoll_wait(epfd, &ev, 1, 0), 0); /* though nobody reads */
	alarm_rang(&a);
	assert_int_equal(alarm_by(&a, 1), 0); /* long past */
	assert_int_equal(sys_epoll_wait(epfd, &ev, 1, -1), 1);
	alarm_close(&a);
	sys_close(epfd);
}

static void ignore_signal(int number)
{
	(void)number;
}

static void epoll_waits_as_long_as_told_and_reports_data(void **state)
{
	const int epfd = sys_epoll_create();
	const int fd = sys_eventfd();
	const uint64_t one = 1;
	const uint64_t data = UINT64_C(0xfeed00000000beef);
	struct epoll_event events[4];
	int64_t before;

	(void)state;
	assert_nonblocking_and_cloexec(fd);
	assert_true(fcntl(epfd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(sys_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, EPOLLIN, data), 0);
	assert_int_equal(sys_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, EPOLLIN, data), -EEXIST);
	assert_int_equal(sys_epoll_wait(epfd, events, 4, 0), 0);
	before = sys_now_ns();
	assert_int_equal(sys_epoll_wait(epfd, events, 4, 3 * NS_PER_MS), 0);
	assert_true(sys_now_ns() - before >= 3 * NS_PER_MS);
	assert_int_equal(sys_write(fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(sys_epoll_wait(epfd, events, 4, -1), 1);
	assert_int_equal(events[0].data.u64, data);
	assert_int_equal(events[0].events, EPOLLIN);
	sys_close(fd);
	assert_int_equal(sys_epoll_wait(-1, events, 4, 0), -EBADF);
	sys_close(epfd);
}

static void signal_ends_a_wait_with_no_events(void **state)
{
	const struct sigaction action = {.sa_handler = ignore_signal};
	const struct itimerval soon = {.it_value.tv_usec = 20000, .it_interval.tv_usec = 20000};
	const struct itimerval never = {.it_value.tv_usec = 0};
	const int epfd = sys_epoll_create();
	struct epoll_event event;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(sys_epoll_wait(epfd, &event, 1, -1), 0); /* else it would wait for ever */
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	sys_close(epfd);
}

static void pool_over_real_pipes_leaves_no_descriptor_behind(void **state)
{
	const int before = dup(STDERR_FILENO); /* the lowest number that is free */
	struct pipe_pool pool;
	struct pipe_cache cache;
	struct pipe *p;
	int after;

	(void)state;
	sys_close(before);
	pipe_pool_init(&pool, 4, 128 * 1024, UINT64_MAX);
	pipe_cache_init(&cache, &pool, 4);
	p = pipe_get(&cache);
	assert_non_null(p);
	assert_nonblocking_and_cloexec(p->rd);
	assert_int_equal(p->cap, (uint32_t)sys_pipe_size(p->wr));
	assert_int_equal(p->cap, 128 * 1024);
	assert_int_equal(sys_write(p->wr, "abc", 3), 3);
	p->bytes = 3;
	pipe_put(&cache, p);
	p = pipe_get(&cache);
	assert_int_equal(sys_unread(p->rd), 0);
	pipe_put(&cache, p);
	pipe_cache_free(&cache);
	pipe_pool_free(&pool);
	after = dup(STDERR_FILENO);
	assert_int_equal(after, before);
	sys_close(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_do_not_block_and_tell_errors_as_results),
		cmocka_unit_test(an_alarm_rings_once_at_the_latest_when_told),
		cmocka_unit_test(last_bytes_go_with_the_end),
		cmocka_unit_test(splice_moves_between_socket_and_pipe_and_says_eagain),
		cmocka_unit_test(pipe_size_is_the_one_that_the_kernel_gave),
		cmocka_unit_test(closing_twice_ends_the_process),
		cmocka_unit_test(epoll_waits_as_long_as_told_and_reports_data),
		cmocka_unit_test(signal_ends_a_wait_with_no_events),
		cmocka_unit_test(pool_over_real_pipes_leaves_no_descriptor_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
