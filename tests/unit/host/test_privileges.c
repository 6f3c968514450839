/* SPDX-License-Identifier: MIT
 *
 * test_privileges.c - looking users and groups up; the change itself, and what is kept, in a child process.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/thread.h"
#include "weir/host/privileges.h"
#include "host/capabilities.h"

#define NOBODY 65534

static struct config_global with(char *user, char *group)
{
	struct config_global g;

	memset(&g, 0, sizeof(g));
	g.user = user;
	g.group = group;
	return g;
}

static void unknown_names_are_told(void **state)
{
	char user[] = "nobody-has-this-name", group[] = "no-group-has-this-name";
	struct config_global g = with(user, NULL);
	const char *unknown = NULL;
	struct privileges p;

	(void)state;
	assert_int_equal(privileges_find(&g, &p, &unknown), -ENOENT);
	assert_ptr_equal(unknown, user);
	g = with(NULL, group);
	assert_int_equal(privileges_find(&g, &p, &unknown), -ENOENT);
	assert_ptr_equal(unknown, group);
}

static void numbers_are_ids(void **state)
{
	char user[] = "4000000000", group[] = "4000000001", bad[] = "12x";
	struct config_global g = with(user, group);
	const char *unknown = NULL;
	struct privileges p;

	(void)state;
	assert_int_equal(privileges_find(&g, &p, &unknown), 0);
	assert_true(p.change);
	assert_true(p.uid == 4000000000u);
	assert_true(p.gid == 4000000001u);
	g = with(bad, NULL);
	assert_int_equal(privileges_find(&g, &p, &unknown), -ENOENT);
}

static void number_without_an_entry_is_a_group_too(void **state)
{
	char user[] = "4000000000";
	struct config_global g = with(user, NULL);
	const char *unknown = NULL;
	struct privileges p;

	(void)state;
	assert_int_equal(privileges_find(&g, &p, &unknown), 0);
	assert_true(p.gid == 4000000000u);
	assert_string_equal(p.login, "");
}

static void number_with_an_entry_has_its_group_and_its_groups(void **state)
{
	char user[] = "0";
	struct config_global g = with(user, NULL);
	const char *unknown = NULL;
	struct privileges p;

	(void)state;
	assert_int_equal(privileges_find(&g, &p, &unknown), 0);
	assert_true(p.gid == 0);
	assert_string_equal(p.login, "root");
}

static void nothing_configured_changes_nothing(void **state)
{
	struct config_global g = with(NULL, NULL);
	const char *unknown = NULL;
	struct privileges p;

	(void)state;
	assert_int_equal(privileges_find(&g, &p, &unknown), 0);
	assert_false(p.change);
	assert_int_equal(privileges_drop(&p), 0);
}

/* As root: becomes nobody and cannot come back. As anybody else: is refused. */
static int drop_in_child(void)
{
	struct privileges p = {.change = true, .uid = NOBODY, .gid = NOBODY};
	bool root = geteuid() == 0;
	int err = privileges_drop(&p);

	if (!root)
		return err == -EPERM ? 0 : 1;
	if (err)
		return 2;
	if (getuid() != NOBODY || geteuid() != NOBODY || getegid() != NOBODY)
		return 3;
	if (setuid(0) == 0 || setgid(0) == 0)
		return 4;
	return privileges_drop(&p) == 0 ? 0 : 5; /* once more is harmless */
}

