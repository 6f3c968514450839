/* SPDX-License-Identifier: MIT
 *
 * test_file.c - files at names that strangers may own: nobody is led elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/file.h"

static char where[] = "/tmp/weir-file-XXXXXX";
static char path[64], other[64];
static int folder;

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(where) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/name", where);
	(void)snprintf(other, sizeof(other), "%s/other", where);
	folder = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	close(folder);
	return rmdir(where); /* fails when a test left a file behind */
}

static void make(const char *name, mode_t mode)
{
	const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	close(fd);
}

static void folder_and_name_are_split(void **state)
{
	struct stat st, found;
	const char *name;
	int fd = file_open_folder(path, &name);

	(void)state;
	assert_true(fd >= 0);
	assert_string_equal(name, "name");
	assert_int_equal(stat(where, &st), 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_true(st.st_ino == found.st_ino);
	file_close(fd);
	fd = file_open_folder("plain", &name);
	assert_true(fd >= 0);
	assert_string_equal(name, "plain");
	file_close(fd);
	assert_int_equal(file_open_folder("/nowhere/at/all", &name), -ENOENT);
	assert_int_equal(file_open_folder("/etc/passwd/x", &name), -ENOTDIR);
}

static void file_is_made_once(void **state)
{
	bool made = false;
	int fd = file_open(path, O_WRONLY | O_APPEND, 0640, &made);

	(void)state;
	assert_true(fd >= 0);
	assert_true(made);
	file_close(fd);
	fd = file_open(path, O_WRONLY | O_APPEND, 0640, &made);
	assert_true(fd >= 0);
	assert_false(made);
	file_close(fd);
	assert_int_equal(unlink(path), 0);
}

/* A second name leads to a file of root's in another folder as well as a link does. */
static void root_takes_no_file_with_two_names_in_a_folder_of_others(void **state)
{
	bool made;
	int fd;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root is in danger\n");
		skip();
	}
	make(other, 0600);
	assert_int_equal(link(other, path), 0);
	fd = file_open(path, O_WRONLY | O_APPEND, 0640, &made);
	assert_true(fd >= 0); /* the folder is root's own */
	file_close(fd);
	assert_int_equal(chmod(where, 0777), 0);
	assert_int_equal(file_open(path, O_WRONLY | O_APPEND, 0640, &made), -EMLINK);
	assert_int_equal(unlink(other), 0);
	fd = file_open(path, O_WRONLY | O_APPEND, 0640, &made);
	assert_true(fd >= 0);
	file_close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(file_open(path, O_WRONLY | O_APPEND, 0640, &made), -ELOOP);
	assert_int_equal(chmod(where, 0700), 0);
	assert_int_equal(unlink(path), 0);
}

/* What another process gets that asks for the lock: 0, or the error; 99 when the wrong process is named. */
static int ask_elsewhere(void)
{
	const pid_t parent = getpid();
	const pid_t child = fork();
	int status = -1;

	assert_true(child >= 0);
	if (child == 0) {
		pid_t holder = 0;
		const int fd = file_lock(folder, "name", &holder);

		_exit(fd >= 0 ? 0 : fd == -EAGAIN && holder != parent ? 99 : -fd);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void lock_is_one_process_s_and_names_it(void **state)
{
	struct stat st;
	pid_t holder = -1;
	int fd = file_lock(folder, "name", &holder);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(ask_elsewhere(), EAGAIN);
	file_unlock(fd, folder, "name");
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(ask_elsewhere(), 0); /* it ended without giving it back */
	assert_int_equal(access(path, F_OK), 0);
	fd = file_lock(folder, "name", &holder);
	assert_true(fd >= 0);
	file_unlock(fd, folder, "name");
}

static void unlocking_leaves_the_lock_of_another(void **state)
{
	pid_t holder;
	const int fd = file_lock(folder, "name", &holder);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	make(path, 0600);
	assert_int_equal(ask_elsewhere(), 0); /* it is another file by now */
	file_unlock(fd, folder, "name");
	assert_int_equal(unlink(path), 0);
}

static void lock_is_a_plain_file_with_one_name(void **state)
{
	pid_t holder;

	(void)state;
	make(other, 0600);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(file_lock(folder, "name", &holder), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(file_lock(folder, "name", &holder), -EEXIST);
	assert_int_equal(unlink(path) | unlink(other), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_lock(folder, "name", &holder), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(file_lock(folder, "name", &holder), -EEXIST);
	assert_int_equal(rmdir(path), 0);
}

/* The folder is what is refused, not a lock of somebody else's. */
static void lock_in_a_folder_that_is_not_ours_says_so(void **state)
{
	const uid_t who = geteuid() == 0 ? 12345 : geteuid();
	pid_t holder;

	(void)state;
	assert_int_equal(chmod(where, 0555), 0);
	assert_int_equal(seteuid(who), 0);
	assert_int_equal(file_lock(folder, "name", &holder), -EPERM);
	assert_int_equal(seteuid(getuid()), 0);
	assert_int_equal(chmod(where, 0700), 0);
}

static void mode_is_set_by_a_path_descriptor(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	make(path, 0600);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(file_set_mode(fd, 0642), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0642);
	file_close(fd);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(file_set_mode(-1, 0600) < 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folder_and_name_are_split),
		cmocka_unit_test(file_is_made_once),
		cmocka_unit_test(root_takes_no_file_with_two_names_in_a_folder_of_others),
		cmocka_unit_test(lock_is_one_process_s_and_names_it),
		cmocka_unit_test(unlocking_leaves_the_lock_of_another),
		cmocka_unit_test(lock_is_a_plain_file_with_one_name),
		cmocka_unit_test(lock_in_a_folder_that_is_not_ours_says_so),
		cmocka_unit_test(mode_is_set_by_a_path_descriptor),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
