/* SPDX-License-Identifier: MIT
 *
 * test_admin_moving.c - the admin socket during a reload, and what is said when it cannot be had.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../admin/admin_rig.h"
#include "control/admin_moving.h"

static struct config_global other;
static struct admin_moving moving;
static char why[512];

static int setup(void **state)
{
	if (rig_open(state) != 0)
		return -1;
	other = rig.global;
	moving = (struct admin_moving){.admin = rig.admin, .now = &rig.listener};
	return 0;
}

static void assert_refused(int err, const char *words)
{
	assert_int_equal(admin_moving_prepare(&moving, &other, why, sizeof(why)), err);
	if (strstr(why, words) == NULL)
		fail_msg("no '%s' in: %s", words, why);
	assert_int_equal(moving.next.fd, -1);
	assert_null(moving.next.kept);
}

static void committed_it_is_there_and_undone_it_is_not(void **state)
{
	char out[16384];
	int fd;

	(void)state;
	rig_address(&other, "moved");
	assert_int_equal(admin_moving_prepare(&moving, &other, why, sizeof(why)), 0);
	admin_moving_undo(&moving);
	assert_int_equal(access(other.admin.addr.un.sun_path, F_OK), -1);
	assert_int_equal(admin_moving_prepare(&moving, &other, why, sizeof(why)), 0);
	admin_moving_commit(&moving);
	assert_int_equal(access(rig.global.admin.addr.un.sun_path, F_OK), -1);
	fd = connect_to(&other.admin.addr);
	say(fd, "help\n");
	hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, "show info"));
}

static void a_socket_that_cannot_be_opened_is_named(void **state)
{
	(void)state;
	rig_address(&other, "none/moved");
	assert_refused(-ENOENT, "/none/moved: the folder does not exist");
	assert_non_null(strstr(why, "cannot open the admin socket unix:/tmp/weir-admin-"));
}

static void who_listens_there_is_named(void **state)
{
	struct config_global there;
	struct admin_socket taken;
	struct admin_socket s;

	(void)state;
	rig_address(&there, "taken");
	assert_int_equal(admin_socket_open(&taken, &there), 0);
	other = there;
	assert_refused(-EADDRINUSE, "this weir listens there already; use another path");
	admin_socket_close(&taken);
	admin_socket_init(&s);
	s.path.holder = 4711;
	admin_moving_explain(&s, &other, -EADDRINUSE, why, sizeof(why));
	assert_non_null(strstr(why, "process 4711 listens there"));
}

static void a_path_that_is_another_s_is_told(void **state)
{
	const char *path = rig.global.admin.addr.un.sun_path;

	(void)state;
	assert_int_equal(unlink(path), 0);
	other.admin_owner.mode = 0660;
	assert_refused(-ENOENT, "cannot change mode and owner of the admin socket unix:/tmp/weir-admin-");
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_refused(-ESTALE, "the socket was removed or replaced; a restart creates it");
	assert_int_equal(unlink(path), 0);
}

static void advice_follows_a_shortage_and_a_lack_of_rights(void **state)
{
	struct admin_socket s;

	(void)state;
	admin_socket_init(&s);
	admin_moving_explain(&s, &other, -EMFILE, why, sizeof(why));
	assert_non_null(strstr(why, "Too many open files; raise the limit of open files"));
	s.kept = &rig.listener;
	admin_moving_explain(&s, &other, -EPERM, why, sizeof(why));
	assert_non_null(strstr(why, "not permitted, because the socket belongs to another user"));
	admin_moving_explain(&s, &other, -EROFS, why, sizeof(why));
	assert_non_null(strstr(why, "Read-only file system"));
}

#define MOVING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOVING_TEST(committed_it_is_there_and_undone_it_is_not),
		MOVING_TEST(a_socket_that_cannot_be_opened_is_named),
		MOVING_TEST(who_listens_there_is_named),
		MOVING_TEST(a_path_that_is_another_s_is_told),
		MOVING_TEST(advice_follows_a_shortage_and_a_lack_of_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
