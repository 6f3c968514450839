/* SPDX-License-Identifier: MIT
 *
 * test_memory.c - a command that runs out of memory, at each of its allocations in turn, says so and ends
 * with an exit code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/cli/cli.h"
#include "weir/control/daemon.h"
#include "cli/sessions_view.h"
#include "cli/trend.h"
#include "command.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

static long calls;   /* since the last start */
static long fail_at; /* the call that fails; 0 = none */

static bool may_allocate(void)
{
	return ++calls != fail_at;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return may_allocate() ? __real_realloc(ptr, size) : NULL;
}

char *__wrap_strdup(const char *text)
{
	return may_allocate() ? __real_strdup(text) : NULL;
}

static void fail_each(char *const words[])
{
	char said[8192];
	bool failed = true;
	long n;

	for (n = 1; failed; n++) {
		int code;

		fail_at = n;
		calls = 0;
		code = command_run(words, said, sizeof(said));
		failed = calls >= n;
		fail_at = 0;
		if (!failed)
			assert_int_equal(code, EXIT_FINE);
		else if ((code != EXIT_FATAL && code != EXIT_CONFIG) || strstr(said, "out of memory") == NULL)
			fail_msg("allocation %ld: code %d: %s", n, code, said);
	}
	assert_true(n > 5);
}

static void a_check_without_memory_says_so(void **state)
{
	char path[] = "/tmp/weir-cli-memory-XXXXXX";
	const int fd = mkstemp(path);
	static const char text[] = "[global]\nuser = root\n[listen a]\nbind = :1\nserver b = 10.0.0.1:80\n";
	char *const words[] = {"weir", "-c", "-q", path, "-o", "listen a.maxconn=5", NULL};

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	fail_each(words);
	close(fd);
	unlink(path);
}

static void a_forward_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "forward", "-c", ":1", "10.0.0.1:80", NULL};

	(void)state;
	fail_each(words);
}

static void a_completion_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "complete", "--", "help", "", NULL};

	(void)state;
	fail_each(words);
}

static void a_completion_of_a_command_without_memory_says_so(void **state)
{
	char *const words[] = {"weir", "complete", "--", "-o", "a=b", "ctl", "", NULL};

	(void)state;
	fail_each(words);
}

/* ---- pages of `top` ---- */

static struct view_row rows[] = {
	{.proxy = "web", .name = "a", .state = "up"},
	{.proxy = "web", .name = "b", .state = "down"},
	{.proxy = "web", .name = "c", .state = "up"},
};
static struct view_row others[] = {
	{.proxy = "web", .name = "c", .state = "up"},
	{.proxy = "web", .name = "d", .state = "up"},
};
static const struct view first = {.servers = rows, .server_count = 3, .taken_ns = NS_PER_SEC};
static const struct view second = {.servers = others, .server_count = 2, .taken_ns = 2 * NS_PER_SEC};

static void a_page_without_memory_is_marked(void **state)
{
	const struct view_style style = {.page = VIEW_PAGE_SERVERS};
	char page[4096];
	struct text out;
	bool failed = true;

	(void)state;
	for (long n = 1; failed; n++) {
		text_over(&out, page, sizeof(page));
		calls = 0;
		fail_at = n;
		view_show(&second, &first, &style, &out);
		failed = calls >= n;
		fail_at = 0;
		assert_true(out.failed == failed);
		assert_true(!failed || n <= 2);
	}
}

static void without_memory_no_server_is_chosen(void **state)
{
	struct view_choice choice = {.proxy = "web", .name = "d"};
	const struct view_style style = {.columns = 80};

	(void)state;
	for (long n = 1; n <= 2; n++) {
		calls = 0;
		fail_at = n;
		view_choose(&second, &first, &style, &choice, 0);
		fail_at = 0;
		assert_string_equal(choice.name, "");
	}
	view_choose(&second, &first, &style, &choice, 1);
	assert_string_equal(choice.name, "d");
}

static void trends_without_memory_begin_again(void **state)
{
	bool failed = true;

	(void)state;
	for (long n = 1; failed; n++) {
		struct trends t;

		trends_init(&t);
		trends_add(&t, &first, &first);
		calls = 0;
		fail_at = n;
		trends_add(&t, &second, &first);
		failed = calls >= n;
		fail_at = 0;
		assert_int_equal(t.accepted.count, 2);
		assert_true(t.server_count == 2 || (failed && t.server_count == 0 && t.servers == NULL));
		assert_true(!failed || n <= 2);
		trends_add(&t, &second, &second);
		assert_int_equal(t.server_count, 2);
		trends_free(&t);
	}
}

static void sessions_without_memory_are_not_there(void **state)
{
	static const char line[] = "0x100000001: proto=tcpv4 id=0.1 client=a\n";
	const struct view_style style = {.columns = 80};
	struct sessions_view v;
	char page[512];
	struct text out;

	(void)state;
	sessions_view_init(&v);
	text_add(&v.answer, line, strlen(line));
	calls = 0;
	fail_at = 1;
	assert_false(sessions_view_read(&v));
	assert_int_equal(v.count, 0);
	fail_at = 0;
	assert_true(sessions_view_read(&v));
	assert_int_equal(v.count, 1);
	text_over(&out, page, sizeof(page));
	calls = 0;
	fail_at = 1;
	sessions_view_show(&v, NULL, &style, &out);
	fail_at = 0;
	assert_true(out.failed);
	sessions_view_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_check_without_memory_says_so),
		cmocka_unit_test(a_forward_without_memory_says_so),
		cmocka_unit_test(a_completion_without_memory_says_so),
		cmocka_unit_test(a_completion_of_a_command_without_memory_says_so),
		cmocka_unit_test(a_page_without_memory_is_marked),
		cmocka_unit_test(without_memory_no_server_is_chosen),
		cmocka_unit_test(trends_without_memory_begin_again),
		cmocka_unit_test(sessions_without_memory_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
