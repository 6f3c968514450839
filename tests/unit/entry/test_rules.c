/* SPDX-License-Identifier: MIT
 *
 * test_rules.c - which use-backend line takes a client, by what its TLS hello says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "weir/config/names.h"
#include "weir/entry/rules.h"

#define ROUTES 4

static struct config_text_item items[8];
static size_t item_count;
static struct config_route routes[ROUTES];
static struct config_frontend frontend = {.routes = routes};
static const struct addr_brief client = {.family = AF_INET, .port = 1, .ip = {192, 0, 2, 1}};

static struct config_text_item *item(const char *text)
{
	items[item_count].text = (char *)text;
	return &items[item_count++];
}

static struct config_route *add(void)
{
	routes[frontend.route_count] = (struct config_route){0};
	return &routes[frontend.route_count++];
}

static void add_sni(const char *name)
{
	struct config_route *r = add();

	r->sni.list = item(name);
	r->sni.count = 1;
	r->hosts = config_names_set(&r->sni);
	assert_non_null(r->hosts);
}

static int no_routes(void **state)
{
	(void)state;
	for (size_t i = 0; i < frontend.route_count; i++)
		host_set_free(routes[i].hosts);
	frontend.route_count = 0;
	item_count = 0;
	return 0;
}

static struct rules_hello named(const char *name)
{
	return (struct rules_hello){.came = true, .name = name, .name_len = strlen(name)};
}

static void assert_goes(struct rules_hello hello, size_t to)
{
	assert_int_equal(rules_route(&frontend, &client, 443, &hello), to);
}

static void the_first_line_wins_however_specific_a_later_one_is(void **state)
{
	(void)state;
	add_sni("*.example.com");
	add_sni("www.example.com");
	add_sni(".example.com");
	assert_goes(named("www.example.com"), 0);
	assert_goes(named("a.b.example.com"), 0);
	assert_goes(named("example.com"), 2);
	assert_goes(named("example.org"), 3);
	assert_goes(named(""), 3);
	assert_goes((struct rules_hello){0}, 3);
}

static void none_is_a_hello_without_a_name_and_any_is_one_with(void **state)
{
	(void)state;
	add()->sni.none = true;
	add()->sni.any = true;
	assert_goes(named(""), 0);
	assert_goes(named("x"), 1);
	assert_goes((struct rules_hello){0}, 2);
	/* A PROXY header that names no server is not a hello without a name. */
	assert_goes((struct rules_hello){.protocol = (const uint8_t *)"h2", .protocol_len = 2}, 2);
	assert_goes((struct rules_hello){.name = "x", .name_len = 1}, 1);
}

static void words_of_a_line_are_anded_and_its_lists_are_ored(void **state)
{
	static struct config_ports https = {443, 443}, other = {444, 444};
	struct rules_hello hello = named("a.example.com");
	struct config_route *r;

	(void)state;
	add_sni("a.example.com");
	r = &routes[0];
	r->alpn = item("h2");
	(void)item("http/1.1");
	r->alpn_count = 2;
	r->ports = &other;
	r->port_count = 1;
	assert_int_equal(rules_match(r, &client, 443, &hello), RULES_MISS_PORT);
	r->ports = &https;
	assert_int_equal(rules_match(r, &client, 443, &hello), RULES_MISS_ALPN);
	hello.protocol = (const uint8_t *)"http/1.1";
	hello.protocol_len = 8;
	assert_int_equal(rules_match(r, &client, 443, &hello), RULES_MATCH);
	hello.protocol_len = 4;
	assert_int_equal(rules_match(r, &client, 443, &hello), RULES_MISS_ALPN);
	hello.name = "b.example.com";
	assert_int_equal(rules_match(r, &client, 443, &hello), RULES_MISS_SNI);
}

static void a_frontend_uses_names_if_it_sniffs_or_a_line_asks_for_them(void **state)
{
	(void)state;
	(void)add();
	assert_false(rules_use_names(&frontend));
	frontend.sniff.kind = CONFIG_SNIFF_TLS;
	assert_true(rules_use_names(&frontend));
	frontend.sniff.kind = CONFIG_SNIFF_OFF;
	add()->sni.none = true;
	assert_true(rules_use_names(&frontend));
	routes[1] = (struct config_route){.alpn = item("h2"), .alpn_count = 1};
	assert_true(rules_use_names(&frontend));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_first_line_wins_however_specific_a_later_one_is, no_routes),
		cmocka_unit_test_teardown(none_is_a_hello_without_a_name_and_any_is_one_with, no_routes),
		cmocka_unit_test_teardown(words_of_a_line_are_anded_and_its_lists_are_ored, no_routes),
		cmocka_unit_test_teardown(a_frontend_uses_names_if_it_sniffs_or_a_line_asks_for_them,
					  no_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
