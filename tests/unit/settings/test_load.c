/* SPDX-License-Identifier: MIT
 *
 * test_load.c - which files are read, includes, and the -o arguments.
 */
#include "config_test.h"

#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];

static void put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct loaded load_file(const char *name)
{
	struct config_input input;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	input = input_of_path(path);
	return load_input(&input);
}

static void assert_said(const struct loaded *l, const char *piece)
{
	if (strstr(l->said, piece) == NULL)
		fail_msg("'%s' is not in:\n%s", piece, l->said);
}

static int make_dir(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/weir-test-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/conf.d", dir);
	return mkdir(path, 0700);
}

static int remove_dir(void **state)
{
	static const char *const names[] = {"main.ini",	    "b.ini",  "a.ini",
					    ".hidden.ini",  "c.txt",  "conf.d/1.ini",
					    "conf.d/2.ini", "conf.d", ""};
	char path[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void)remove(path); /* not every test makes every file */
	}
	return 0;
}

static void includes_are_read_in_order_and_beside_their_file(void **state)
{
	struct loaded l;

	(void)state;
	put_file("main.ini", "[global]\ninclude = conf.d/*.ini none.d/*.ini\nthreads = 2\n");
	put_file("conf.d/2.ini", "[listen two]\nbind = 127.0.0.1:2\nserver a = 10.0.0.1:80\n");
	put_file("conf.d/1.ini",
		 "[global]\nmaxconn = 5\n[listen one]\nbind = 127.0.0.1:1\nserver a = 10.0.0.1:80\n");
	l = load_file("main.ini");
	assert_string_equal(l.said, "");
	assert_non_null(l.config);
	assert_int_equal(l.config->include_count, 2);
	assert_int_equal(l.config->file_count, 3);
	assert_int_equal(l.config->global.maxconn, 5);
	assert_int_equal(l.config->global.threads, 2);
	assert_string_equal(l.config->frontends[0].name, "one");
	assert_string_equal(l.config->frontends[1].name, "two");
	assert_ptr_equal(l.config->frontends[1].place.file, l.config->files[2]);
	unload(&l);
}

static void includes_that_cannot_be_read_are_errors(void **state)
{
	struct loaded l;

	(void)state;
	put_file("main.ini", "[global]\ninclude = nothing.ini\n" GOOD);
	l = load_file("main.ini");
	assert_null(l.config);
	assert_said(&l, "main.ini:2:11: error: cannot read '");
	unload(&l);
	put_file("main.ini", "[global]\ninclude = main.ini\n" GOOD);
	l = load_file("main.ini");
	assert_null(l.config);
	assert_said(&l, "is read a second time");
	unload(&l);
	put_file("main.ini", "[global]\ninclude = \"x\n" GOOD);
	l = load_file("main.ini");
	assert_null(l.config);
	assert_int_equal(count_of(l.said, ": error: "), 1);
	unload(&l);
}

static void a_key_in_two_files_shows_the_first(void **state)
{
	struct loaded l;

	(void)state;
	put_file("main.ini", "[global]\ninclude = conf.d/1.ini\nthreads = 2\n" GOOD);
	put_file("conf.d/1.ini", "[global]\nthreads = 3\n");
	l = load_file("main.ini");
	assert_null(l.config);
	assert_said(&l, "conf.d/1.ini:2:1: error: 'threads' is given twice");
	assert_said(&l, "first on line 3 of ");
	unload(&l);
}

static void a_directory_is_its_ini_files_sorted(void **state)
{
	struct config_input input = input_of_path(dir);
	struct loaded l;

	(void)state;
	put_file("main.ini", "");
	put_file("b.ini", "[listen b]\nbind = 127.0.0.1:2\nserver a = 10.0.0.1:80\n");
	put_file("a.ini", "[listen a]\nbind = 127.0.0.1:1\nserver a = 10.0.0.1:80\n");
	put_file(".hidden.ini", "oops");
	put_file("c.txt", "oops");
	l = load_input(&input);
	assert_string_equal(l.said, "");
	assert_int_equal(l.config->file_count, 3);
	assert_string_equal(l.config->frontends[0].name, "a");
	unload(&l);
}

static void a_file_that_is_missing_is_named(void **state)
{
	struct loaded l = load_file("absent.ini");

	(void)state;
	assert_null(l.config);
	assert_said(&l, "absent.ini: error: cannot read '");
	assert_int_equal(count_of(l.said, ": error: "), 1);
	unload(&l);
}

static struct loaded load_with(const char *const *overrides, size_t count)
{
	struct config_input input =
		input_of_text("[global]\nthreads = 2\n[listen a.b]\nbind = 127.0.0.1:1\nmaxconn = 3\n"
			      "server x.y = 10.0.0.1:80\nserver z = 10.0.0.2:80\n",
			      "t.ini");

