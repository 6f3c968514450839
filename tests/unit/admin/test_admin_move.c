/* SPDX-License-Identifier: MIT
 *
 * test_admin_move.c - the configured admin socket comes, goes, moves and gets other permissions; what was
 * prepared is undone; and the private control socket beside it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../entry/entry_fail.h"
#include "admin_rig.h"
#include "weir/admin/control_socket.h"
#include "weir/base/file.h"
#include "weir/sys/low_fds.h"

#define LOW	  (ADMIN_CLIENTS_MAX + 4)
#define CALLS_MAX 200

int __real_file_of_socket(int fd, int folder, const char *name);
int __real_file_set_mode(int fd, mode_t mode);
int __real_lstat64(const char *path, struct stat *st);
int __real_fstat64(int fd, struct stat *st);
int __real_dup3(int from, int to, int flags);
int __wrap_file_of_socket(int fd, int folder, const char *name);
int __wrap_file_set_mode(int fd, mode_t mode);
int __wrap_lstat64(const char *path, struct stat *st);
int __wrap_fstat64(int fd, struct stat *st);
int __wrap_dup3(int from, int to, int flags);

int __wrap_file_of_socket(int fd, int folder, const char *name)
{
	return call_fails() ? -EPERM : __real_file_of_socket(fd, folder, name);
}

int __wrap_file_set_mode(int fd, mode_t mode)
{
	return call_fails() ? -EPERM : __real_file_set_mode(fd, mode);
}

static int refuse(void)
{
	errno = EPERM;
	return -1;
}

int __wrap_lstat64(const char *path, struct stat *st)
{
	return call_fails() ? refuse() : __real_lstat64(path, st);
}

int __wrap_fstat64(int fd, struct stat *st)
{
	return call_fails() ? refuse() : __real_fstat64(fd, st);
}

int __wrap_dup3(int from, int to, int flags)
{
	return call_fails() ? refuse() : __real_dup3(from, to, flags);
}

static struct config_global other; /* what the reload has read */
static struct admin_socket next;
static int low_end; /* the first number above the reserved ones */

static int setup(void **state)
{
	fail_nothing();
	low_end = low_fds_hold(LOW);
	if (low_end < 0 || rig_open(state) != 0)
		return -1;
	other = rig.global;
	return 0;
}

static int teardown(void **state)
{
	const int err = rig_close(state);

	low_fds_free();
	return err;
}

/* A daemon without a configured socket. */
static int setup_without(void **state)
{
	if (setup(state) != 0)
		return -1;
	admin_free(rig.admin);
	admin_socket_close(&rig.listener);
	rig.admin = admin_new(rig.loop, &rig.listener, &rig.control, &rig.context);
	return rig.admin != NULL ? 0 : -1;
}

static unsigned entries_in(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n;
}

static struct stat stat_of(const struct config_global *g)
{
	struct stat st;

	assert_int_equal(stat(g->admin.addr.un.sun_path, &st), 0);
	return st;
}

static mode_t mode_at(const struct config_global *g)
{
	return stat_of(g).st_mode & 07777;
}

static bool is_there(const struct config_global *g)
{
	struct stat st;

	return stat(g->admin.addr.un.sun_path, &st) == 0;
}

static void prepare(void)
{
	assert_int_equal(admin_prepare_socket(&next, &other, &rig.listener), 0);
}

static void commit(void)
{
	admin_commit_socket(rig.admin, &next);
	assert_int_equal(next.fd, -1);
	rig.global = other;
	rig.listener.config = &rig.global;
	rig.admin->configured.access.config = &rig.global;
}

static void assert_answers(const struct addr *at)
{
	static char out[16384];
	const int fd = connect_to(at);

	say(fd, "help\n");
	hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
}

