/* SPDX-License-Identifier: MIT
 *
 * test_resolv_conf.c - resolv.conf and hosts as people write them.
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

#include "names/hosts_file.h"
#include "names/resolv_conf.h"

static const char *server(const struct resolv_conf *c, size_t i)
{
	static char text[ADDR_TEXT_MAX];

	assert_true(i < c->server_count);
	return addr_format(&c->servers[i], text);
}

static void usual_file_is_understood(void **state)
{
	struct resolv_conf c;

	(void)state;
	resolv_conf_parse(&c, "# by hand\n; too\n\nnameserver 10.0.0.2\nnameserver\tfd00::2 \n"
			      "domain old.test\nsearch a.test  b.test .\noptions timeout:5 ndots:3 edns0\n"
			      "nameserver what\nnameserver\nsortlist 10.0.0.0\nnameserver 10.0.0.3");
	assert_int_equal(c.server_count, 3);
	assert_string_equal(server(&c, 0), "10.0.0.2:53");
	assert_string_equal(server(&c, 1), "[fd00::2]:53");
	assert_string_equal(server(&c, 2), "10.0.0.3:53");
	assert_int_equal(c.domain_count, 2);
	assert_string_equal(c.domains[0], "a.test");
	assert_string_equal(c.domains[1], "b.test");
	assert_int_equal(c.ndots, 3);
}

static void nothing_means_this_machine(void **state)
{
	struct resolv_conf c;

	(void)state;
	resolv_conf_read(&c, "/nonexistent/resolv.conf");
	assert_int_equal(c.server_count, 1);
	assert_string_equal(server(&c, 0), "127.0.0.1:53");
	assert_int_equal(c.domain_count, 0);
	assert_int_equal(c.ndots, 1);
}

static void too_much_is_left_out(void **state)
{
	static char text[40000];
	struct resolv_conf c;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "nameserver 10.0.0.%d\n", i);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "options ndots:99\nsearch");
	for (int i = 0; i < 50; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " d%d.test", i);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "\nsearch %02000d\nnameserver", 1);
	resolv_conf_parse(&c, text);
	assert_int_equal(c.server_count, NAME_SERVERS_MAX);
	assert_int_equal(c.domain_count, RESOLV_CONF_DOMAINS_MAX);
	assert_int_equal(c.ndots, 15);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void hosts_are_known_by_all_their_names(void **state)
{
	char path[] = "/tmp/weir-hosts-XXXXXX";
	const int fd = mkstemp(path);
	struct hosts_file h = {0};

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	write_file(path, "127.0.0.1\tlocalhost\n10.0.0.1 Web.Example web # not this\n# 10.0.0.2 no\n\n"
			 "::1 six\n10.0.0.9");
	assert_true(hosts_file_has(&h, path, "localhost"));
	assert_true(hosts_file_has(&h, path, "web.example"));
	assert_true(hosts_file_has(&h, path, "WEB."));
	assert_true(hosts_file_has(&h, path, "six"));
	assert_false(hosts_file_has(&h, path, "not"));
	assert_false(hosts_file_has(&h, path, "no"));
	assert_false(hosts_file_has(&h, path, "127.0.0.1"));
	assert_false(hosts_file_has(&h, path, "10.0.0.9"));
	write_file(path, "10.0.0.1 other, and longer than it was before\n");
	assert_false(hosts_file_has(&h, path, "web"));
	assert_true(hosts_file_has(&h, path, "longer"));
	(void)unlink(path);
	assert_false(hosts_file_has(&h, path, "longer"));
	hosts_file_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_file_is_understood),
		cmocka_unit_test(nothing_means_this_machine),
		cmocka_unit_test(too_much_is_left_out),
		cmocka_unit_test(hosts_are_known_by_all_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
