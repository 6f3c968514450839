/* SPDX-License-Identifier: MIT
 *
 * test_log_target.c - lines and where they go: files, pipes that are full, sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "logging/log_target.h"

#define NOON_NS (INT64_C(1795255200123) * 1000000) /* 2026-11-21T10:00:00.123Z */

/* stderr is a fixture's for the time of a test. */
static int saved_stderr;

static void take_stderr(int fd)
{
	saved_stderr = dup(STDERR_FILENO);
	assert_true(saved_stderr >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
}

static void give_stderr_back(void)
{
	assert_int_equal(dup2(saved_stderr, STDERR_FILENO), STDERR_FILENO);
	close(saved_stderr);
}

static struct log_target *new_target(const struct config_log *c)
{
	struct log_target *t = malloc(sizeof(*t));

	assert_non_null(t);
	assert_int_equal(log_target_open(t, c), 0);
	return t;
}

static void free_target(struct log_target *t)
{
	log_target_close(t);
	free(t);
}

static void add(struct log_target *t, enum log_level level, const char *sentence)
{
	const struct log_entry e = log_entry_of_text(level, NOON_NS, sentence);
	char text[LOG_TEXT_MAX];

	(void)log_entry_format(&e, t->layout.style, text, sizeof(text));
	log_target_add(t, &e, text);
}

static void full_pipe_is_not_waited_for_and_loses_only_what_has_no_room(void **state)
{
	struct log_target *t;
	char scrap[65536];
	uint64_t lines = 0;
	int fds[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	take_stderr(fds[1]);
	t = new_target(NULL);
	assert_int_equal(t->out.kind, LOG_OUT_STREAM);
	for (int i = 0; i < 5000; i++) {
		add(t, LOG_LEVEL_INFO, "0123456789012345678901234567890123456789");
		(void)log_target_flush(t);
	}
	assert_int_equal(log_target_flush(t), -EAGAIN);
	assert_false(log_target_has_room(t));
	assert_true(t->lost > 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	do {
		n = read(fds[0], scrap, sizeof(scrap));
		for (ssize_t i = 0; i < n; i++)
			lines += scrap[i] == '\n';
		(void)log_target_flush(t);
	} while (n > 0);
	assert_true(log_target_is_empty(t));
	assert_int_equal(lines - 1 + t->lost, 5000); /* one line told of the others */
	free_target(t);
	give_stderr_back();
	close(fds[0]);
	close(fds[1]);
}

static void reader_that_left_costs_lines_not_the_daemon(void **state)
{
	struct log_target *t;
	int fds[2];

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	take_stderr(fds[1]);
	close(fds[0]);
	t = new_target(NULL);
	add(t, LOG_LEVEL_INFO, "one");
	add(t, LOG_LEVEL_INFO, "two");
	assert_int_equal(log_target_flush(t), 0);
	assert_true(log_target_is_empty(t));
	assert_int_equal(t->lost, 2);
	free_target(t);
	give_stderr_back();
	close(fds[1]);
}

static void socket_of_the_journal_gets_priorities(void **state)
{
	struct log_target *t;
	struct stat st;
	char text[64];
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fstat(fds[1], &st), 0);
	(void)snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		       (unsigned long long)st.st_ino);
	take_stderr(fds[1]);
	assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
	t = new_target(NULL);
	assert_int_equal(t->out.kind, LOG_OUT_SOCKET);
	assert_int_equal(t->layout.head, LOG_HEAD_PRIORITY);
	add(t, LOG_LEVEL_ERROR, "bad");
	assert_int_equal(log_target_flush(t), 0);
	assert_int_equal(read(fds[0], text, sizeof(text)), 7);
	assert_memory_equal(text, "<3>bad\n", 7);
	free_target(t);
	assert_int_equal(setenv("JOURNAL_STREAM", "1:1", 1), 0);
	t = new_target(NULL);
	assert_int_equal(t->layout.head, LOG_HEAD_TIME);
	free_target(t);
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	give_stderr_back();
	close(fds[0]);
	close(fds[1]);
}

static void what_was_lost_is_told_once_when_lines_go_again(void **state)
{
	struct log_target *t;
	char text[1024];
	int saved, fds[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	saved = open("/dev/full", O_WRONLY);
	assert_true(saved >= 0);
	take_stderr(saved);
	t = new_target(NULL);
	add(t, LOG_LEVEL_INFO, "one");
	add(t, LOG_LEVEL_INFO, "two");
	assert_int_equal(log_target_flush(t), 0);
	add(t, LOG_LEVEL_INFO, "three");
	assert_int_equal(log_target_flush(t), 0);
	assert_int_equal(t->lost, 3);
	/* The disk has room again. */
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	for (int i = 0; i < 2; i++) {
		add(t, LOG_LEVEL_INFO, "four");
		assert_int_equal(log_target_flush(t), 0);
	}
	n = read(fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "Z info four\n"));
	assert_non_null(strstr(text, "Z warning 3 log lines were lost: "));
	assert_null(strstr(strstr(text, "were lost") + 1, "were lost"));
	assert_int_equal(t->lost, 3);
	free_target(t);
	give_stderr_back();
	close(saved);
	close(fds[0]);
	close(fds[1]);
}

static void line_that_a_full_disk_has_cut_is_ended_before_the_next(void **state)
{
	struct rlimit old, small;
	FILE *file = tmpfile();
	struct log_target *t;
	char text[4096];
	ssize_t n;

	(void)state;
	assert_non_null(file);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){10, old.rlim_max};
	take_stderr(fileno(file));
	t = new_target(NULL);
	assert_int_equal(t->out.kind, LOG_OUT_FILE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	add(t, LOG_LEVEL_INFO, "cut");
	assert_int_equal(log_target_flush(t), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(t->lost, 1);
	add(t, LOG_LEVEL_INFO, "whole");
	assert_int_equal(log_target_flush(t), 0);
	n = pread(fileno(file), text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_memory_equal(text, "2026-11-21\n2026-11-21T10:00:00.123Z info whole\n", 47);
	free_target(t);
	give_stderr_back();
	(void)fclose(file);
}

static off_t file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void ignore(void *arg)
{
	(void)arg;
}

/* What opening once more came to. */
static int reopen(struct log_target *t, unsigned times)
{
	int err = 0;

	assert_true(log_target_reopen(t));
	assert_true(log_target_wait(t, 10000));
	assert_int_equal(log_target_opened(t, &err), times);
	return err;
}

static void add_and_wait(struct log_target *t, enum log_level level)
{
	add(t, level, "yes");
	assert_int_equal(log_target_flush(t), 0);
	assert_true(log_target_wait(t, 10000));
}

static void file_is_filtered_by_level_and_opened_again(void **state)
{
	char dir[] = "/tmp/weir-log-XXXXXX";
	char path[64], moved[64];
	struct config_log c = {.kind = CONFIG_LOG_FILE, .path = path, .level = LOG_LEVEL_WARNING};
	struct log_target *t;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/log", dir);
	(void)snprintf(moved, sizeof(moved), "%s/log.1", dir);
	t = new_target(&c);
	assert_int_equal(log_target_start(t, ignore, NULL), 0);
	add(t, LOG_LEVEL_INFO, "no");
	assert_true(log_target_is_empty(t));
	add_and_wait(t, LOG_LEVEL_ERROR);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(reopen(t, 1), 0);
	assert_int_equal(file_size(path), 0);
	add_and_wait(t, LOG_LEVEL_ERROR);
	assert_int_equal(file_size(path), file_size(moved));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(reopen(t, 2), -ENOENT);
	add_and_wait(t, LOG_LEVEL_ERROR); /* into the file that has no name any more */
	assert_int_equal(log_target_lost(t), 0);
	free_target(t);
}

static void file_that_cannot_be_opened_is_an_error(void **state)
{
	char path[] = "/nonexistent/weir.log";
	struct config_log c = {.kind = CONFIG_LOG_FILE, .path = path, .level = LOG_LEVEL_INFO};
	struct log_target *t = malloc(sizeof(*t));

	(void)state;
	assert_non_null(t);
	assert_int_equal(log_target_open(t, &c), -ENOENT);
	free(t);
}

static void target_that_is_off_takes_all_and_writes_nothing(void **state)
{
	struct config_log c = {.kind = CONFIG_LOG_OFF, .level = LOG_LEVEL_DEBUG};
	struct log_target *t = new_target(&c);

	(void)state;
	add(t, LOG_LEVEL_ALERT, "x");
	assert_true(log_target_is_empty(t));
	assert_true(log_target_has_room(t));
	assert_int_equal(log_target_flush(t), 0);
	assert_int_equal(t->lost, 0);
	free_target(t);
}

/* What a user who owns the folder of the log could do to a daemon that root starts. */
static void root_follows_no_link_of_somebody_else(void **state)
{
	char folder[] = "/tmp/weir-log-XXXXXX", link[64], aim[64];
	struct config_log c = {.kind = CONFIG_LOG_FILE, .level = LOG_LEVEL_INFO, .path = link};
	struct log_target *t = malloc(sizeof(*t));

	(void)state;
	if (geteuid() != 0) {
		free(t);
		print_message("skipped: only root is in danger\n");
		skip();
	}
	assert_non_null(t);
	assert_non_null(mkdtemp(folder));
	(void)snprintf(link, sizeof(link), "%s/log", folder);
	(void)snprintf(aim, sizeof(aim), "%s/aim", folder);
	assert_int_equal(symlink(aim, link), 0);
	assert_int_equal(chmod(folder, 01777), 0);
	assert_int_equal(log_target_open(t, &c), -ELOOP);
	assert_int_equal(access(aim, F_OK), -1);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(chown(folder, 12345, (gid_t)-1), 0);
	assert_int_equal(log_target_open(t, &c), -ELOOP);
	assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
	assert_int_equal(log_target_open(t, &c), 0); /* root's own link is as good as a name */
	log_target_close(t);
	assert_int_equal(unlink(aim), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(folder), 0);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_pipe_is_not_waited_for_and_loses_only_what_has_no_room),
		cmocka_unit_test(reader_that_left_costs_lines_not_the_daemon),
		cmocka_unit_test(socket_of_the_journal_gets_priorities),
		cmocka_unit_test(what_was_lost_is_told_once_when_lines_go_again),
		cmocka_unit_test(line_that_a_full_disk_has_cut_is_ended_before_the_next),
		cmocka_unit_test(file_is_filtered_by_level_and_opened_again),
		cmocka_unit_test(file_that_cannot_be_opened_is_an_error),
		cmocka_unit_test(target_that_is_off_takes_all_and_writes_nothing),
		cmocka_unit_test(root_follows_no_link_of_somebody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
