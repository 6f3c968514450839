/* SPDX-License-Identifier: MIT
 *
 * test_plan.c - ports of a demo, and its configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "weir/settings/config_reading.h"
#include "demo/plan.h"

static void plan_is_a_configuration(void **state)
{
	struct demo_plan p;
	char *text = NULL, name[64];
	size_t len = 0;
	struct config_input input = {0};
	struct config_reading r;
	const struct config *c;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	assert_int_equal(demo_plan_make(&p), 0);
	demo_plan_write(&p, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(config_input_set_text(&input, "demo", text), 0);
	config_read(&input, &r);
	config_reading_print(&r, stderr, CONFIG_STYLE_PLAIN);
	c = r.config;
	assert_non_null(c);
	assert_int_equal(c->warnings, 0);
	assert_string_equal(c->frontends[0].name, PLAN_NAME);
	assert_int_equal(ntohs(c->frontends[0].binds[0].addr.addr.in.sin_port), p.proxy_port);
	assert_int_equal(c->backends[0].server_count, PLAN_SERVERS);
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		assert_string_equal(c->backends[0].servers[i].name, demo_plan_server_name(i));
		assert_int_equal(ntohs(c->backends[0].servers[i].addr.addr.in.sin_port), p.server_ports[i]);
	}
	demo_plan_admin_name(&p, name, sizeof(name));
	assert_int_equal(c->global.admin.kind, ADDR_UNIX);
	config_reading_free(&r);
	config_input_free(&input);
	free(text);
	demo_plan_free(&p);
}

static void two_plans_share_nothing(void **state)
{
	struct demo_plan a, b;

	(void)state;
	assert_int_equal(demo_plan_make(&a), 0);
	assert_int_equal(demo_plan_make(&b), 0);
	assert_int_not_equal(a.proxy_port, b.proxy_port);
	for (size_t i = 0; i < PLAN_SERVERS; i++)
		for (size_t j = 0; j < PLAN_SERVERS; j++)
			assert_int_not_equal(a.server_ports[i], b.server_ports[j]);
	demo_plan_free(&b);
	demo_plan_free(&a);
}

static void a_server_listens_at_its_port_again_and_again(void **state)
{
	struct addr to = {.len = sizeof(to.in)};
	struct demo_plan p;

	(void)state;
	assert_int_equal(demo_plan_make(&p), 0);
	to.in.sin_family = AF_INET;
	to.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.in.sin_port = htons(p.server_ports[1]);
	for (int i = 0; i < 3; i++) {
		int fd = demo_plan_listen(&p, 1);
		int client = socket(AF_INET, SOCK_STREAM, 0);

		assert_true(fd >= 0);
		assert_int_equal(demo_plan_listen(&p, 1), -EADDRINUSE); /* one at a time */
		assert_int_equal(connect(client, &to.sa, to.len), 0);
		close(fd);
		close(client);
		client = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(client, &to.sa, to.len), -1);
		assert_int_equal(errno, ECONNREFUSED);
		close(client);
	}
	demo_plan_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plan_is_a_configuration),
	    cmocka_unit_test(two_plans_share_nothing),
	    cmocka_unit_test(a_server_listens_at_its_port_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
