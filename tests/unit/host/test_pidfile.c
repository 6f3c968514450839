/* SPDX-License-Identifier: MIT
 *
 * test_pidfile.c - the pid file: written whole, replaced, never taken from somebody else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/host/pidfile.h"

static char folder[] = "/tmp/weir-pid-XXXXXX";
static char path[64];

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/pid", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(folder); /* fails when a test left a file behind */
}

static void put(const char *text)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void is_written_for_all_to_read_and_removed(void **state)
{
	const mode_t mask = umask(077);
	struct pidfile p;
	struct stat st;

	(void)state;
	assert_int_equal(pidfile_write(&p, path), 0);
	(void)umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(pidfile_read(path), getpid());
	pidfile_remove(&p);
	assert_int_equal(access(path, F_OK), -1);
	pidfile_remove(&p);
}

static void replaces_what_is_stale_or_strange(void **state)
{
	struct pidfile p;

	(void)state;
	put("99999999999999999999 and more\n");
	assert_int_equal(pidfile_read(path), -EINVAL);
	assert_int_equal(pidfile_write(&p, path), 0);
	assert_int_equal(pidfile_read(path), getpid());
	pidfile_remove(&p);
}

static void leaves_the_file_of_another_process(void **state)
{
	struct pidfile p;

	(void)state;
	assert_int_equal(pidfile_write(&p, path), 0);
	put("1\n");
	pidfile_remove(&p);
	assert_int_equal(pidfile_read(path), 1);
	assert_int_equal(unlink(path), 0);
}

static void leaves_another_file_with_the_same_number(void **state)
{
	struct pidfile first, second;

	(void)state;
	assert_int_equal(pidfile_write(&first, path), 0);
	assert_int_equal(pidfile_write(&second, path), 0);
	pidfile_remove(&first);
	assert_int_equal(pidfile_read(path), getpid());
	pidfile_remove(&second);
	assert_int_equal(access(path, F_OK), -1);
}

static void refuses_what_is_no_file(void **state)
{
	struct pidfile p;

	(void)state;
	assert_int_equal(pidfile_write(&p, folder), -EEXIST);
	assert_int_equal(pidfile_write(&p, "/dev/null"), -EEXIST);
	assert_int_equal(pidfile_write(&p, "/nowhere/pid"), -ENOENT);
	pidfile_remove(&p);
	assert_int_equal(access("/dev/null", F_OK), 0);
}

static void numbers_that_are_none_are_refused(void **state)
{
	static const char *const texts[] = {"", "\n", "0\n", "-5\n", "12x\n", "abc", "99999999999\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put(texts[i]);
		assert_int_equal(pidfile_read(path), -EINVAL);
	}
	put("123");
	assert_int_equal(pidfile_read(path), 123);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(pidfile_read(path), -ENOENT);
}

/* Whoever may write in the folder could put one there, and the end of the daemon would wait for ever. */
static void fifo_is_not_waited_for(void **state)
{
	struct pidfile p;

	(void)state;
	assert_int_equal(pidfile_write(&p, path), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)alarm(60);
	assert_int_equal(pidfile_read(path), -EINVAL);
	pidfile_remove(&p);
	(void)alarm(0);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_written_for_all_to_read_and_removed),
		cmocka_unit_test(replaces_what_is_stale_or_strange),
		cmocka_unit_test(leaves_the_file_of_another_process),
		cmocka_unit_test(leaves_another_file_with_the_same_number),
		cmocka_unit_test(refuses_what_is_no_file),
		cmocka_unit_test(numbers_that_are_none_are_refused),
		cmocka_unit_test(fifo_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
