/* SPDX-License-Identifier: MIT
 *
 * test_logwriter.c - from rings to targets: order, pauses, slow readers, what is told of drops.
 */
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/logging/logwriter.h"

struct fixture {
	struct ev_loop *loop;
	struct log_ring *ring;
	struct logwriter *writer;
	struct ev_timer guard; /* the loop ends when nothing but this is left to do */
	unsigned wakes;
	int saved_stderr;
	int reader; /* of the pipe that is stderr */
};

/* The next time the pipe is full its reader reads it empty, just after the answer. */
static int read_after_full = -1;
/* Whenever the writer waits there is one more line, and room for it. */
static int lines_to_come;
static int busy_reader;

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec wait = {timeout_ms / 1000, timeout_ms % 1000 * 1000000l};
	const int n = (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &wait, NULL, 0);
	char scrap[65536];

	if (lines_to_come > 0) {
		while (read(busy_reader, scrap, sizeof(scrap)) > 0)
			continue;
		log_line(LOG_LEVEL_NOTICE, "one more, %d to come", --lines_to_come);
	}
	if (n == 0 && read_after_full >= 0) {
		while (read(read_after_full, scrap, sizeof(scrap)) > 0)
			continue;
		read_after_full = -1;
	}
	return n;
}

static void count_wake(void *arg)
{
	struct fixture *f = arg;

	f->wakes++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct config_global g;
	const struct config_log *failed;
	int fds[2];
	int err;

	if (f == NULL || pipe(fds) != 0)
		return -1;
	memset(&g, 0, sizeof(g)); /* no log at all means stderr */
	f->saved_stderr = dup(STDERR_FILENO);
	(void)dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	f->reader = fds[0];
	(void)fcntl(f->reader, F_SETFL, O_NONBLOCK);
	f->loop = ev_loop_new(EVFLAG_AUTO);
	f->ring = log_ring_new(count_wake, f);
	f->writer = logwriter_new(f->loop, &g, &failed, &err);
	if (f->loop == NULL || f->ring == NULL || f->writer == NULL ||
	    logwriter_add_ring(f->writer, f->ring) != 0)
		return -1;
	log_use_ring(f->ring);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_use_ring(NULL);
	logwriter_free(f->writer);
	log_ring_free(f->ring);
	ev_loop_destroy(f->loop);
	(void)dup2(f->saved_stderr, STDERR_FILENO);
	close(f->saved_stderr);
	close(f->reader);
	free(f);
	return 0;
}

