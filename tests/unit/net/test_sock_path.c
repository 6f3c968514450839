/* SPDX-License-Identifier: MIT
 *
 * test_sock_path.c - the path of a listening Unix socket: claimed by one, and given back.
 */
#include <errno.h>
#include <fcntl.h>
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

#include "weir/net/sock_path.h"
#include "weir/sys/sys.h"

static char where[] = "/tmp/weir-path-XXXXXX";
static struct addr at = {.len = sizeof(at.un), .un.sun_family = AF_UNIX};
static char lock[120];

static int setup(void **state)
{
	(void)state;
	if (mkdtemp(where) == NULL)
		return -1;
	(void)snprintf(at.un.sun_path, sizeof(at.un.sun_path), "%s/s", where);
	(void)snprintf(lock, sizeof(lock), "%s.lock", at.un.sun_path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(where); /* fails when a test left a file behind */
}

static int listen_at(struct sock_path *p, int mode)
{
	const struct sock_listen opt = {.mode = mode, .uid = (uid_t)-1, .gid = (gid_t)-1, .path = p};

	return sock_listen(&at, &opt);
}

static void mode_does_not_hang_on_the_umask(void **state)
{
	static const mode_t masks[] = {0, 022, 077, 0777};
	struct sock_path p = {.locked = false};
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		const mode_t before = umask(masks[i]);
		const int fd = listen_at(&p, 0627);

		(void)umask(before);
		assert_true(fd >= 0);
		assert_int_equal(lstat(at.un.sun_path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0627);
		sock_path_release(&p, &at);
		sys_close(fd);
		assert_int_equal(access(at.un.sun_path, F_OK), -1);
		assert_int_equal(access(lock, F_OK), -1);
	}
}

static void without_a_mode_it_is_the_umask_s(void **state)
{
	struct sock_path p = {.locked = false};
	const mode_t before = umask(027);
	const int fd = listen_at(&p, -1);
	struct stat st;

	(void)state;
	(void)umask(before);
	assert_true(fd >= 0);
	assert_int_equal(lstat(at.un.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	sock_path_release(&p, &at);
	sys_close(fd);
}

static void socket_that_is_listened_on_names_its_process(void **state)
{
	struct sock_path p = {.locked = false}, second = {.locked = false};
	const int fd = listen_at(&p, 0600);
	pid_t holder = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sock_path_look(&at, &holder), -EADDRINUSE);
	assert_int_equal(holder, getpid());
	assert_int_equal(listen_at(&second, 0600), -EADDRINUSE);
	assert_int_equal(second.holder, getpid());
	assert_false(second.locked);
	sock_path_release(&p, &at);
	sys_close(fd);
}

/* The lock belongs to the process: whoever took it once more would release it for the first owner, too. */
static void path_of_our_own_is_refused_by_any_name(void **state)
{
	const struct addr before = at;
	struct sock_path p = {.locked = false}, second = {.locked = false};
	const int fd = listen_at(&p, 0600);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	(void)snprintf(at.un.sun_path, sizeof(at.un.sun_path), "%s/./s", where);
	assert_int_equal(listen_at(&second, 0600), -EADDRINUSE);
	assert_int_equal(second.holder, getpid());
	at = before;
	assert_int_equal(stat(lock, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	sock_path_release(&p, &at);
	sys_close(fd);
	assert_int_equal(access(lock, F_OK), -1);
}

static void stale_socket_is_found_and_replaced(void **state)
{
	struct sock_path p = {.locked = false};
	pid_t holder = 1;
	int fd = sys_socket(AF_UNIX);

	(void)state;
	assert_int_equal(sock_path_look(&at, &holder), 0);
	assert_int_equal(sys_bind(fd, &at.sa, at.len), 0);
	sys_close(fd);
	assert_int_equal(sock_path_look(&at, &holder), 1);
	assert_int_equal(holder, 0);
	fd = listen_at(&p, 0600);
	assert_true(fd >= 0);
	sock_path_release(&p, &at);
	sys_close(fd);
}

static void what_is_no_socket_stays(void **state)
{
	struct sock_path p = {.locked = false};
	pid_t holder = 1;
	const int fd = open(at.un.sun_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(sock_path_look(&at, &holder), -EADDRINUSE);
	assert_int_equal(holder, 0);
	assert_int_equal(listen_at(&p, 0600), -EADDRINUSE);
	assert_int_equal(access(lock, F_OK), -1);
	assert_int_equal(unlink(at.un.sun_path), 0);
}

static void releasing_leaves_what_another_has_put_there(void **state)
{
	struct sock_path first = {.locked = false}, second = {.locked = false};
	const int old = listen_at(&first, 0600);
	int fd;

	(void)state;
	assert_true(old >= 0);
	assert_int_equal(unlink(at.un.sun_path) | unlink(lock), 0);
	fd = listen_at(&second, 0600);
	assert_true(fd >= 0);
	sock_path_release(&first, &at);
	sys_close(old);
	assert_int_equal(access(at.un.sun_path, F_OK), 0);
	assert_int_equal(access(lock, F_OK), 0);
	sock_path_release(&second, &at);
	sys_close(fd);
	sock_path_release(&second, &at); /* once more is harmless */
}

/* As long as a path may be: the connect through the folder's descriptor does not fit any more. */
static void longest_path_works(void **state)
{
	struct addr here = at;
	struct sock_path p = {.locked = false};
	const struct sock_listen opt = {.mode = 0600, .uid = (uid_t)-1, .gid = (gid_t)-1, .path = &p};
	const size_t used = strlen(here.un.sun_path), room = sizeof(here.un.sun_path) - 1;
	pid_t holder = 0;
	int fd;

	(void)state;
	memset(here.un.sun_path + used, 'x', room - used);
	fd = sock_listen(&here, &opt);
	assert_true(fd >= 0);
	assert_int_equal(sock_path_look(&here, &holder), -EADDRINUSE);
	assert_int_equal(holder, getpid());
	sock_path_release(&p, &here);
	sys_close(fd);
}

static void folder_that_is_not_there_is_told(void **state)
{
	struct addr nowhere = at;
	struct sock_path p = {.locked = false};
	const struct sock_listen opt = {.mode = 0600, .uid = (uid_t)-1, .gid = (gid_t)-1, .path = &p};
	pid_t holder;

	(void)state;
	(void)snprintf(nowhere.un.sun_path, sizeof(nowhere.un.sun_path), "%s/no/s", where);
	assert_int_equal(sock_listen(&nowhere, &opt), -ENOENT);
	assert_int_equal(sock_path_look(&nowhere, &holder), 0);
	sock_path_release(&p, &nowhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mode_does_not_hang_on_the_umask),
		cmocka_unit_test(without_a_mode_it_is_the_umask_s),
		cmocka_unit_test(socket_that_is_listened_on_names_its_process),
		cmocka_unit_test(path_of_our_own_is_refused_by_any_name),
		cmocka_unit_test(stale_socket_is_found_and_replaced),
		cmocka_unit_test(what_is_no_socket_stays),
		cmocka_unit_test(releasing_leaves_what_another_has_put_there),
		cmocka_unit_test(longest_path_works),
		cmocka_unit_test(folder_that_is_not_there_is_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