static void it_moves_to_another_path(void **state)
{
	const struct config_global before = rig.global;
	struct stat st;

	(void)state;
	rig_address(&other, "moved");
	prepare();
	assert_true(is_there(&before));
	commit();
	assert_false(is_there(&before));
	assert_answers(&other.admin.addr);
	/* Its number is low: one of those that were reserved. */
	assert_in_range(rig.listener.fd, 0, low_end - 1);
	assert_int_equal(stat(other.admin.addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* And back, as often as one likes. */
	for (int i = 0; i < 50; i++) {
		rig_address(&other, i % 2 == 0 ? "admin" : "moved");
		prepare();
		commit();
		assert_answers(&other.admin.addr);
	}
}

static void it_goes(void **state)
{
	const struct config_global before = rig.global;

	(void)state;
	other.admin.kind = ADDR_NONE;
	prepare();
	commit();
	assert_false(is_there(&before));
	assert_int_equal(entries_in(rig.folder), 2);
	turn();
}

static void it_comes(void **state)
{
	(void)state;
	assert_int_equal(entries_in(rig.folder), 2);
	prepare();
	commit();
	assert_answers(&other.admin.addr);
}

static void clients_of_the_old_socket_get_their_answers(void **state)
{
	char out[16384];
	const int prompt = connect_client();
	const int half = connect_client();
	int waiting;

	(void)state;
	say(prompt, "prompt\n");
	hear_until(prompt, "\n> ", out, sizeof(out));
	say(half, "he");
	turn();
	waiting = connect_client(); /* nobody has accepted it */
	say(waiting, "help\n");
	rig_address(&other, "moved");
	prepare();
	commit();
	say(half, "lp\n");
	hear(half, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
	hear(waiting, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
	say(prompt, "help; quit\n");
	hear(prompt, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
	assert_int_equal(served(), 0);
}

static void a_client_of_the_new_socket_waits_for_the_commit(void **state)
{
	char out[16384];
	int fd;

	(void)state;
	rig_address(&other, "moved");
	prepare();
	fd = connect_to(&other.admin.addr);
	say(fd, "help\n");
	turn();
	assert_int_equal(served(), 0);
	commit();
	hear(fd, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
}

static void undone_it_stays_where_it_was(void **state)
{
	(void)state;
	rig_address(&other, "moved");
	prepare();
	assert_true(is_there(&other));
	admin_undo_socket(&next);
	assert_false(is_there(&other));
	assert_answers(&rig.global.admin.addr);
	assert_int_equal(entries_in(rig.folder), 4); /* with the lock file */
	admin_undo_socket(&next);
}

/* Same address: neither the path nor the queue is touched. */
static void the_same_address_keeps_its_socket(void **state)
{
	const int fd = rig.listener.fd;
	struct stat before, after;
	char out[16384];
	int waiting;

	(void)state;
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &before), 0);
	waiting = connect_client();
	say(waiting, "help\n");
	other.admin_level = CONFIG_ADMIN_ADMIN;
	prepare();
	commit();
	assert_int_equal(rig.listener.fd, fd);
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	hear(waiting, out, sizeof(out));
	assert_non_null(strstr(out, " reload [wait] "));
}

static void the_new_users_are_judged_by_from_the_commit_on(void **state)
{
	static uint32_t uids[] = {4711};
	const struct admin_peer peer = {.uid = 4711};
	struct admin_door *d = &rig.admin->configured;

	(void)state;
	other.admin_uids = (struct config_ids){uids, 1};
	prepare();
	assert_int_equal(d->access.config->admin_uids.count, 0);
	admin_commit_socket(rig.admin, &next);
	assert_int_equal(d->access.config->admin_uids.count, 1);
	assert_true(admin_access_allows(&d->access, &peer, NULL, 0));
	assert_ptr_equal(rig.listener.config, &other);
}

static void mode_changes_in_place(void **state)
{
	struct stat before, after;

	(void)state;
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &before), 0);
	other.admin_owner.mode = 0660;
	prepare();
	commit();
	assert_int_equal(mode_at(&other), 0660);
	other.admin_owner.mode = 0600;
	prepare();
	assert_int_equal(mode_at(&other), 0600);
	admin_undo_socket(&next);
	assert_int_equal(mode_at(&other), 0660);
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_answers(&other.admin.addr);
}

static void a_mode_that_is_removed_becomes_that_of_the_umask(void **state)
{
	const mode_t old = umask(0027);

	(void)state;
	other.admin_owner.mode = -1;
	prepare();
	commit();
	assert_int_equal(mode_at(&other), 0750);
	(void)umask(old);
}

/* What an operator has set by hand stays, as long as the configuration does not change it. */
static void an_unchanged_mode_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(chmod(rig.global.admin.addr.un.sun_path, 0666), 0);
	prepare();
	commit();
	assert_int_equal(mode_at(&other), 0666);
}

static void owner_and_group_change_in_place(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root may give a file away */
	other.admin_owner.uid = 4711;
	other.admin_owner.gid = 4712;
	prepare();
	commit();
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_uid, 4711);
	assert_int_equal(st.st_gid, 4712);
	other.admin_owner.uid = (uid_t)-1;
	other.admin_owner.gid = (gid_t)-1;
	prepare();
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, getegid());
	admin_undo_socket(&next);
	assert_int_equal(stat(rig.global.admin.addr.un.sun_path, &st), 0);
	assert_int_equal(st.st_uid, 4711);
	assert_int_equal(st.st_gid, 4712);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* Somebody has replaced our path by another file, which is none of our business. */
