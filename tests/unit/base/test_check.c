/* SPDX-License-Identifier: MIT
 *
 * test_check.c - a broken check says where and aborts; a kept one costs nothing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"

/* Runs `body` in a child without a core file; returns its wait status, what it said is in `said`. */
static int run_child(void (*body)(void), char *said, size_t room)
{
	const struct rlimit no_core = {0, 0};
	int fds[2];
	int status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)signal(SIGABRT, SIG_DFL);
		(void)dup2(fds[1], STDERR_FILENO);
		body();
		_exit(0);
	}
	close(fds[1]);
	while (len < room - 1 && (n = read(fds[0], said + len, room - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void break_a_check(void)
{
	int two = 2;

	check(two == 3);
}

static void break_a_long_check(void)
{
	char cond[2000];

	memset(cond, 'x', sizeof(cond) - 1);
	cond[sizeof(cond) - 1] = '\0';
	check_failed("file.c", 7, cond);
}

static int evaluated;

static void broken_check_prints_place_and_condition_and_aborts(void **state)
{
	char said[1024];
	int status = run_child(break_a_check, said, sizeof(said));

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_non_null(strstr(said, "test_check.c:"));
	assert_non_null(strstr(said, "check failed: two == 3\n"));
}

static void long_condition_still_ends_in_one_whole_line(void **state)
{
	char said[4096];
	int status = run_child(break_a_long_check, said, sizeof(said));

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(strncmp(said, "weir: file.c:7: check failed: xxx", 33), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void kept_check_evaluates_its_condition_once(void **state)
{
	(void)state;
	evaluated = 0;
	check(++evaluated == 1);
	assert_int_equal(evaluated, 1);
}

static void container_of_finds_the_structure_around_a_member(void **state)
{
	struct outer {
		int first;
		char member;
	} outer;

	(void)state;
	assert_ptr_equal(container_of(&outer.member, struct outer, member), &outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_check_prints_place_and_condition_and_aborts),
		cmocka_unit_test(long_condition_still_ends_in_one_whole_line),
		cmocka_unit_test(kept_check_evaluates_its_condition_once),
		cmocka_unit_test(container_of_finds_the_structure_around_a_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