	add_overrides(&input, overrides, count);
	return load_input(&input);
}

static void overrides_win_and_the_last_one_most(void **state)
{
	static const char *const overrides[] = {"global.threads=4",
						"global.threads = 5",
						"listen a.b.maxconn=9",
						"defaults.retries=8",
						"global.splice=off",
						"listen a.b.bind=127.0.0.1:7",
						"listen a.b.bind=127.0.0.1:8",
						"listen a.b.server x.y=10.0.0.9:90 weight=5"};
	struct loaded l = load_with(overrides, ARRAY_LEN(overrides));
	const struct config_backend *b;

	(void)state;
	assert_string_equal(l.said, "");
	assert_non_null(l.config);
	assert_int_equal(l.config->global.threads, 5);
	assert_int_equal(l.config->global.splice, CONFIG_SPLICE_OFF);
	assert_int_equal(l.config->frontends[0].maxconn, 9);
	assert_int_equal(l.config->frontends[0].bind_count, 2);
	assert_int_equal(l.config->frontends[0].binds[0].addr.port, 7);
	assert_string_equal(l.config->frontends[0].binds[0].place.file, "-o");
	b = &l.config->backends[0];
	assert_int_equal(b->retries, 8);
	assert_int_equal(b->server_count, 2);
	assert_string_equal(b->servers[0].name, "z");
	assert_int_equal(b->servers[1].addr.port, 90);
	assert_int_equal(b->servers[1].weight, 5);
	assert_int_equal(l.config->file_count, 1);
	unload(&l);
}

static void overrides_that_are_wrong_are_shown(void **state)
{
	static const struct {
		const char *text;
		const char *said;
	} cases[] = {
		{"global.threads=x", "-o:1:16: error: 'threads' needs a number"},
		{"global.thread=2", "-o:1:8: error: unknown key 'thread'"},
		{"global.check=tcp", "-o:1:8: error: 'check' does not belong in [global]"},
		{"listen ab.maxconn=1", "did you mean 'listen a.b'?"},
		{"threads=2", "-o is SECTION.KEY=VALUE"},
		{"global.threads", "-o is SECTION.KEY=VALUE"},
		{"global.user=a\nb", "a control byte"},
		{"global.include=x", "'include' belongs in a file"},
		{"", "-o is SECTION.KEY=VALUE"},
		{"=", "-o is SECTION.KEY=VALUE"},
		{".=", "no file has a section []"},
		{"global.=1", "unknown key ''"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct loaded l = load_with(&cases[i].text, 1);

		assert_null(l.config);
		assert_said(&l, cases[i].said);
		assert_int_equal(count_of(l.said, ": error: "), 1);
		unload(&l);
	}
}

/* ---- at the same time ---- */

#define READINGS 5000

/* Counts the readings that have found another user than the one whose name is `arg`. */
static void *read_often(void *arg)
{
	const struct passwd *user = arg;
	struct config_input input = {0};
	char text[256];
	size_t wrong = 0;

	(void)snprintf(text, sizeof(text), "[listen l]\nbind = unix:/tmp/x user=%s\nserver a = 10.0.0.1:80\n",
		       user->pw_name);
	if (config_input_set_text(&input, "t.ini", text) != 0)
		return (void *)READINGS;
	for (unsigned i = 0; i < READINGS; i++) {
		struct config_reading r;

		config_read(&input, &r);
		wrong += r.config == NULL || r.config->frontends[0].binds[0].owner.uid != user->pw_uid;
		config_reading_free(&r);
	}
	config_input_free(&input);
	return (void *)wrong;
}

/* A reading that takes too long is given up, and goes on beside the next one. */
static void two_readings_do_not_meet(void **state)
{
	struct passwd users[] = {{.pw_name = (char[]){"root"}}, {.pw_name = (char[]){"nobody"}}};
	pthread_t threads[ARRAY_LEN(users)];
	void *wrong;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(users); i++)
		users[i].pw_uid = getpwnam(users[i].pw_name)->pw_uid;
	for (size_t i = 0; i < ARRAY_LEN(users); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &users[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(includes_are_read_in_order_and_beside_their_file, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(includes_that_cannot_be_read_are_errors, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(a_key_in_two_files_shows_the_first, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_directory_is_its_ini_files_sorted, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_file_that_is_missing_is_named, make_dir, remove_dir),
		cmocka_unit_test(overrides_win_and_the_last_one_most),
		cmocka_unit_test(overrides_that_are_wrong_are_shown),
		cmocka_unit_test(two_readings_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