/* Reads what is in the pipe; the length. */
static size_t read_all(const struct fixture *f, char *out, size_t room)
{
	size_t len = 0;
	ssize_t n;

	while (len < room - 1 && (n = read(f->reader, out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	return len;
}

static void lines_come_out_in_their_order(void **state)
{
	struct fixture *f = *state;
	char out[4096];
	const char *one, *two;

	log_line(LOG_LEVEL_INFO, "one");
	log_line(LOG_LEVEL_WARNING, "two");
	log_line(LOG_LEVEL_DEBUG, "three is not wanted");
	(void)ev_run(f->loop, 0);
	(void)read_all(f, out, sizeof(out));
	one = strstr(out, "Z info one\n");
	two = strstr(out, "Z warning two\n");
	assert_non_null(one);
	assert_non_null(two);
	assert_true(one < two);
	assert_null(strstr(out, "three"));
}

static void busy_writer_is_not_woken_for_each_line(void **state)
{
	struct fixture *f = *state;
	char out[4096];

	(void)ev_run(f->loop, 0); /* the first look; now the ring is quiet */
	f->wakes = 0;
	for (int i = 0; i < 10; i++)
		log_line(LOG_LEVEL_INFO, "line %d", i);
	assert_int_equal(f->wakes, 1);
	logwriter_wake(f->writer);
	for (int i = 0; i < 10; i++)
		log_line(LOG_LEVEL_INFO, "more %d", i);
	assert_int_equal(f->wakes, 1);
	(void)ev_run(f->loop, 0);
	(void)read_all(f, out, sizeof(out));
	assert_non_null(strstr(out, "more 9\n"));
	/* ev_run() came back: no timer is left. The next line wakes again. */
	log_line(LOG_LEVEL_INFO, "late");
	assert_int_equal(f->wakes, 2);
}

static void slow_reader_fills_the_ring_and_is_told_what_was_dropped(void **state)
{
	struct fixture *f = *state;
	static char out[1 << 20];
	size_t lines = 0;
	size_t len;
	unsigned long long told = 0;
	const char *at;

	for (int i = 0; i < 20000; i++) {
		log_line(LOG_LEVEL_INFO, "line %05d of a log that nobody reads at this moment", i);
		if (i % 100 == 0)
			(void)ev_run(f->loop, EVRUN_NOWAIT);
	}
	assert_true(log_ring_dropped(f->ring) > 0);
	len = 0;
	for (int i = 0; i < 1000; i++) {
		size_t before = len;

		logwriter_flush(f->writer, 0);
		len += read_all(f, out + len, sizeof(out) - len);
		if (len == before)
			break;
	}
	for (size_t i = 0; i < len; i++)
		lines += out[i] == '\n';
	at = strstr(out, "warning ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "warning %llu log lines were dropped", &told), 1);
	assert_int_equal(told, log_ring_dropped(f->ring));
	assert_int_equal(lines - 1 + told, 20000);
	assert_int_equal(logwriter_dropped(f->writer), told);
}

static void on_guard(struct ev_loop *loop, struct ev_timer *timer, int revents)
{
	(void)timer;
	(void)revents;
	ev_break(loop, EVBREAK_ALL);
}

static void writer_goes_on_when_the_reader_does(void **state)
{
	struct fixture *f = *state;
	static char out[1 << 20];
	size_t len = 0;

	ev_timer_init(&f->guard, on_guard, 10., 0.);
	for (int i = 0; i < 4000; i++)
		log_line(LOG_LEVEL_INFO, "line %05d of many", i);
	ev_timer_start(f->loop, &f->guard);
	/* Each turn waits for the pipe to be writable, or for the writer's pause. */
	while (strstr(out, "line 03999 of many") == NULL && ev_is_active(&f->guard)) {
		(void)ev_run(f->loop, EVRUN_ONCE);
		len += read_all(f, out + len, sizeof(out) - len);
	}
	assert_true(ev_is_active(&f->guard));
	ev_timer_stop(f->loop, &f->guard);
	assert_int_equal(log_ring_dropped(f->ring), 0);
	(void)ev_run(f->loop, 0); /* and comes to rest */
}

/* The last look at a full target may find that it is full no more: then nothing waits for it. */
static void writer_goes_on_when_the_reader_reads_in_the_same_moment(void **state)
{
	struct fixture *f = *state;
	static char out[1 << 20];
	size_t len = 0;

	for (int i = 0; i < 4000; i++)
		log_line(LOG_LEVEL_INFO, "line %05d of many", i);
	read_after_full = f->reader;
	ev_timer_init(&f->guard, on_guard, 10., 0.);
	ev_timer_start(f->loop, &f->guard);
	while (strstr(out, "line 03999 of many") == NULL && ev_is_active(&f->guard)) {
		(void)ev_run(f->loop, EVRUN_ONCE);
		len += read_all(f, out + len, sizeof(out) - len);
	}
	assert_int_equal(read_after_full, -1);
	assert_true(ev_is_active(&f->guard));
	ev_timer_stop(f->loop, &f->guard);
	(void)ev_run(f->loop, 0); /* and comes to rest */
}

static void what_limits_held_back_is_told_when_the_cause_is_quiet(void **state)
{
	struct fixture *f = *state;
	struct log_limit limit = {0};
	char out[4096];

	(void)ev_run(f->loop, 0); /* the first look; now the ring is quiet */
	assert_true(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, NS_PER_SEC, 1));
	log_line(LOG_LEVEL_INFO, "the one that passed");
	logwriter_wake(f->writer);
	(void)ev_run(f->loop, 0);
	f->wakes = 0;
	for (int i = 0; i < 7; i++)
		assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, NS_PER_SEC, 1));
	assert_int_equal(f->wakes, 1);
	logwriter_wake(f->writer);
	(void)ev_run(f->loop, 0); /* comes back when no timer is left */
	(void)read_all(f, out, sizeof(out));
	assert_non_null(strstr(out, "Z notice 7 more lines were left out: failed connects to servers"));
	assert_false(log_ring_has_left_out(f->ring));
	/* And again. */
	assert_false(log_limit_ok(&limit, LOG_CAUSE_CONNECT, 7, NS_PER_SEC, 1));
	assert_int_equal(f->wakes, 2);
}

static void flush_gives_up_in_time(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 4000; i++)
		log_line(LOG_LEVEL_INFO, "line %05d that fills the pipe and the buffer before it", i);
	logwriter_flush(f->writer, 20);
	assert_true(logwriter_has_stderr(f->writer, LOG_LEVEL_ERROR));
	assert_false(logwriter_has_stderr(f->writer, LOG_LEVEL_DEBUG));
}

