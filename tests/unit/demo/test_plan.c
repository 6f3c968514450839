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
#include "demo/command.h"
#include "demo/plan.h"

/* Reads the configuration of a stage, as the daemon does. */
static void read_stage(const struct demo_plan *p, enum plan_stage stage, struct config_reading *r)
{
	struct config_input input = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	demo_plan_write(p, stage, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(config_input_set_text(&input, "demo", text), 0);
	config_read(&input, r);
	config_input_free(&input);
	free(text);
}

static void assert_stage(const struct demo_plan *p, enum plan_stage stage, size_t servers)
{
	struct config_reading r;
	const struct config *c;

	read_stage(p, stage, &r);
	c = r.config;
	assert_non_null(c);
	assert_int_equal(c->warnings, 0);
	assert_string_equal(c->frontends[0].name, PLAN_NAME);
	assert_int_equal(ntohs(c->frontends[0].binds[0].addr.addr.in.sin_port), p->proxy_port);
	assert_int_equal(c->backends[0].server_count, servers);
	for (size_t i = 0; i < servers; i++) {
		assert_string_equal(c->backends[0].servers[i].name, demo_plan_server_name(i));
		assert_int_equal(ntohs(c->backends[0].servers[i].addr.addr.in.sin_port), p->server_ports[i]);
	}
	assert_int_equal(c->global.admin.kind, ADDR_UNIX);
	config_reading_free(&r);
}

static void plan_is_a_configuration(void **state)
{
	struct demo_plan p;

	(void)state;
	assert_int_equal(demo_plan_make(&p), 0);
	assert_stage(&p, PLAN_STAGE_FIRST, PLAN_FIRST);
	assert_stage(&p, PLAN_STAGE_TRIAL, PLAN_FIRST - 1);
	demo_plan_free(&p);
}

static void wrong_configuration_has_one_error(void **state)
{
	struct config_reading r;
	struct demo_plan p;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	assert_int_equal(demo_plan_make(&p), 0);
	read_stage(&p, PLAN_STAGE_WRONG, &r);
	assert_null(r.config);
	config_reading_print(&r, out, CONFIG_STYLE_PLAIN);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "error: '127.0.0.1:99999' is not a valid address\n"));
	assert_non_null(strstr(text, "demo: 1 error, "));
	config_reading_free(&r);
	free(text);
	demo_plan_free(&p);
}

static void server_is_added_by_a_command(void **state)
{
	struct demo_plan p = {.server_ports = {1, 2, 3, 65535}};
	char words[COMMAND_MAX];

	(void)state;
	demo_plan_add_command(&p, 3, words, sizeof(words));
	assert_string_equal(words, "add server demo/b4 127.0.0.1:65535; enable server demo/b4");
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
	    cmocka_unit_test(wrong_configuration_has_one_error),
	    cmocka_unit_test(server_is_added_by_a_command),
	    cmocka_unit_test(two_plans_share_nothing),
	    cmocka_unit_test(a_server_listens_at_its_port_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
