/* SPDX-License-Identifier: MIT
 *
 * test_log_file.c - a thread for one file: what waits, what is lost, what a hang costs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "logging/log_file.h"
#include "logging/log_queue.h"

#define LINE	"0123456789012345678901234567890\n"
#define WAIT_MS 10000

/* A thread whose descriptor is a pipe that nobody reads hangs, as it would on a disk. */
struct fixture {
	int fds[2];
	atomic_int wakes;
	struct log_file *file;
};

/* While it is closed, opening hangs. */
static atomic_bool gate_open = true;

static void count_wake(void *arg)
{
	struct fixture *f = arg;

	atomic_fetch_add(&f->wakes, 1);
}

static int open_behind_gate(const char *path)
{
	while (!atomic_load(&gate_open))
		(void)poll(NULL, 0, 1);
	const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static struct fixture *begin(int fd, const char *path)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct log_file_start start = {
		.path = path, .owned = true, .open = open_behind_gate, .wake = count_wake, .arg = f};
	int err;

	assert_non_null(f);
	f->fds[0] = -1;
	if (fd < 0)
		assert_int_equal(pipe(f->fds), 0);
	start.fd = fd < 0 ? f->fds[1] : fd;
	f->file = log_file_new(&start, &err);
	assert_non_null(f->file);
	assert_int_equal(err, 0);
	return f;
}

static void end(struct fixture *f)
{
	log_file_free(f->file, WAIT_MS);
	if (f->fds[0] >= 0)
		close(f->fds[0]);
	free(f);
}

static struct log_file_view look(const struct fixture *f)
{
	struct log_file_view view;

	log_file_look(f->file, &view);
	return view;
}

/* Until it takes no more; how many lines it has taken. */
static size_t fill(const struct fixture *f)
{
	size_t lines = 0;

	do {
		while (log_file_put(f->file, LINE, strlen(LINE)) > 0)
			lines++;
	} while (log_file_wait(f->file, 50)); /* it may have moved on */
	return lines;
}

static void lines_of_a_stuck_pipe_wait_and_come_out_whole(void **state)
{
	struct fixture *f = begin(-1, NULL);
	const size_t filled = fill(f);
	size_t bytes = 0;
	char text[4096];
	bool idle;
	ssize_t n;

	(void)state;
	assert_true(filled * strlen(LINE) >= LOG_QUEUE_BYTES);
	assert_true(look(f).waiting_ns > 0);
	assert_int_equal(fcntl(f->fds[0], F_SETFL, O_NONBLOCK), 0);
	do {
		idle = log_file_wait(f->file, 10);
		n = read(f->fds[0], text, sizeof(text));
		for (ssize_t i = 0; i < n; i++, bytes++)
			assert_int_equal(text[i], LINE[bytes % strlen(LINE)]);
	} while (n > 0 || !idle);
	assert_int_equal(bytes, filled * strlen(LINE));
	assert_true(atomic_load(&f->wakes) > 0); /* for who had been refused */
	assert_int_equal(look(f).waiting_ns, 0);
	assert_int_equal(look(f).lost, 0);
	assert_int_equal(look(f).stalled_ns, 0);
	end(f);
}

static void put_takes_whole_lines_only(void **state)
{
	struct fixture *f = begin(-1, NULL);
	static char many[LOG_QUEUE_BYTES];
	size_t taken = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 1000 == 999 ? '\n' : 'x';
	while (taken > 0) {
		taken = log_file_put(f->file, many, sizeof(many) / 1000 * 1000);
		assert_int_equal(taken % 1000, 0);
	}
	end(f);
}