static void another_file_at_the_path_is_left_alone(void **state)
{
	const char *path = rig.global.admin.addr.un.sun_path;
	struct stat st;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0640)), 0);
	other.admin_owner.mode = 0666;
	assert_int_equal(admin_prepare_socket(&next, &other, &rig.listener), -ESTALE);
	admin_undo_socket(&next);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0022, 0);
	assert_int_equal(unlink(path), 0);
}

static void an_address_in_use_is_refused_and_its_holder_named(void **state)
{
	struct admin_socket taken;
	struct config_global there;

	(void)state;
	rig_address(&there, "taken");
	assert_int_equal(admin_socket_open(&taken, &there), 0);
	other = there;
	assert_int_equal(admin_prepare_socket(&next, &other, &rig.listener), -EADDRINUSE);
	assert_int_equal(next.path.holder, getpid());
	admin_undo_socket(&next);
	admin_socket_close(&taken);
	assert_answers(&rig.global.admin.addr);
}

static void no_number_is_an_error(void **state)
{
	unsigned claimed = 0;

	(void)state;
	fail_allocations_from(0);
	while (low_fds_claim(1) == 0)
		claimed++;
	fail_allocations_from(-1);
	rig_address(&other, "moved");
	fail_allocations_from(0);
	assert_int_equal(admin_prepare_socket(&next, &other, &rig.listener), -ENOMEM);
	fail_allocations_from(-1);
	admin_undo_socket(&next);
	low_fds_unclaim(claimed);
	assert_int_equal(entries_in(rig.folder), 4);
}

static unsigned open_fds(void)
{
	return entries_in("/proc/self/fd");
}

/* Each call of a preparation fails in turn, and nothing has happened. */
static void each_call_may_fail(unsigned at_least)
{
	const unsigned fds = open_fds();
	const unsigned entries = entries_in(rig.folder);
	const struct stat before = stat_of(&rig.global);
	unsigned failures = 0;

	for (long i = 0; i < CALLS_MAX; i++) {
		struct stat after;
		int err;

		fail_call(i);
		err = admin_prepare_socket(&next, &other, &rig.listener);
		fail_nothing();
		if (!call_has_failed()) {
			assert_int_equal(err, 0);
			break;
		}
		failures += err != 0;
		admin_undo_socket(&next);
		assert_int_equal(open_fds(), fds);
		assert_int_equal(entries_in(rig.folder), entries);
		after = stat_of(&rig.global);
		assert_int_equal(after.st_mode, before.st_mode);
		assert_int_equal(after.st_uid, before.st_uid);
		assert_int_equal(after.st_gid, before.st_gid);
		assert_answers(&rig.global.admin.addr);
	}
	assert_in_range(failures, at_least, CALLS_MAX);
	commit();
	assert_answers(&rig.global.admin.addr);
}

static void each_call_of_a_move_may_fail(void **state)
{
	(void)state;
	rig_address(&other, "moved");
	each_call_may_fail(5);
}

static void each_call_of_a_change_may_fail(void **state)
{
	(void)state;
	other.admin_owner.mode = 0640;
	if (geteuid() == 0) { /* only root may give a file away */
		other.admin_owner.uid = 4711;
		other.admin_owner.gid = 4712;
	}
	each_call_may_fail(4);
	assert_int_equal(mode_at(&other), 0640);
}

/* ---- the control socket ---- */

static struct addr control_at(void)
{
	struct config_global g;

	rig_address(&g, "weir.control");
	return g.admin.addr;
}

static void open_control(void)
{
	const struct addr at = control_at();

	admin_free(rig.admin);
	assert_int_equal(admin_socket_open_private(&rig.control, &at, (uid_t)-1), 0);
	rig.admin = admin_new(rig.loop, &rig.listener, &rig.control, &rig.context);
	assert_non_null(rig.admin);
}

static void the_control_socket_serves_beside_the_other(void **state)
{
	const struct addr at = control_at();
	struct stat st;

	(void)state;
	open_control();
	assert_int_equal(stat(at.un.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_answers(&at);
	assert_answers(&rig.global.admin.addr);
	other.admin.kind = ADDR_NONE;
	prepare();
	commit();
	assert_answers(&at);
}

static void strangers_are_refused_there(void **state)
{
	const struct admin_peer peer = {.uid = 4711};
	struct text out;

	(void)state;
	open_control();
	assert_false(admin_access_allows(&rig.admin->control.access, &peer, NULL, 0));
	text_init(&out);
	admin_access_refusal(&rig.admin->control.access, &peer, &out);
	assert_non_null(strstr(out.bytes, "uid 4711 may not use this socket; connect as root"));
	text_free(&out);
}

/* When all places are taken both wait, and both go on. */
static void both_go_on_when_there_are_places_again(void **state)
{
	const struct addr at = control_at();
	int fds[ADMIN_CLIENTS_MAX];

	(void)state;
	open_control();
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		fds[i] = connect_client();
		turn();
	}
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++)
		close(fds[i]);
	assert_answers(&at);
	assert_answers(&rig.global.admin.addr);
	assert_int_equal(served(), 0);
}

