/* SPDX-License-Identifier: MIT
 *
 * test_memory.c - a reading that runs out of memory, at each of its allocations in turn.
 *
 * Linked with --wrap, so that an allocation of the arena can fail, a stream into memory, a search for
 * a user, and the library that splits lines; a sanitizer sees what would be left behind.
 */
#include "config_test.h"

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static long calls;   /* since the last start */
static long fail_at; /* the call that fails; 0 = none */

void *__wrap_calloc(size_t count, size_t size)
{
	if (++calls == fail_at)
		return NULL;
	return __real_calloc(count, size);
}

FILE *__real_open_memstream(char **bytes, size_t *len);
FILE *__wrap_open_memstream(char **bytes, size_t *len);
int __real_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);
int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user);

FILE *__wrap_open_memstream(char **bytes, size_t *len)
{
	if (++calls == fail_at)
		return NULL;
	return __real_open_memstream(bytes, len);
}

int __real_getpwnam_r(const char *name, struct passwd *entry, char *room, size_t size, struct passwd **found);
int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *room, size_t size, struct passwd **found);

static int lookup_err;	   /* what the search for users fails with; 0 = nothing */
static size_t lookup_room; /* it needs at least as much */

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
	*found = NULL;
	if (++calls == fail_at)
		return ENOMEM;
	if (lookup_err != 0)
		return lookup_err;
	return size < lookup_room ? ERANGE : __real_getpwnam_r(name, entry, room, size, found);
}

/* As a library does that keeps lines on the heap. */
int __wrap_ini_parse_stream(ini_reader reader, void *stream, ini_handler handler, void *user)
{
	if (++calls == fail_at)
		return -2;
	return __real_ini_parse_stream(reader, stream, handler, user);
}

static const char main_file[] = "[global]\n"
				"include = more/*.ini one.ini\n"
				"user = nobody\n"
				"log = file:/tmp/x level=debug\n"
				"[defaults]\n"
				"timeout-idle = ${WEIR_T_NONE:-1h}\n"
				"[listen web]\n"
				"bind = 127.0.0.1:0\nbind = unix:@x\n"
				"server a = 10.0.0.1:80 weight=2 source=10.0.0.9,10.0.0.8\n"
				"timeout-idle = 5m\n"
				"allow-from = @more/n.cidr\n"
				"use-backend x = src=10.0.0.0/8 dst-port=1-9,80\n"
				"sniff = tls\nuse-backend x = sni=.example.com alpn=h2\n"
				"check = http GET / expect=200,300-301 expect=OK\n"
				"congestion = reno\nallow-uid = 0\n";

static const char bad_file[] = "[frontend f]\nbind :80\nfoo = 1\ndefault-backend = b\n[backend bb]\n";

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Fails each allocation in turn until the reading needs no more of them; how many there were. */
static long fail_each(const struct config_input *input, enum config_style style, bool good)
{
	for (long n = 1;; n++) {
		size_t len = 0;
		char *said = NULL;
		FILE *diag = open_memstream(&said, &len);
		struct config *c;
		bool failed;

		assert_non_null(diag);
		calls = 0;
		fail_at = n;
		c = read_input(input, diag, style);
		failed = calls >= n;
		fail_at = 0;
		assert_int_equal(fclose(diag), 0);
		if (failed) {
			assert_null(c);
			if (style == CONFIG_STYLE_JSON)
				assert_non_null(strstr(said, "\"code\":\"no-memory\""));
			else if (strcmp(strstr(said, ": "), ": error: out of memory\n"
							    "t.ini: 1 error, 0 warnings. The running "
							    "configuration is unchanged.\n") != 0)
				fail_msg("allocation %ld: %s", n, said);
		} else {
			assert_int_equal(c != NULL, good);
		}
		config_free(c);
		free(said);
		if (!failed)
			return n - 1;
	}
}

