/* SPDX-License-Identifier: MIT
 *
 * test_reading_job.c - what a reading brings, what it leaves behind, and what happens if it hangs.
 */
#include <dirent.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/reload/reading_job.h"
#include "weir/settings/config_reading.h"
#include "../base/alloc_fail.h"

#define WAIT_S 60
#define LISTEN "[listen l]\nbind = 127.0.0.1:4000\nserver a = 10.0.0.1:80\n"

char *__wrap_strdup(const char *text);
FILE *__real_open_memstream(char **bytes, size_t *len);
FILE *__wrap_open_memstream(char **bytes, size_t *len);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

static int no_thread;

char *__wrap_strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = __wrap_malloc(size);

	if (copy != NULL)
		memcpy(copy, text, size);
	return copy;
}

/* Its bytes are freed by our code, and so counted. */
FILE *__wrap_open_memstream(char **bytes, size_t *len)
{
	FILE *stream = allocation_fails() ? NULL : __real_open_memstream(bytes, len);

	allocated += stream != NULL;
	return stream;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return no_thread != 0 ? no_thread : __real_pthread_create(thread, attr, run, arg);
}

/* ---- the rig ---- */

struct rig {
	char folder[32];
	char config[64]; /* the file that is read */
	char old[64];	 /* the target in effect */
	char new[64];
	struct config_input input;
	struct config_log log;
	struct config_global now;
	struct ev_loop *loop;
	struct logwriter *writer;
	sem_t woken;
	long allocated; /* before the test */
	unsigned fds;
};

static unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		n++;
	(void)closedir(folder);
	return n;
}

static void on_wake(void *arg)
{
	(void)sem_post(arg);
}

static char usual_format[] = "text"; /* what a line without `format=` has */

static int set_up(void **state)
{
	struct rig *r = __real_calloc(1, sizeof(*r));
	const struct config_log *failed;
	int err;

	assert_non_null(r);
	(void)snprintf(r->folder, sizeof(r->folder), "/tmp/weir-reading-XXXXXX");
	assert_non_null(mkdtemp(r->folder));
	(void)snprintf(r->config, sizeof(r->config), "%s/weir.ini", r->folder);
	(void)snprintf(r->old, sizeof(r->old), "%s/old.log", r->folder);
	(void)snprintf(r->new, sizeof(r->new), "%s/new.log", r->folder);
	assert_int_equal(config_input_add_path(&r->input, r->config), 0);
	assert_int_equal(config_input_keep_environment(&r->input), 0);
	r->log = (struct config_log){
		.kind = CONFIG_LOG_FILE, .path = r->old, .format = usual_format, .level = LOG_LEVEL_INFO};
	r->now = (struct config_global){.logs = &r->log, .log_count = 1};
	r->loop = ev_loop_new(EVFLAG_AUTO);
	assert_non_null(r->loop);
	r->writer = logwriter_new(r->loop, &r->now, &failed, &err);
	assert_non_null(r->writer);
	assert_int_equal(sem_init(&r->woken, 0, 0), 0);
	r->allocated = allocated;
	r->fds = count_fds();
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	assert_int_equal(allocated, r->allocated);
	assert_int_equal(count_fds(), r->fds);
	logwriter_free(r->writer);
	ev_loop_destroy(r->loop);
	config_input_free(&r->input);
	(void)unlink(r->config);
	(void)unlink(r->old);
	assert_int_not_equal(access(r->new, F_OK), 0);
	assert_int_equal(rmdir(r->folder), 0);
	(void)sem_destroy(&r->woken);
	__real_free(r);
	return 0;
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

/* [global] with the given lines, each with its newline, and something that listens. */
static void write_config(const struct rig *r, const char *lines)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "[global]\n%s" LISTEN, lines);
	put(open(r->config, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), text);
}

static void write_logs(const struct rig *r, const char *first, const char *second)
{
	char lines[256];

	(void)snprintf(lines, sizeof(lines), "log = file:%s\nlog = file:%s\n", first, second);
	write_config(r, lines);
}

static struct reading_job *begin(struct rig *r)
{
	int err = -1;
	struct reading_job *job = reading_job_begin(&r->input, &r->now, on_wake, &r->woken, &err);

	assert_non_null(job);
	assert_int_equal(err, 0);
	return job;
}

static void wait_for(struct rig *r, struct reading_job *job)
{
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += WAIT_S;
	while (sem_timedwait(&r->woken, &until) != 0)
		assert_int_equal(errno, EINTR);
	assert_true(reading_job_is_done(job));
}

static struct reading_job *read_it(struct rig *r)
{
	struct reading_job *job = begin(r);

	wait_for(r, job);
	return job;
}