/* What `act` returns in a child process. */
static int in_child(int (*act)(void))
{
	pid_t child = fork();
	int status = -1;

	assert_true(child >= 0);
	if (child == 0)
		_exit(act());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void dropping_is_for_good(void **state)
{
	(void)state;
	assert_int_equal(in_child(drop_in_child), 0);
}

/* 0, or errno. */
static int bind_port(uint16_t port)
{
	const struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int err = bind(fd, (const struct sockaddr *)&a, sizeof(a)) != 0 ? errno : 0;

	(void)close(fd);
	return err;
}

static void *look(void *arg)
{
	(void)capabilities_get(arg); /* what it would leave alone fails the test */
	return NULL;
}

static bool is(const struct capabilities *c, uint64_t effective, uint64_t permitted)
{
	return c->effective == effective && c->permitted == permitted && c->inheritable == 0;
}

static int keep_in_child(void)
{
	const uint64_t bind_low = CAPABILITY_NET_BIND_SERVICE;
	struct privileges p = {.change = true, .uid = NOBODY, .gid = NOBODY, .wanted = bind_low};
	struct capabilities own, other = {.permitted = 1};
	pthread_t thread;

	/* A network of its own, in which ports below 1024 are free and not for everybody. */
	if (unshare(CLONE_NEWNET) != 0)
		return 77;
	if (privileges_drop(&p) != 0 || p.kept != bind_low)
		return 1;
	if (capabilities_get(&own) != 0 || !is(&own, 0, bind_low))
		return 2;
	if (bind_port(80) != EACCES || privileges_raise_bind(&p) != 0 || bind_port(80) != 0)
		return 3;
	if (capabilities_get(&own) != 0 || !is(&own, bind_low, bind_low))
		return 4;
	privileges_lower_bind(&p);
	if (capabilities_get(&own) != 0 || !is(&own, 0, bind_low) || bind_port(81) != EACCES)
		return 5;
	if (thread_start(&thread, look, &other) != 0 || pthread_join(thread, NULL) != 0)
		return 6;
	if (!is(&other, 0, 0))
		return 7;
	return setuid(0) == 0 || geteuid() != NOBODY ? 8 : 0;
}

static int keep_none_in_child(void)
{
	struct privileges p = {.change = true, .uid = NOBODY, .gid = NOBODY,
			       .wanted = CAPABILITY_NET_BIND_SERVICE};
	struct capabilities own;

	/* Root without the capability. */
	if (capabilities_get(&own) != 0)
		return 1;
	own.effective &= ~p.wanted;
	own.permitted &= ~p.wanted;
	if (capabilities_set(&own) != 0 || privileges_drop(&p) != 0)
		return 2;
	if (p.kept != 0 || capabilities_get(&own) != 0 || !is(&own, 0, 0))
		return 3;
	if (privileges_raise_bind(&p) != 0) /* nothing to raise */
		return 4;
	privileges_lower_bind(&p);
	return 0;
}

static void control_keeps_what_a_bind_needs(void **state)
{
	int code;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: not root, nothing to keep\n");
		skip();
	}
	assert_int_equal(in_child(keep_none_in_child), 0);
	code = in_child(keep_in_child);
	if (code == 77) {
		print_message("skipped: no network namespace\n");
		skip();
	}
	assert_int_equal(code, 0);
}

static void net_admin_is_for_listeners_that_need_it(void **state)
{
	struct config_bind binds[2];
	struct config_frontend f = {.binds = binds, .bind_count = 2};
	const struct config c = {.frontends = &f, .frontend_count = 1};
	struct privileges p;

	(void)state;
	memset(binds, 0, sizeof(binds));
	privileges_keep(&p, &c);
	assert_true(p.wanted == CAPABILITY_NET_BIND_SERVICE);
	binds[1].transparent = true;
	privileges_keep(&p, &c);
	assert_true(p.wanted == (CAPABILITY_NET_BIND_SERVICE | CAPABILITY_NET_ADMIN));
	binds[1].transparent = false;
	f.tcp.mark = 7;
	privileges_keep(&p, &c);
	assert_true(p.wanted == (CAPABILITY_NET_BIND_SERVICE | CAPABILITY_NET_ADMIN));
}

static void a_socket_is_given_only_to_another_user(void **state)
{
	struct privileges p = {.change = false, .uid = NOBODY, .gid = NOBODY};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(privileges_give(&p, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	p.change = true;
	assert_int_equal(privileges_give(&p, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_uid, geteuid() == 0 ? NOBODY : geteuid());
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_names_are_told),
		cmocka_unit_test(numbers_are_ids),
		cmocka_unit_test(number_without_an_entry_is_a_group_too),
		cmocka_unit_test(number_with_an_entry_has_its_group_and_its_groups),
		cmocka_unit_test(nothing_configured_changes_nothing),
		cmocka_unit_test(dropping_is_for_good),
		cmocka_unit_test(control_keeps_what_a_bind_needs),
		cmocka_unit_test(net_admin_is_for_listeners_that_need_it),
		cmocka_unit_test(a_socket_is_given_only_to_another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
