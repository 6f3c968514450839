/* SPDX-License-Identifier: MIT
 *
 * test_program.c - who could replace a program: owners, modes, folders and links.
 *
 * Programs of this machine are the good ones; the others are in a folder that root or this user owns.
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

#include "weir/base/program.h"

#define LOOK_MAX 256

static char folder[LOOK_MAX]; /* "" = this machine has no place for one */
static char why[PROGRAM_WHY_MAX];

static const char *at(const char *name)
{
	static char path[LOOK_MAX + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int look(const char *path)
{
	return program_look(path, geteuid(), why, sizeof(why));
}

static void make(const char *name, mode_t mode)
{
	FILE *out = fopen(at(name), "w");

	assert_non_null(out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(at(name), mode), 0);
}

static void programs_of_the_machine_are_good(void **state)
{
	(void)state;
	assert_int_equal(look("/bin/sh"), 0);
	assert_string_equal(why, "");
	assert_int_equal(look("//usr/./bin/../bin//env"), 0);
}

static void what_is_no_program_is_refused(void **state)
{
	(void)state;
	assert_int_equal(look("bin/sh"), -EINVAL);
	assert_string_equal(why, "bin/sh is not an absolute path");
	assert_int_equal(look("/"), -EACCES);
	assert_int_equal(look("/usr/bin"), -EACCES);
	assert_string_equal(why, "/usr/bin is not a regular file");
	assert_int_equal(look("/usr/bin/"), -EACCES);
	assert_int_equal(look("/dev/null"), -EPERM);
	assert_int_equal(look("/etc/passwd"), -EACCES);
	assert_string_equal(why, "/etc/passwd is not executable");
	assert_int_equal(look("/etc/passwd/x"), -ENOTDIR);
	assert_string_equal(why, "/etc/passwd is not a folder");
	assert_int_equal(look("/usr/no-such-program"), -ENOENT);
	assert_string_equal(why, "/usr/no-such-program does not exist");
}

static void a_sticky_folder_is_one_of_others(void **state)
{
	(void)state;
	assert_int_equal(look("/tmp/x"), -EPERM);
	assert_non_null(strstr(why, "is writable by others (mode 1777)"));
}

static void long_paths_are_refused(void **state)
{
	char path[6000];

	(void)state;
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(look(path), -ENAMETOOLONG);
	memset(path + 1, 'x', 4000);
	path[4001] = '\0';
	assert_true(look(path) < 0);
	/* No room for more than the beginning. */
	assert_int_equal(program_look("bin", 0, why, 4), -EINVAL);
	assert_string_equal(why, "bin");
}

static void modes_and_owners_decide(void **state)
{
	(void)state;
	if (folder[0] == '\0')
		skip();
	make("p", 0755);
	assert_int_equal(look(at("p")), 0);
	make("p", 0700);
	assert_int_equal(look(at("p")), 0);
	make("p", 0644);
	assert_int_equal(look(at("p")), -EACCES);
	make("p", 0775);
	assert_int_equal(look(at("p")), -EPERM);
	make("p", 0757);
	assert_int_equal(look(at("p")), -EPERM);
	make("p", 0755);
	assert_int_equal(chmod(folder, 0775), 0);
	assert_int_equal(look(at("p")), -EPERM);
	assert_int_equal(chmod(folder, 0755), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(at("p"), 4711, 0), 0);
	assert_int_equal(look(at("p")), -EPERM);
	assert_non_null(strstr(why, "belongs to user 4711"));
	assert_int_equal(program_look(at("p"), 4711, why, sizeof(why)), 0);
	assert_int_equal(chown(at("p"), 0, 0), 0);
}

static void links_are_followed_and_what_they_lead_through_is_judged(void **state)
{
	(void)state;
	if (folder[0] == '\0')
		skip();
	make("p", 0755);
	assert_int_equal(symlink("./p", at("near")), 0);
	assert_int_equal(look(at("near")), 0);
	assert_int_equal(symlink("near/../p", at("odd")), 0);
	assert_int_equal(look(at("odd")), -ENOTDIR);
	assert_int_equal(symlink("/bin/sh", at("far")), 0);
	assert_int_equal(look(at("far")), 0);
	assert_int_equal(symlink("/tmp/x", at("open")), 0);
	assert_int_equal(look(at("open")), -EPERM);
	assert_int_equal(symlink("loop", at("loop")), 0);
	assert_int_equal(look(at("loop")), -ELOOP);
	assert_int_equal(symlink(".", at("dot")), 0);
	assert_int_equal(look(at("dot")), -EACCES);
	assert_int_equal(symlink("/", at("root")), 0);
	assert_int_equal(look(at("root")), -EACCES);
	assert_int_equal(symlink("../../../../../../../..", at("up")), 0);
	assert_int_equal(look(at("up")), -EACCES);
}

/* Where only root and this user can write. */
static int set_up(void **state)
{
	const char *const places[] = {"/run", "/var/lib", getenv("HOME")};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (places[i] == NULL)
			continue;
		(void)snprintf(folder, sizeof(folder), "%s/weir-program-XXXXXX", places[i]);
		if (mkdtemp(folder) == NULL)
			continue;
		assert_int_equal(chmod(folder, 0755), 0);
		make("first", 0755);
		if (look(at("first")) == 0)
			return 0;
		(void)unlink(at("first"));
		(void)rmdir(folder);
	}
	folder[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"first", "p", "near", "odd", "far", "open", "loop", "dot", "root",
					    "up"};

	(void)state;
	if (folder[0] == '\0')
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)unlink(at(names[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_the_machine_are_good),
		cmocka_unit_test(what_is_no_program_is_refused),
		cmocka_unit_test(a_sticky_folder_is_one_of_others),
		cmocka_unit_test(long_paths_are_refused),
		cmocka_unit_test(modes_and_owners_decide),
		cmocka_unit_test(links_are_followed_and_what_they_lead_through_is_judged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
