/* SPDX-License-Identifier: MIT
 *
 * test_loop_faults.c - an event loop whose allocator gets no memory.
 */
#include <ev.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/host/loop_faults.h"

#define WATCHERS 500
#define NUMBER	 15000

static bool is_short;

static void *realloc_if_any(void *ptr, size_t size)
{
	return is_short ? NULL : realloc(ptr, size);
}

static int setup(void **state)
{
	(void)state;
	is_short = false;
	loop_faults_set_source(realloc_if_any);
	return loop_faults_init() != 0 ? -1 : loop_faults_reserve(WATCHERS, WATCHERS);
}

static int teardown(void **state)
{
	(void)state;
	loop_faults_free();
	return 0;
}

static void bytes_survive_every_move(void **state)
{
	char *p, *other;

	(void)state;
	p = loop_faults_alloc(NULL, 100);
	memset(p, 'a', 100);
	is_short = true;
	p = loop_faults_alloc(p, 1000); /* malloc's, into the reserve */
	assert_int_equal(p[99], 'a');
	memset(p, 'b', 1000);
	other = loop_faults_alloc(NULL, 1000);
	memset(other, 'c', 1000);
	p = loop_faults_alloc(p, 5000); /* within the reserve */
	assert_int_equal(p[0], 'b');
	assert_int_equal(p[999], 'b');
	is_short = false;
	p = loop_faults_alloc(p, 100000); /* and out of it */
	assert_int_equal(p[999], 'b');
	assert_int_equal(other[999], 'c');
	assert_null(loop_faults_alloc(p, 0));
	assert_null(loop_faults_alloc(other, 0));
	/* All of it is free again. */
	is_short = true;
	p = loop_faults_alloc(NULL, WATCHERS * LOOP_BYTES_PER_FD);
	assert_null(loop_faults_alloc(p, 0));
}

static void stop_soon(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	int *left = timer->data;

	(void)revents;
	if (--*left == 0)
		ev_break(loop, EVBREAK_ALL);
}

static void ignore(struct ev_loop *loop, struct ev_io *io, int revents)
{
	(void)loop;
	(void)revents;
	(void)io;
}

/* Each descriptor that the reserve was made for, with a timer, all of which come at once. */
static void loop_without_memory_watches_as_much_as_was_planned(void **state)
{
	static struct ev_timer timers[WATCHERS];
	static struct ev_io ios[WATCHERS];
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	int fds[2], left = WATCHERS;

	(void)state;
	assert_non_null(loop);
	assert_int_equal(pipe(fds), 0);
	is_short = true;
	for (int i = 0; i < WATCHERS; i++) {
		ev_io_init(&ios[i], ignore, i < 2 ? fds[i] : dup(fds[1]), i == 0 ? EV_READ : EV_WRITE);
		assert_true(ios[i].fd >= 0);
		ev_io_start(loop, &ios[i]);
		ev_timer_init(&timers[i], stop_soon, 0., 0.);
		timers[i].data = &left;
		ev_timer_start(loop, &timers[i]);
	}
	(void)ev_run(loop, 0);
	assert_int_equal(left, 0);
	for (int i = 0; i < WATCHERS; i++) {
		ev_io_stop(loop, &ios[i]);
		close(ios[i].fd);
	}
	ev_loop_destroy(loop);
}

/* Reserved while the loop runs: numbers far above those of the start, and then no memory. */
static void reserve_that_grew_at_run_time_is_enough(void **state)
{
	static struct ev_io ios[WATCHERS];
	struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
	int fds[2];

	(void)state;
	assert_non_null(loop);
	assert_int_equal(pipe(fds), 0);
	is_short = true;
	assert_int_equal(loop_faults_reserve(WATCHERS, NUMBER + WATCHERS), 0);
	for (int i = 0; i < WATCHERS; i++) {
		ev_io_init(&ios[i], ignore, fcntl(fds[1], F_DUPFD_CLOEXEC, NUMBER), EV_WRITE);
		assert_true(ios[i].fd >= NUMBER);
		ev_io_start(loop, &ios[i]);
	}
	(void)ev_run(loop, EVRUN_ONCE);
	for (int i = 0; i < WATCHERS; i++) {
		ev_io_stop(loop, &ios[i]);
		close(ios[i].fd);
	}
	ev_loop_destroy(loop);
	close(fds[0]);
	close(fds[1]);
}

static void end_without_any_memory_is_told(void **state)
{
	char text[512] = "";
	int fds[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		(void)dup2(fds[1], STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		is_short = true;
		(void)loop_faults_alloc(NULL, 1 << 30);
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "the control loop cannot go on: no memory for its tables"));
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reserve_that_grew_at_run_time_is_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_survive_every_move, setup, teardown),
		cmocka_unit_test_setup_teardown(loop_without_memory_watches_as_much_as_was_planned, setup,
						teardown),
		cmocka_unit_test_setup_teardown(end_without_any_memory_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