static void assert_printed(struct reading_job *job, const char *expected)
{
	struct text out;

	text_init(&out);
	reading_job_print(job, &out);
	assert_false(out.failed);
	assert_string_equal(out.len > 0 ? out.bytes : "", expected);
	text_free(&out);
}

/* ---- tests ---- */

static void reading_brings_what_the_file_says_now(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	struct config *c;
	char lines[128];

	(void)snprintf(lines, sizeof(lines), "maxconn = 7\nlog = file:%s\n", r->old);
	write_config(r, lines);
	job = read_it(r);
	assert_printed(job, "");
	c = reading_job_take(job);
	assert_non_null(c);
	assert_null(reading_job_take_target(job, 0));
	reading_job_free(job, r->writer);
	assert_int_equal(c->global.maxconn, 7);
	config_free(c);
}

static void only_targets_that_are_new_are_opened(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	struct log_outlet *o;
	struct config *c;

	write_logs(r, r->new, r->old);
	job = read_it(r);
	c = reading_job_take(job);
	assert_non_null(c);
	assert_int_equal(access(r->new, F_OK), 0);
	assert_null(reading_job_take_target(job, 1));
	o = reading_job_take_target(job, 0);
	assert_non_null(o);
	assert_true(logwriter_target_is(o, &c->global.logs[0]));
	assert_null(reading_job_take_target(job, 0));
	reading_job_free(job, r->writer);
	assert_int_equal(access(r->new, F_OK), 0); /* it is the caller's */
	logwriter_undo_target(r->writer, o);
	config_free(c);
}

/* It will only be described. */
static void without_a_configuration_in_effect_no_target_is_opened(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	struct config *c;
	int err = -1;

	write_logs(r, r->new, r->old);
	job = reading_job_begin(&r->input, NULL, on_wake, &r->woken, &err);
	assert_non_null(job);
	wait_for(r, job);
	assert_printed(job, "");
	c = reading_job_take(job);
	assert_non_null(c);
	assert_int_equal(c->global.log_count, 2);
	reading_job_free(job, r->writer);
	config_free(c);
	/* tear_down() sees that there is no new file */
}

/* One of two that are the same is in effect. */
static void target_in_effect_meets_one_only(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	struct config *c;
	struct log_outlet *o;

	write_logs(r, r->old, r->old);
	job = read_it(r);
	c = reading_job_take(job);
	assert_non_null(c);
	assert_null(reading_job_take_target(job, 0));
	o = reading_job_take_target(job, 1);
	assert_non_null(o);
	logwriter_undo_target(r->writer, o);
	reading_job_free(job, r->writer);
	assert_int_equal(access(r->old, F_OK), 0);
	config_free(c);
}

static void what_is_not_taken_is_taken_back(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;

	write_logs(r, r->new, r->old);
	job = read_it(r);
	assert_int_equal(access(r->new, F_OK), 0);
	reading_job_free(job, r->writer); /* tear_down() looks for the file */
	reading_job_free(NULL, r->writer);
}

static void unusable_configuration_has_its_messages(void **state)
{
	struct rig *r = *state;
	char lines[128], expected[512];
	struct config_reading reading;
	struct reading_job *job;
	FILE *out;

	(void)snprintf(lines, sizeof(lines), "maxconn = ten\nlog = file:%s\n", r->new);
	write_config(r, lines);
	job = read_it(r);
	out = fmemopen(expected, sizeof(expected), "w");
	assert_non_null(out);
	config_read(&r->input, &reading);
	config_reading_print(&reading, out, CONFIG_STYLE_PLAIN);
	config_reading_free(&reading);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(expected, "weir.ini:2:11: error: "));
	assert_non_null(strstr(expected, "The running configuration is unchanged.\n"));
	assert_printed(job, expected);
	assert_printed(job, expected);
	assert_null(reading_job_take(job));
	assert_int_not_equal(access(r->new, F_OK), 0);
	reading_job_free(job, r->writer);
}

static void target_that_cannot_be_opened_refuses_the_configuration(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	char lines[256], expected[512];

	(void)snprintf(lines, sizeof(lines), "log = file:%s\nlog = file:%s/none/x.log\n", r->new, r->folder);
	write_config(r, lines);
	job = read_it(r);
	(void)snprintf(expected, sizeof(expected),
		       "%s:3: error: cannot open the log file %s/none/x.log: No such file or directory; "
		       "check its folder and who may write there\n",
		       r->config, r->folder);
	assert_printed(job, expected);
	assert_null(reading_job_take(job));
	assert_int_equal(access(r->new, F_OK), 0);
	reading_job_free(job, r->writer);
}

/* ---- a pipe that nobody writes to ---- */

static void make_fifo(const struct rig *r)
{
	assert_int_equal(mkfifo(r->config, 0600), 0);
}

/* Waits until the thread reads, then writes. */
static void write_fifo(const struct rig *r)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "[global]\nlog = file:%s\n" LISTEN, r->new);
	put(open(r->config, O_WRONLY | O_CLOEXEC), text);
}