static void end_leaves_a_thread_behind_that_hangs(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	const int fd = mkstemp(path);
	struct fixture *f = begin(fd, path);
	int64_t before_ns;

	(void)state;
	atomic_store(&gate_open, false);
	log_file_reopen(f->file);
	assert_false(log_file_wait(f->file, 20));
	before_ns = clock_mono_ns();
	log_file_free(f->file, 50);
	assert_true(clock_mono_ns() - before_ns < 5 * NS_PER_SEC);
	/* It comes back, calls nobody and frees what it has. */
	atomic_store(&gate_open, true);
	while (fcntl(fd, F_GETFD) >= 0)
		(void)poll(NULL, 0, 1);
	assert_int_equal(atomic_load(&f->wakes), 0);
	free(f);
	assert_int_equal(unlink(path), 0);
}

static void end_waits_for_no_pipe(void **state)
{
	static char many[LOG_QUEUE_BYTES / 2];

	(void)state;
	memset(many, '\n', sizeof(many));
	for (int i = 0; i < 100; i++) {
		struct fixture *f = begin(-1, NULL);
		const int64_t before_ns = clock_mono_ns();

		/* The thread wakes for both at once, or for one after the other. */
		assert_true(log_file_put(f->file, many, sizeof(many)) > 0);
		end(f);
		assert_true(clock_mono_ns() - before_ns < WAIT_MS * NS_PER_MS / 2);
	}
}

static void end_writes_what_is_there(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	const int fd = mkstemp(path), mine = dup(fd);
	struct fixture *f = begin(fd, path);

	(void)state;
	for (int i = 0; i < 10000; i++)
		assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	end(f);
	assert_int_equal(lseek(mine, 0, SEEK_END), 10000 * strlen(LINE));
	close(mine);
	assert_int_equal(unlink(path), 0);
}

static void lines_wait_while_a_file_is_being_opened(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	struct fixture *f = begin(mkstemp(path), path);
	char text[sizeof(LINE)] = "";
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	atomic_store(&gate_open, false);
	log_file_reopen(f->file);
	while (look(f).waiting_ns < NS_PER_SEC)
		(void)poll(NULL, 0, 5);
	assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	log_file_reopen(f->file); /* one more, meanwhile */
	atomic_store(&gate_open, true);
	assert_true(log_file_wait(f->file, WAIT_MS));
	assert_int_equal(look(f).opened, 2);
	assert_int_equal(look(f).open_err, 0);
	assert_true(look(f).stalled_ns >= NS_PER_SEC);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text)), strlen(LINE));
	assert_string_equal(text, LINE);
	close(fd);
	assert_int_equal(unlink(path), 0);
	end(f);
}

static void file_that_cannot_be_opened_again_stays_in_use(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	const int fd = mkstemp(path), mine = dup(fd);
	struct fixture *f = begin(fd, "/nonexistent/log");
	char text[sizeof(LINE)] = "";

	(void)state;
	log_file_reopen(f->file);
	assert_true(log_file_wait(f->file, WAIT_MS));
	assert_int_equal(look(f).open_err, -ENOENT);
	assert_int_equal(look(f).opened, 1);
	assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	assert_true(log_file_wait(f->file, WAIT_MS));
	assert_int_equal(pread(mine, text, sizeof(text), 0), strlen(LINE));
	close(mine);
	assert_int_equal(unlink(path), 0);
	end(f);
}

static void lines_that_the_kernel_refuses_are_counted(void **state)
{
	struct fixture *f = begin(open("/dev/full", O_WRONLY), NULL);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	assert_true(log_file_wait(f->file, WAIT_MS));
	assert_int_equal(look(f).lost, 10);
	assert_true(look(f).refused);
	end(f);
}

static void wait_ended(const struct fixture *f)
{
	const int64_t deadline_ns = clock_mono_ns() + WAIT_MS * NS_PER_MS;

	while (!log_file_has_ended(f->file) && clock_mono_ns() < deadline_ns)
		(void)poll(NULL, 0, 1);
	assert_true(log_file_has_ended(f->file));
}