/* At once, not when it is tried again. */
static void a_place_that_comes_free_is_for_either(void **state)
{
	const struct addr at = control_at();
	int fds[ADMIN_CLIENTS_MAX];
	char out[16384];
	int fd;

	(void)state;
	open_control();
	for (int i = 0; i < ADMIN_CLIENTS_MAX; i++) {
		fds[i] = connect_client();
		turn();
	}
	fd = connect_to(&at);
	say(fd, "help\n");
	turn();
	assert_int_equal(recv(fd, out, sizeof(out), MSG_DONTWAIT), -1);
	close(fds[0]);
	turn();
	assert_true(recv(fd, out, sizeof(out), MSG_DONTWAIT) > 0);
	assert_int_equal(rig.totals.evicted, 0);
	close(fd);
	for (int i = 1; i < ADMIN_CLIENTS_MAX; i++)
		close(fds[i]);
	turn();
	assert_int_equal(served(), 0);
}

static const char *address_of(enum control_place place, const struct control_where *where, char *buf)
{
	struct addr at;

	return control_socket_address(place, where, &at) ? addr_format(&at, buf) : NULL;
}

static void the_places_of_the_control_socket(void **state)
{
	static char long_path[200];
	struct control_where where = {.runtime_directory = "/run/weir", .pid_path = "/run/x.pid", .pid = 12};
	char buf[ADDR_TEXT_MAX];

	(void)state;
	assert_string_equal(address_of(CONTROL_IN_RUNTIME, &where, buf), "unix:/run/weir/weir.control");
	assert_string_equal(address_of(CONTROL_BESIDE_PID, &where, buf), "unix:/run/x.pid.control");
	assert_string_equal(address_of(CONTROL_BY_NUMBER, &where, buf), "unix:@weir-12");
	where.runtime_directory = "/run/a:/run/b";
	assert_string_equal(address_of(CONTROL_IN_RUNTIME, &where, buf), "unix:/run/a/weir.control");
	where.runtime_directory = "relative";
	assert_null(address_of(CONTROL_IN_RUNTIME, &where, buf));
	where.runtime_directory = "";
	assert_null(address_of(CONTROL_IN_RUNTIME, &where, buf));
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	where.runtime_directory = long_path;
	where.pid_path = long_path;
	assert_null(address_of(CONTROL_IN_RUNTIME, &where, buf));
	assert_null(address_of(CONTROL_BESIDE_PID, &where, buf));
	where = (struct control_where){.pid = 1};
	assert_null(address_of(CONTROL_IN_RUNTIME, &where, buf));
	assert_null(address_of(CONTROL_BESIDE_PID, &where, buf));
}

#define MOVE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOVE_TEST(it_moves_to_another_path),
		MOVE_TEST(it_goes),
		cmocka_unit_test_setup_teardown(it_comes, setup_without, teardown),
		MOVE_TEST(clients_of_the_old_socket_get_their_answers),
		MOVE_TEST(a_client_of_the_new_socket_waits_for_the_commit),
		MOVE_TEST(undone_it_stays_where_it_was),
		MOVE_TEST(the_same_address_keeps_its_socket),
		MOVE_TEST(the_new_users_are_judged_by_from_the_commit_on),
		MOVE_TEST(mode_changes_in_place),
		MOVE_TEST(a_mode_that_is_removed_becomes_that_of_the_umask),
		MOVE_TEST(an_unchanged_mode_is_left_alone),
		MOVE_TEST(owner_and_group_change_in_place),
		MOVE_TEST(another_file_at_the_path_is_left_alone),
		MOVE_TEST(an_address_in_use_is_refused_and_its_holder_named),
		MOVE_TEST(no_number_is_an_error),
		MOVE_TEST(each_call_of_a_move_may_fail),
		MOVE_TEST(each_call_of_a_change_may_fail),
		MOVE_TEST(the_control_socket_serves_beside_the_other),
		MOVE_TEST(strangers_are_refused_there),
		MOVE_TEST(both_go_on_when_there_are_places_again),
		MOVE_TEST(a_place_that_comes_free_is_for_either),
		MOVE_TEST(the_places_of_the_control_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
