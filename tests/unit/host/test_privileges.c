/* SPDX-License-Identifier: MIT
 *
 * test_privileges.c - looking users and groups up; the change itself in a child process.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/host/privileges.h"

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

static void dropping_is_for_good(void **state)
{
	pid_t child = fork();
	int status = -1;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(drop_in_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