static void thread_that_leaves_writes_everything_closes_the_file_and_tells(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	const int fd = mkstemp(path), mine = dup(fd);
	struct fixture *f = begin(fd, path);

	(void)state;
	for (int i = 0; i < 10000; i++)
		assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	log_file_leave(f->file);
	wait_ended(f);
	assert_int_equal(lseek(mine, 0, SEEK_END), 10000 * strlen(LINE));
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(atomic_load(&f->wakes), 1);
	assert_true(log_file_wait(f->file, WAIT_MS));
	assert_int_equal(look(f).lost, 0);
	assert_int_equal(look(f).waiting_ns, 0);
	end(f);
	close(mine);
	assert_int_equal(unlink(path), 0);
}

static void idle_thread_leaves_at_once(void **state)
{
	struct fixture *f = begin(-1, NULL);

	(void)state;
	assert_true(log_file_wait(f->file, WAIT_MS));
	log_file_leave(f->file);
	wait_ended(f);
	assert_int_equal(atomic_load(&f->wakes), 1);
	end(f);
}

static void thread_that_leaves_waits_for_its_pipe(void **state)
{
	struct fixture *f = begin(-1, NULL);
	const size_t filled = fill(f);
	size_t bytes = 0;
	char text[4096];
	ssize_t n;

	(void)state;
	log_file_leave(f->file);
	while ((n = read(f->fds[0], text, sizeof(text))) > 0) /* until the thread closes its end */
		bytes += (size_t)n;
	wait_ended(f);
	assert_int_equal(bytes, filled * strlen(LINE));
	assert_int_equal(look(f).lost, 0);
	end(f);
}

static void hurried_thread_drops_what_its_pipe_does_not_take_and_counts_it(void **state)
{
	struct fixture *f = begin(-1, NULL);
	const size_t filled = fill(f);
	size_t lines = 0;
	char text[4096];
	ssize_t n;

	(void)state;
	log_file_leave(f->file);
	assert_false(log_file_wait(f->file, 20));
	assert_false(log_file_has_ended(f->file));
	log_file_hurry(f->file);
	wait_ended(f);
	while ((n = read(f->fds[0], text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	assert_true(lines > 0);
	assert_int_equal(lines + look(f).lost, filled);
	assert_int_equal(look(f).unwritten, look(f).lost);
	end(f);
}

static void thread_that_hangs_leaves_when_it_comes_back(void **state)
{
	char path[] = "/tmp/weir-log-XXXXXX";
	const int fd = mkstemp(path), mine = dup(fd);
	struct fixture *f = begin(fd, path);

	(void)state;
	atomic_store(&gate_open, false);
	log_file_reopen(f->file);
	assert_false(log_file_wait(f->file, 20));
	for (int i = 0; i < 100; i++)
		assert_int_equal(log_file_put(f->file, LINE, strlen(LINE)), strlen(LINE));
	log_file_leave(f->file);
	log_file_hurry(f->file); /* a disk is waited for all the same */
	assert_false(log_file_wait(f->file, 20));
	assert_false(log_file_has_ended(f->file));
	atomic_store(&gate_open, true);
	wait_ended(f);
	assert_int_equal(lseek(mine, 0, SEEK_END), 100 * strlen(LINE));
	assert_int_equal(look(f).lost, 0);
	end(f);
	close(mine);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_stuck_pipe_wait_and_come_out_whole),
		cmocka_unit_test(put_takes_whole_lines_only),
		cmocka_unit_test(end_leaves_a_thread_behind_that_hangs),
		cmocka_unit_test(end_waits_for_no_pipe),
		cmocka_unit_test(end_writes_what_is_there),
		cmocka_unit_test(lines_wait_while_a_file_is_being_opened),
		cmocka_unit_test(file_that_cannot_be_opened_again_stays_in_use),
		cmocka_unit_test(lines_that_the_kernel_refuses_are_counted),
		cmocka_unit_test(thread_that_leaves_writes_everything_closes_the_file_and_tells),
		cmocka_unit_test(idle_thread_leaves_at_once),
		cmocka_unit_test(thread_that_leaves_waits_for_its_pipe),
		cmocka_unit_test(hurried_thread_drops_what_its_pipe_does_not_take_and_counts_it),
		cmocka_unit_test(thread_that_hangs_leaves_when_it_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
