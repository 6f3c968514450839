/* SPDX-License-Identifier: MIT
 *
 * test_exec_child.c - a child process from its start to its end, and what is left if it cannot start.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "health/exec_child.h"

#define PATIENCE_MS 20000

static struct exec_child child;
static bool of_program;

static int start(const char *program, const char *argument)
{
	char *own = argument != NULL ? strdup(argument) : NULL;
	char *const argv[] = {(char[]){"x"}, (char[]){"-c"}, own, NULL};
	char *const envp[] = {(char[]){"A=b"}, NULL};
	struct exec_start s = {.program = program, .argv = argv, .envp = envp};
	int err;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &s.files), 0);
	err = exec_child_start(&child, &s, &of_program);
	free(own);
	return err;
}

/* The lowest number that is free: nothing was left open. */
static int lowest_fd(void)
{
	const int fd = dup(STDIN_FILENO);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	return fd;
}

static int wait_for_end(void)
{
	struct pollfd p = {.fd = child.fd, .events = POLLIN};
	int status = -1;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	assert_true(exec_child_is_over(&child));
	assert_true(exec_child_reap(&child, &status));
	return status;
}

static void its_status_and_output_come(void **state)
{
	const int lowest = lowest_fd();
	char got[16] = "";

	(void)state;
	assert_int_equal(start("/bin/sh", "echo $A; exit 5"), 0);
	assert_false(of_program);
	assert_int_equal(WEXITSTATUS(wait_for_end()), 5);
	assert_int_equal(read(child.out, got, sizeof(got)), 2);
	assert_string_equal(got, "b\n");
	assert_int_equal(read(child.out, got, sizeof(got)), 0);
	exec_child_close(&child);
	assert_int_equal(lowest_fd(), lowest);
}

static void a_signal_reaches_its_group(void **state)
{
	int status;

	(void)state;
	assert_int_equal(start("/bin/sh", "sleep 1000 & sleep 1000; exit 3"), 0);
	assert_false(exec_child_is_over(&child));
	assert_false(exec_child_reap(&child, &status));
	assert_int_equal(getpgid(child.pid), child.pid);
	exec_child_signal(&child, SIGTERM);
	assert_int_equal(WTERMSIG(wait_for_end()), SIGTERM);
	exec_child_close(&child);
}

static void a_child_that_others_reap_is_not_good(void **state)
{
	int status = 0;

	(void)state;
	assert_int_equal(start("/bin/true", NULL), 0);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_true(exec_child_is_over(&child));
	exec_child_signal(&child, SIGKILL); /* nobody */
	assert_true(exec_child_reap(&child, &status));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 255);
	exec_child_close(&child);
}

static void what_cannot_be_run_leaves_nothing(void **state)
{
	const int lowest = lowest_fd();

	(void)state;
	assert_int_equal(start("/no/such/program", NULL), -ENOENT);
	assert_true(of_program);
	assert_int_equal(start("/etc/passwd", NULL), -EACCES);
	assert_true(of_program);
	assert_int_equal(lowest_fd(), lowest);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void no_descriptor_is_a_shortage(void **state)
{
	const int lowest = lowest_fd();
	struct rlimit now, few;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
	few = now;
	for (int spare = 0; spare < 4; spare++) {
		few.rlim_cur = (rlim_t)(lowest + spare);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(start("/bin/true", NULL), -EMFILE);
		assert_false(of_program);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
		assert_int_equal(lowest_fd(), lowest);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_status_and_output_come),
		cmocka_unit_test(a_signal_reaches_its_group),
		cmocka_unit_test(a_child_that_others_reap_is_not_good),
		cmocka_unit_test(what_cannot_be_run_leaves_nothing),
		cmocka_unit_test(no_descriptor_is_a_shortage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
