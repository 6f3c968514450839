/* SPDX-License-Identifier: MIT
 *
 * test_crash_report.c - a broken check and a fatal signal leave two lines in every target, and end the
 * process as they would have without.
 */
#include <fcntl.h>
#include <pthread.h>
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/crash_report.h"

#define TEXT_FRAME CRASH_REPORT_UTC " alert " CRASH_REPORT_TEXT "\n"
#define JSON_FRAME "{\"ts\":\"" CRASH_REPORT_UTC "\",\"message\":\"" CRASH_REPORT_TEXT "\"}\n"
#define SYSLOG_FRAME "<25>" CRASH_REPORT_LOCAL " weir[7]: " CRASH_REPORT_TEXT "\n"

/* What a child left in each place. */
struct said {
	char err[8192];
	char text[8192];
	char json[8192];
	char datagrams[4][2048];
	int datagram_count;
};

static int text_fds[2], json_fds[2], err_fds[2], datagram_fds[2];

static size_t take(int fd, char *out, size_t room)
{
	size_t len = 0;
	ssize_t n;

	while (len < room - 1 && (n = read(fd, out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fd);
	return len;
}

static void child(void (*body)(void))
{
	static struct crash_report_target text = {&text_fds[1], TEXT_FRAME};
	static struct crash_report_target json = {&json_fds[1], JSON_FRAME};
	static struct crash_report_target syslog = {&datagram_fds[1], SYSLOG_FRAME};
	const struct rlimit no_core = {0, 0};

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)signal(SIGABRT, SIG_DFL);
	(void)signal(SIGSEGV, SIG_DFL); /* a sanitizer's, or cmocka's */
	(void)dup2(err_fds[1], STDERR_FILENO);
	crash_report_begin();
	crash_report_add(&text);
	crash_report_add(&json);
	crash_report_add(&syslog);
	body();
	_exit(0);
}

static int run(void (*body)(void), struct said *said)
{
	ssize_t n;
	int status;
	pid_t pid;

	memset(said, 0, sizeof(*said));
	assert_int_equal(pipe(text_fds), 0);
	assert_int_equal(pipe(json_fds), 0);
	assert_int_equal(pipe(err_fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagram_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(body);
	close(text_fds[1]);
	close(json_fds[1]);
	close(err_fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)take(err_fds[0], said->err, sizeof(said->err));
	(void)take(text_fds[0], said->text, sizeof(said->text));
	(void)take(json_fds[0], said->json, sizeof(said->json));
	while (said->datagram_count < 4 &&
	       (n = recv(datagram_fds[0], said->datagrams[said->datagram_count], 2047, MSG_DONTWAIT)) > 0)
		said->datagram_count++;
	close(datagram_fds[0]);
	close(datagram_fds[1]);
	return status;
}

static unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void expect_everywhere(const struct said *said, const char *what)
{
	assert_non_null(strstr(said->err, what));
	assert_non_null(strstr(said->text, what));
	assert_non_null(strstr(said->json, what));
	assert_int_equal(said->datagram_count, 2);
	assert_non_null(strstr(said->datagrams[0], what));
	assert_non_null(strstr(said->datagrams[1], "backtrace: "));
	assert_int_equal(lines_of(said->err), 2);
	assert_int_equal(lines_of(said->text), 2);
	assert_int_equal(lines_of(said->json), 2);
	assert_int_equal(lines_of(said->datagrams[0]), 0);
	assert_non_null(strstr(said->err, "backtrace: "));
	assert_non_null(strstr(said->text, "backtrace: "));
	assert_non_null(strstr(said->json, "backtrace: "));
}

/* ---- ends ---- */

static void break_a_check(void)
{
	const char *word = "one";

	check(strcmp(word, "two") == 0);
}

static void read_nothing(void)
{
	static volatile uintptr_t nowhere = 0x40;

	_exit(*(const volatile int *)nowhere);
}

static void run_out_of_stack(void)
{
	volatile char page[4096];

	page[0] = 1;
	if (page[0])
		run_out_of_stack();
	page[1] = 1;
}

static void *crash_in_a_worker(void *arg)
{
	sigset_t all;

	(void)arg;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	crash_report_thread("worker 3");
	crash_report_session(17);
	read_nothing();
	return NULL;
}

static void crash_beside_another(void)
{
	pthread_t thread[2];

	(void)pthread_create(&thread[0], NULL, crash_in_a_worker, NULL);
	(void)pthread_create(&thread[1], NULL, crash_in_a_worker, NULL);
	(void)pthread_join(thread[0], NULL);
}

static void crash_in_one_thread(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, crash_in_a_worker, NULL);
	(void)pthread_join(thread, NULL);
}

static void abort_by_ourselves(void)
{
	abort();
}

static void be_sent_a_signal(void)
{
	const pid_t parent = getpid();
	int gone[2];
	char byte = 0;

	assert_int_equal(pipe(gone), 0);
	if (fork() == 0) {
		/* TSan hangs in a parent that gets it within fork(). */
		(void)!read(gone[0], &byte, 1);
		(void)kill(parent, SIGBUS);
		_exit(0);
	}
	(void)!write(gone[1], &byte, 1);
	for (;;)
		(void)pause();
}

/* Nobody reads the first target, and it is full. */
static void break_a_check_before_a_target_that_hangs(void)
{
	static int fds[2];
	static struct crash_report_target stuck = {&fds[1], TEXT_FRAME};
	const char byte = 0;

	if (pipe(fds) != 0)
		_exit(1);
	(void)fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], &byte, 1) == 1)
		continue;
	(void)fcntl(fds[1], F_SETFL, 0);
	crash_report_add(&stuck);
	check(fds[0] < 0);
}