static void control_does_not_wait_for_a_pipe(void **state)
{
	struct rig *r = *state;
	struct reading_job *job;
	struct config *c;

	make_fifo(r);
	job = begin(r);
	assert_false(reading_job_is_done(job));
	write_fifo(r);
	wait_for(r, job);
	c = reading_job_take(job);
	assert_non_null(c);
	config_free(c);
	reading_job_free(job, r->writer);
}

static void abandoned_reading_frees_itself_and_wakes_nobody(void **state)
{
	struct rig *r = *state;
	int value = -1;

	make_fifo(r);
	reading_job_free(begin(r), r->writer);
	assert_true(allocated > r->allocated);
	write_fifo(r);
	for (unsigned ms = 0; allocated != r->allocated; ms++) {
		assert_true(ms < WAIT_S * 1000);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(sem_getvalue(&r->woken, &value), 0);
	assert_int_equal(value, 0);
}

/* The thread uses none of what it was given. */
static void reading_borrows_nothing(void **state)
{
	struct rig *r = *state;
	struct config_input input = {0};
	struct config_log log;
	struct config_global now = {.logs = &log, .log_count = 1};
	struct reading_job *job;
	struct config *c;
	char old[64];
	int err;

	make_fifo(r);
	memcpy(old, r->old, sizeof(old));
	log = r->log;
	log.path = old;
	assert_int_equal(config_input_add_path(&input, r->config), 0);
	assert_int_equal(config_input_add_override(&input, "global.maxconn=9"), 0);
	assert_int_equal(config_input_keep_environment(&input), 0);
	job = reading_job_begin(&input, &now, on_wake, &r->woken, &err);
	assert_non_null(job);
	memset(input.paths[0], 'x', strlen(input.paths[0]));
	memset(input.overrides[0], 'x', strlen(input.overrides[0]));
	config_input_free(&input);
	memset(old, 'x', sizeof(old) - 1);
	memset(&log, 0, sizeof(log));
	memset(&now, 0, sizeof(now));
	write_fifo(r);
	wait_for(r, job);
	assert_printed(job, "");
	c = reading_job_take(job);
	assert_non_null(c);
	assert_int_equal(c->global.maxconn, 9);
	config_free(c);
	reading_job_free(job, r->writer);
}

/* ---- failures ---- */

static void thread_that_cannot_start_leaves_nothing(void **state)
{
	struct rig *r = *state;
	int err = 0;

	no_thread = EAGAIN;
	assert_null(reading_job_begin(&r->input, &r->now, on_wake, &r->woken, &err));
	no_thread = 0;
	assert_int_equal(err, -EAGAIN);
}

/* True if the allocation `number` was not reached. */
static bool fail_one(struct rig *r, long number, unsigned *begun, unsigned *brought)
{
	struct reading_job *job;
	struct config *c;
	struct text out;
	int err = 0;
	bool all;

	fail_allocations_from(number);
	job = reading_job_begin(&r->input, &r->now, on_wake, &r->woken, &err);
	if (job == NULL) {
		fail_allocations_from(-1);
		assert_int_equal(err, -ENOMEM);
		return false;
	}
	++*begun;
	wait_for(r, job);
	text_init(&out);
	reading_job_print(job, &out);
	c = reading_job_take(job);
	all = until_failure > 0;
	fail_allocations_from(-1);
	if (c != NULL)
		++*brought;
	else
		assert_true(out.failed || strstr(out.bytes, "emory") != NULL);
	text_free(&out);
	config_free(c);
	reading_job_free(job, r->writer);
	return all;
}

static void any_allocation_may_fail(void **state)
{
	struct rig *r = *state;
	unsigned begun = 0, brought = 0;
	long number = 0;

	write_logs(r, r->old, r->new);
	while (!fail_one(r, number, &begun, &brought)) {
		assert_int_equal(allocated, r->allocated);
		assert_int_equal(count_fds(), r->fds);
		assert_int_not_equal(access(r->new, F_OK), 0);
		number++;
	}
	assert_true(begun > 10);
	assert_true(number - begun > 4);
	assert_true(brought >= 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(reading_brings_what_the_file_says_now),
		test(only_targets_that_are_new_are_opened),
		test(without_a_configuration_in_effect_no_target_is_opened),
		test(target_in_effect_meets_one_only),
		test(what_is_not_taken_is_taken_back),
		test(unusable_configuration_has_its_messages),
		test(target_that_cannot_be_opened_refuses_the_configuration),
		test(control_does_not_wait_for_a_pipe),
		test(abandoned_reading_frees_itself_and_wakes_nobody),
		test(reading_borrows_nothing),
		test(thread_that_cannot_start_leaves_nothing),
		test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
