/* SPDX-License-Identifier: MIT
 *
 * test_memory.c - a command that runs out of memory, at each of its allocations in turn, says so and ends
 * with an exit code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "weir/control/daemon.h"
#include "command.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

static long calls;   /* since the last start */
static long fail_at; /* the call that fails; 0 = none */

static bool may_allocate(void)
{
	return ++calls != fail_at;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return may_allocate() ? __real_realloc(ptr, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return may_allocate() ? __real_strdup(text) : NULL;
}

static void fail_each(char *const words[])
{
	char said[8192];
	bool failed = true;
	long n;

	for (n = 1; failed; n++) {
		int code;

		fail_at = n;
		calls = 0;
		code = command_run(words, said, sizeof(said));
		failed = calls >= n;
		fail_at = 0;
		if (!failed)
			assert_int_equal(code, EXIT_FINE);
		else if ((code != EXIT_FATAL && code != EXIT_CONFIG) || strstr(said, "out of memory") == NULL)
			fail_msg("allocation %ld: code %d: %s", n, code, said);
	}
	assert_true(n > 5);
}

static void a_check_without_memory_says_so(void **state)
{
	char path[] = "/tmp/weir-cli-memory-XXXXXX";
	const int fd = mkstemp(path);
	static const char text[] = "[global]\nuser = root\n[listen a]\nbind = :1\nserver b = 10.0.0.1:80\n";
	char *const words[] = {"weir", "-c", "-q", path, "-o", "listen a.maxconn=5", NULL};

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	fail_each(words);
	close(fd);
	unlink(path);
}

static void a_forward_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "forward", "-c", ":1", "10.0.0.1:80", NULL};

	(void)state;
	fail_each(words);
}

static void a_completion_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "complete", "--", "help", "", NULL};

	(void)state;
	fail_each(words);
}

static void a_completion_of_a_command_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "complete", "--", "-o", "a=b", "ctl", "", NULL};

	(void)state;
	fail_each(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_check_without_memory_says_so),
		cmocka_unit_test(a_forward_without_memory_says_so),
		cmocka_unit_test(a_completion_without_memory_says_so),
		cmocka_unit_test(a_completion_of_a_command_without_memory_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
