/* SPDX-License-Identifier: MIT
 *
 * test_exec_words.c - arguments and environment of a program, as HAProxy 2.6 gave them for the same sections.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "health/exec_words.h"

static struct config_text_item own[32];
static struct config_check check_of = {.kind = CONFIG_CHECK_EXEC, .program = (char[]){"/bin/x"}, .args = own};
static struct exec_words words;

static struct addr ip(const char *text, uint16_t port)
{
	struct addr a = {.len = sizeof(a.in)};

	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(port);
	if (inet_pton(AF_INET, text, &a.in.sin_addr) == 1)
		return a;
	a = (struct addr){.len = sizeof(a.in6)};
	a.in6.sin6_family = AF_INET6;
	a.in6.sin6_port = htons(port);
	assert_int_equal(inet_pton(AF_INET6, text, &a.in6.sin6_addr), 1);
	return a;
}

static struct addr unix_at(const char *path, size_t len)
{
	struct addr a = {.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)};

	a.un.sun_family = AF_UNIX;
	memcpy(a.un.sun_path, path, len);
	return a;
}

static void make(const struct addr *proxy, const struct addr *server)
{
	exec_words_make(&words, &(const struct exec_facts){
					.check = &check_of,
					.proxy_name = "l1",
					.proxy_id = 5,
					.proxy = proxy,
					.server_name = "a",
					.server_id = 2,
					.server = server,
					.maxconn = 7,
					.sessions = 3,
				});
}

static void assert_four(const char *a, const char *b, const char *c, const char *d)
{
	const char *const four[] = {"/bin/x", a, b, c, d, NULL};

	for (size_t i = 0; i < 5; i++)
		assert_string_equal(words.argv[i], four[i]);
}

static void assert_env(const char *line)
{
	for (size_t i = 0; words.envp[i] != NULL; i++)
		if (strcmp(words.envp[i], line) == 0)
			return;
	fail_msg("no %s", line);
}

static void a_listen_has_the_address_of_its_clients(void **state)
{
	const struct addr proxy = ip("127.0.0.1", 18801), server = ip("::1", 18998);
	size_t n = 0;

	(void)state;
	make(&proxy, &server);
	assert_four("127.0.0.1", "18801", "::1", "18998");
	assert_null(words.argv[5]);
	assert_env("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	assert_env("HAPROXY_PROXY_NAME=l1");
	assert_env("HAPROXY_PROXY_ID=5");
	assert_env("HAPROXY_PROXY_ADDR=127.0.0.1");
	assert_env("HAPROXY_PROXY_PORT=18801");
	assert_env("HAPROXY_SERVER_NAME=a");
	assert_env("HAPROXY_SERVER_ID=2");
	assert_env("HAPROXY_SERVER_ADDR=::1");
	assert_env("HAPROXY_SERVER_PORT=18998");
	assert_env("HAPROXY_SERVER_MAXCONN=7");
	assert_env("HAPROXY_SERVER_CURCONN=3");
	assert_env("HAPROXY_SERVER_SSL=0");
	assert_env("HAPROXY_SERVER_PROTO=tcp");
	while (words.envp[n] != NULL)
		n++;
	assert_int_equal(n, 13);
}

static void what_there_is_not_is_not_used(void **state)
{
	const struct addr server = unix_at("/run/s.sock", sizeof("/run/s.sock"));
	const struct addr name = unix_at("\0abs", 4);

	(void)state;
	make(NULL, &server);
	assert_four("NOT_USED", "NOT_USED", "/run/s.sock", "NOT_USED");
	assert_env("HAPROXY_PROXY_ADDR=");
	assert_env("HAPROXY_PROXY_PORT=");
	assert_env("HAPROXY_SERVER_ADDR=/run/s.sock");
	assert_env("HAPROXY_SERVER_PORT=");
	make(&name, &server);
	assert_four("@abs", "NOT_USED", "/run/s.sock", "NOT_USED");
	assert_env("HAPROXY_PROXY_ADDR=@abs");
}

static void the_longest_words_fit(void **state)
{
	char path[256], file[sizeof(((struct sockaddr_un *)NULL)->sun_path)], text[] = "x";
	struct addr longest;

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memset(file, 'f', sizeof(file));
	longest = unix_at(file, sizeof(file));
	check_of.exec_path = path;
	check_of.arg_count = 32;
	for (size_t i = 0; i < 32; i++)
		own[i].text = text;
	make(&longest, &longest);
	assert_int_equal(strlen(words.argv[1]), sizeof(file));
	assert_ptr_equal(words.argv[36], text);
	assert_null(words.argv[37]);
	assert_memory_equal(words.envp[0], "PATH=pppp", 9);
	check_of.exec_path = NULL;
	check_of.arg_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listen_has_the_address_of_its_clients),
		cmocka_unit_test(what_there_is_not_is_not_used),
		cmocka_unit_test(the_longest_words_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