static void flush_ends_while_lines_keep_coming(void **state)
{
	struct fixture *f = *state;

	busy_reader = f->reader;
	lines_to_come = 1000000; /* take many seconds */
	for (int i = 0; i < 4000; i++)
		log_line(LOG_LEVEL_INFO, "line %05d that fills the pipe and the buffer before it", i);
	assert_false(logwriter_flush(f->writer, 20));
	assert_true(lines_to_come > 0);
	lines_to_come = 0;
}

/* ---- marks ---- */

static void count_call(void *arg)
{
	unsigned *calls = arg;

	(*calls)++;
}

static void mark_of_empty_rings_is_read_at_once(void **state)
{
	struct fixture *f = *state;
	struct log_mark first, mark;
	unsigned calls = 0;

	logwriter_on_read(f->writer, count_call, &calls);
	logwriter_mark(f->writer, &first);
	assert_true(logwriter_has_read(f->writer, &first));
	logwriter_mark(f->writer, &mark);
	assert_true(logwriter_has_read(f->writer, &mark));
	(void)ev_run(f->loop, 0); /* comes to rest, and has nothing to tell */
	assert_int_equal(calls, 0);
}

static void mark_is_read_with_the_last_record_before_it_and_that_is_told(void **state)
{
	struct fixture *f = *state;
	struct log_ring *second = log_ring_new(count_wake, f);
	struct log_mark early, late, last;
	unsigned calls = 0;
	char out[4096];

	assert_non_null(second);
	assert_int_equal(logwriter_add_ring(f->writer, second), 0);
	logwriter_on_read(f->writer, count_call, &calls);
	log_line(LOG_LEVEL_INFO, "one");
	logwriter_mark(f->writer, &early);
	log_use_ring(second);
	log_line(LOG_LEVEL_INFO, "two");
	logwriter_mark(f->writer, &late);
	log_line(LOG_LEVEL_INFO, "three");
	logwriter_mark(f->writer, &last);
	log_use_ring(NULL);
	assert_false(logwriter_has_read(f->writer, &early));
	assert_false(logwriter_has_read(f->writer, &late));
	assert_false(logwriter_has_read(f->writer, &last));
	assert_int_equal(calls, 0);
	(void)ev_run(f->loop, 0); /* comes to rest: no timer is left */
	assert_true(logwriter_has_read(f->writer, &early));
	assert_true(logwriter_has_read(f->writer, &late));
	assert_true(logwriter_has_read(f->writer, &last));
	assert_true(calls > 0);
	(void)read_all(f, out, sizeof(out));
	assert_non_null(strstr(out, "three\n"));
	logwriter_free(f->writer);
	f->writer = NULL;
	log_ring_free(second);
}

struct chain {
	struct fixture *f;
	struct log_mark mark;
	unsigned left;
};

/* As a grace period does that needs one mark after the other. */
static void mark_again(void *arg)
{
	struct chain *c = arg;

	assert_true(logwriter_has_read(c->f->writer, &c->mark));
	if (c->left-- == 0)
		return;
	log_line(LOG_LEVEL_INFO, "%u to go", c->left);
	logwriter_mark(c->f->writer, &c->mark);
	assert_false(logwriter_has_read(c->f->writer, &c->mark));
}

static void callback_may_mark_again(void **state)
{
	struct fixture *f = *state;
	struct chain c = {.f = f, .left = 5};

	logwriter_on_read(f->writer, mark_again, &c);
	log_line(LOG_LEVEL_INFO, "first");
	logwriter_mark(f->writer, &c.mark);
	ev_timer_init(&f->guard, on_guard, 10., 0.);
	ev_timer_start(f->loop, &f->guard);
	while (c.left != UINT32_MAX && ev_is_active(&f->guard))
		(void)ev_run(f->loop, EVRUN_ONCE);
	assert_true(ev_is_active(&f->guard));
	ev_timer_stop(f->loop, &f->guard);
	logwriter_on_read(f->writer, NULL, NULL);
}