static void text_is_refused_in_words_at_every_allocation(void **state)
{
	const char *const overrides[] = {"global.threads=2", "listen good.maxconn=5"};
	struct config_input input = input_of_text(GOOD, "t.ini");

	(void)state;
	add_overrides(&input, overrides, ARRAY_LEN(overrides));
	assert_true(fail_each(&input, CONFIG_STYLE_PLAIN, true) > 100);
	assert_true(fail_each(&input, CONFIG_STYLE_JSON, true) > 100);
	config_input_free(&input);
	input = input_of_text(GOOD "maxqueue = 3\ntimeout-queue = 3s\n", "t.ini"); /* both without effect */
	assert_true(fail_each(&input, CONFIG_STYLE_PLAIN, true) > 100);
	config_input_free(&input);
	input = input_of_text(bad_file, "t.ini");
	add_overrides(&input, overrides, ARRAY_LEN(overrides));
	assert_true(fail_each(&input, CONFIG_STYLE_PLAIN, false) > 100);
	config_input_free(&input);
}

/* Open files, lists of names and patterns are closed and freed too. */
static void files_are_given_back_at_every_allocation(void **state)
{
	char folder[] = "/tmp/weir-memory-XXXXXX", home[256];
	struct config_input input = input_of_path("t.ini");
	int lowest, after;

	(void)state;
	assert_non_null(getcwd(home, sizeof(home)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("more", 0700), 0);
	assert_int_equal(mkdir("d", 0700), 0);
	write_file(folder, "t.ini", main_file);
	write_file(folder, "one.ini", "[backend x]\nserver a = 10.0.0.2:80\n");
	write_file(folder, "more/2.ini", "[backend y]\nserver a = 10.0.0.2:80\n");
	write_file(folder, "more/n.cidr", "10.0.0.0/8\n::1 # here\n");
	write_file(folder, "d/3.ini", "[backend z]\nserver a = 10.0.0.2:80\n");
	assert_int_equal(config_input_add_path(&input, "d"), 0);
	lowest = dup(0);
	assert_int_equal(close(lowest), 0);
	assert_true(fail_each(&input, CONFIG_STYLE_PLAIN, true) > 200);
	config_input_free(&input);
	after = dup(0);
	assert_int_equal(after, lowest); /* no descriptor stayed open */
	assert_int_equal(close(after), 0);
	assert_int_equal(unlink("more/n.cidr"), 0);
	assert_int_equal(unlink("t.ini") | unlink("one.ini") | unlink("more/2.ini") | unlink("d/3.ini"), 0);
	assert_int_equal(rmdir("more") | rmdir("d"), 0);
	assert_int_equal(chdir(home), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void a_user_that_cannot_be_looked_up_is_not_called_missing(void **state)
{
	static const char *const expected[][2] = {
		{"cannot look up the user 'nobody': Too many open files\n", "there is no user"},
		{"there is no user 'nobody' on this machine", "cannot look up"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		struct config_input input = input_of_text("[global]\nuser = nobody\n" GOOD, "t.ini");
		char *said = NULL;
		size_t len = 0;
		FILE *diag = open_memstream(&said, &len);

		lookup_err = i == 0 ? EMFILE : ENOENT;
		assert_null(read_input(&input, diag, CONFIG_STYLE_PLAIN));
		lookup_err = 0;
		assert_int_equal(fclose(diag), 0);
		assert_non_null(strstr(said, expected[i][0]));
		assert_null(strstr(said, expected[i][1]));
		free(said);
		config_input_free(&input);
	}
}

static void a_large_entry_gets_the_room_that_it_needs(void **state)
{
	struct config_input input = input_of_text("[global]\nuser = nobody\n" GOOD, "t.ini");
	FILE *nowhere = fopen("/dev/null", "w");
	struct config *c;

	(void)state;
	assert_non_null(nowhere);
	for (lookup_room = 1; lookup_room < 1u << 20; lookup_room *= 2) {
		c = read_input(&input, stderr, CONFIG_STYLE_PLAIN);
		assert_non_null(c);
		config_free(c);
	}
	lookup_room = 1u << 30; /* there is an end to it */
	assert_null(read_input(&input, nowhere, CONFIG_STYLE_PLAIN));
	lookup_room = 0;
	assert_int_equal(fclose(nowhere), 0);
	config_input_free(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_refused_in_words_at_every_allocation),
		cmocka_unit_test(files_are_given_back_at_every_allocation),
		cmocka_unit_test(a_user_that_cannot_be_looked_up_is_not_called_missing),
		cmocka_unit_test(a_large_entry_gets_the_room_that_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