/* ---- what is left ---- */

static void broken_check_is_in_every_target(void **state)
{
	const time_t began = time(NULL);
	struct said said;
	const int status = run(break_a_check, &said);
	char today[32], then[32];

	(void)state;
	(void)strftime(today, sizeof(today), "%Y-%m-%dT%H:%M:", gmtime(&began));
	(void)strftime(then, sizeof(then), "%b %e %H:", localtime(&began));
	/* Unless the minute ended meanwhile. */
	assert_true(time(NULL) / 60 != began / 60 || strncmp(said.text, today, strlen(today)) == 0);
	assert_true(time(NULL) / 60 != began / 60 || strstr(said.datagrams[0], then) != NULL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	expect_everywhere(&said, "check failed: strcmp(word, ");
	assert_non_null(strstr(said.err, "\"two\") == 0, in control\n"));
	assert_non_null(strstr(said.json, "'two') == 0, in control\"}\n"));
	assert_int_equal(strncmp(said.datagrams[0], "<25>", 4), 0);
	assert_non_null(strstr(said.datagrams[0], " weir[7]: "));
	assert_non_null(strstr(said.text, "Z alert weir "));
}

static void fault_has_its_address_and_its_own_exit_status(void **state)
{
	struct said said;
	const int status = run(read_nothing, &said);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	expect_everywhere(&said, "ended by SIGSEGV at address 0x40, in control");
	/* The function is in this program; its place is what addr2line(1) takes. */
	assert_non_null(strstr(said.err, " test_base_crash_report+0x"));
}

static void full_stack_leaves_room_for_the_words(void **state)
{
	struct said said;
	const int status = run(run_out_of_stack, &said);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	expect_everywhere(&said, "ended by SIGSEGV at address 0x");
}

static void worker_names_itself_and_its_session(void **state)
{
	struct said said;
	const int status = run(crash_in_one_thread, &said);

	(void)state;
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	expect_everywhere(&said, ", in worker 3, last session 3.17");
}

static void of_two_that_crash_one_speaks(void **state)
{
	struct said said;
	const int status = run(crash_beside_another, &said);

	(void)state;
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	expect_everywhere(&said, ", in worker 3");
}

static void abort_of_a_library_is_told_too(void **state)
{
	struct said said;
	const int status = run(abort_by_ourselves, &said);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	expect_everywhere(&said, "ended by SIGABRT, in control");
}

static void signal_of_a_stranger_names_him(void **state)
{
	struct said said;
	const int status = run(be_sent_a_signal, &said);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	expect_everywhere(&said, "ended by SIGBUS that process ");
}

static void target_that_hangs_does_not_keep_the_process(void **state)
{
	struct said said;
	const int status = run(break_a_check_before_a_target_that_hangs, &said);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(said.err, "check failed: fds[0] < 0, in control\n"));
	assert_non_null(strstr(said.text, "check failed: fds[0] < 0, in control\n")); /* it stands before */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_check_is_in_every_target),
		cmocka_unit_test(fault_has_its_address_and_its_own_exit_status),
		cmocka_unit_test(full_stack_leaves_room_for_the_words),
		cmocka_unit_test(worker_names_itself_and_its_session),
		cmocka_unit_test(of_two_that_crash_one_speaks),
		cmocka_unit_test(abort_of_a_library_is_told_too),
		cmocka_unit_test(signal_of_a_stranger_names_him),
		cmocka_unit_test(target_that_hangs_does_not_keep_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