static void log_until_the_targets_are_full(const struct fixture *f)
{
	for (int i = 0; i < 2400; i++) {
		log_line(LOG_LEVEL_INFO, "line %05d of a log that nobody reads at this moment", i);
		if (i % 100 == 0)
			(void)ev_run(f->loop, EVRUN_NOWAIT);
	}
	assert_int_equal(log_ring_dropped(f->ring), 0);
	assert_int_equal(logwriter_dropped(f->writer), 0);
}

static void wait_read(struct fixture *f, const struct log_mark *mark)
{
	ev_timer_init(&f->guard, on_guard, 10., 0.);
	ev_timer_start(f->loop, &f->guard);
	while (!logwriter_has_read(f->writer, mark) && ev_is_active(&f->guard))
		(void)ev_run(f->loop, EVRUN_ONCE);
	assert_true(ev_is_active(&f->guard));
	ev_timer_stop(f->loop, &f->guard);
}

/* Nobody reads the pipe: what waits for the rings must not wait for its reader. */
static void mark_is_read_although_no_target_takes_a_line(void **state)
{
	struct fixture *f = *state;
	static char out[1 << 20];
	struct log_mark mark;
	const int64_t begin_ns = clock_mono_ns();
	unsigned calls = 0;
	uint64_t written;
	size_t len, lines = 0;

	logwriter_on_read(f->writer, count_call, &calls);
	log_until_the_targets_are_full(f);
	logwriter_mark(f->writer, &mark);
	written = log_ring_written(f->ring);
	log_line(LOG_LEVEL_INFO, "this one is after the mark, so it waits");
	wait_read(f, &mark);
	assert_true(clock_mono_ns() - begin_ns > NS_PER_SEC / 2); /* a slow reader had a chance */
	assert_int_equal(calls, 1);
	assert_true(log_ring_is_read_to(f->ring, written));
	assert_false(log_ring_is_read_to(f->ring, written + 1));
	assert_true(logwriter_dropped(f->writer) > 0);
	assert_int_equal(logwriter_dropped(f->writer), logwriter_dropped_slow(f->writer));
	for (len = read_all(f, out, sizeof(out)); !logwriter_flush(f->writer, 0);)
		len += read_all(f, out + len, sizeof(out) - len);
	len += read_all(f, out + len, sizeof(out) - len);
	for (size_t i = 0; i < len; i++)
		lines += out[i] == '\n';
	assert_non_null(strstr(out, "so it waits\n"));
	assert_non_null(strstr(out, " log lines were lost: this target refused them, or had no room\n"));
	assert_int_equal(lines - 1 + logwriter_dropped(f->writer), 2401);
}

static void marks_after_one_that_is_held_up_are_read_too(void **state)
{
	struct fixture *f = *state;
	struct log_mark marks[3];
	unsigned calls = 0;

	logwriter_on_read(f->writer, count_call, &calls);
	log_until_the_targets_are_full(f);
	for (size_t i = 0; i < 3; i++) {
		logwriter_mark(f->writer, &marks[i]);
		log_line(LOG_LEVEL_INFO, "after mark %zu", i);
	}
	wait_read(f, &marks[0]);
	assert_false(logwriter_has_read(f->writer, &marks[1])); /* a line came between them */
	wait_read(f, &marks[2]); /* and both of these with the next turn */
	assert_int_equal(calls, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_come_out_in_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(busy_writer_is_not_woken_for_each_line, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_reader_fills_the_ring_and_is_told_what_was_dropped,
						setup, teardown),
		cmocka_unit_test_setup_teardown(writer_goes_on_when_the_reader_does, setup, teardown),
		cmocka_unit_test_setup_teardown(writer_goes_on_when_the_reader_reads_in_the_same_moment,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_limits_held_back_is_told_when_the_cause_is_quiet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(flush_gives_up_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(flush_ends_while_lines_keep_coming, setup, teardown),
		cmocka_unit_test_setup_teardown(mark_of_empty_rings_is_read_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			mark_is_read_with_the_last_record_before_it_and_that_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(callback_may_mark_again, setup, teardown),
		cmocka_unit_test_setup_teardown(mark_is_read_although_no_target_takes_a_line, setup,
						teardown),
		cmocka_unit_test_setup_teardown(marks_after_one_that_is_held_up_are_read_too, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
