/* SPDX-License-Identifier: MIT
 *
 * test_addr.c - every form of an address, what it becomes, and what is said about the wrong ones.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/addr.h"

struct good {
	const char *text;
	enum addr_kind kind;
	int family; /* of the spec */
	uint16_t port;
	const char *printed;
};

static const struct good good[] = {
	{":443", ADDR_ANY, AF_UNSPEC, 443, "*:443"},
	{"*:443", ADDR_ANY, AF_UNSPEC, 443, "*:443"},
	{"0.0.0.0:443", ADDR_IP, AF_UNSPEC, 443, "0.0.0.0:443"},
	{"[::]:443", ADDR_IP, AF_UNSPEC, 443, "[::]:443"},
	{"10.0.0.1:80", ADDR_IP, AF_UNSPEC, 80, "10.0.0.1:80"},
	{"[2001:db8::1]:65535", ADDR_IP, AF_UNSPEC, 65535, "[2001:db8::1]:65535"},
	{"[::ffff:10.0.0.1]:80", ADDR_IP, AF_UNSPEC, 80, "[::ffff:10.0.0.1]:80"},
	{"127.0.0.1:0", ADDR_IP, AF_UNSPEC, 0, "127.0.0.1:0"},
	{"name:80", ADDR_NAME, AF_UNSPEC, 80, "name:80"},
	{"db-1.example.com:5432", ADDR_NAME, AF_UNSPEC, 5432, "db-1.example.com:5432"},
	{"my_app.example.com.:1", ADDR_NAME, AF_UNSPEC, 1, "my_app.example.com.:1"},
	{"3com:80", ADDR_NAME, AF_UNSPEC, 80, "3com:80"},
	{"0xyz:80", ADDR_NAME, AF_UNSPEC, 80, "0xyz:80"},
	{"ipv4@10.0.0.1:80", ADDR_IP, AF_INET, 80, "10.0.0.1:80"},
	{"ipv4@:80", ADDR_IP, AF_INET, 80, "0.0.0.0:80"},
	{"ipv4@*:80", ADDR_IP, AF_INET, 80, "0.0.0.0:80"},
	{"ipv4@name:80", ADDR_NAME, AF_INET, 80, "ipv4@name:80"},
	{"ipv6@[::1]:80", ADDR_IP, AF_INET6, 80, "[::1]:80"},
	{"ipv6@:80", ADDR_IP, AF_INET6, 80, "[::]:80"},
	{"ipv6@name:80", ADDR_NAME, AF_INET6, 80, "ipv6@name:80"},
	{"unix:/run/a.sock", ADDR_UNIX, AF_UNSPEC, 0, "unix:/run/a.sock"},
	{"unix@/run/a.sock", ADDR_UNIX, AF_UNSPEC, 0, "unix:/run/a.sock"},
	{"/run/a.sock", ADDR_UNIX, AF_UNSPEC, 0, "unix:/run/a.sock"},
	{"unix:/run/a:80", ADDR_UNIX, AF_UNSPEC, 0, "unix:/run/a:80"},
	{"unix:@abstract", ADDR_UNIX, AF_UNSPEC, 0, "unix:@abstract"},
	{"unix@@abstract", ADDR_UNIX, AF_UNSPEC, 0, "unix:@abstract"},
	{"abns@abstract", ADDR_UNIX, AF_UNSPEC, 0, "unix:@abstract"},
	{"abns@@two", ADDR_UNIX, AF_UNSPEC, 0, "unix:@@two"},
	{"fd@web", ADDR_FD, AF_UNSPEC, 0, "fd@web"},
	{"fd@3", ADDR_FD, AF_UNSPEC, 0, "fd@3"},
	{"fd@3a", ADDR_FD, AF_UNSPEC, 0, "fd@3a"},
	{"fd@a\\x2db.socket", ADDR_FD, AF_UNSPEC, 0, "fd@a\\x2db.socket"},
	{"/run/\"q\"\t\\", ADDR_UNIX, AF_UNSPEC, 0, "unix:/run/\\x22q\\x22\\x09\\x5c"},
};

struct bad {
	const char *text;
	size_t at;
	const char *why; /* part of it */
};

static const struct bad bad[] = {
	{"", 0, "address is missing"},
	{"10.0.0.1", 8, "port is missing"},
	{"name", 4, "port is missing"},
	{"[::1]", 5, "port is missing"},
	{"name:", 5, "port is missing"},
	{":", 1, "port is missing"},
	{"name:65536", 5, "0 to 65535"},
	{"name:99999999999999999999999", 5, "0 to 65535"},
	{"name:-1", 5, "0 to 65535"},
	{"name:+1", 5, "0 to 65535"},
	{"name: 1", 5, "0 to 65535"},
	{"name:80x", 5, "0 to 65535"},
	{"name:http", 5, "0 to 65535"},
	{"::1:80", 0, "in brackets"},
	{"2001:db8::1", 0, "in brackets"},
	{"[::1:80", 0, "closing ']'"},
	{"[::1]80", 5, "followed by ':'"},
	{"[]:80", 1, "not a valid IPv6"},
	{"[::g]:80", 1, "not a valid IPv6"},
	{"[10.0.0.1]:80", 1, "not a valid IPv6"},
	{"[name]:80", 1, "not a valid IPv6"},
	{"[::1%lo]:80", 5, "link-local"},
	{"[fe80::1%nosuchif0]:80", 9, "no network interface"},
	{"[fe80::1%]:80", 9, "no network interface"},
	{"[fe80::1%0]:80", 9, "no network interface"},
	{"256.0.0.1:80", 0, "not a valid IPv4"},
	{"10.0.1:80", 0, "not a valid IPv4"},
	{"010.0.0.1:80", 0, "not a valid IPv4"},
	{"10.0.0.1.:80", 0, "not a valid IPv4"},
	{"12345:80", 0, "not a valid IPv4"},
	{"0x7f000001:80", 0, "not a valid IPv4"},
	{"a b:80", 1, "letters, digits"},
	{"a/b:80", 1, "letters, digits"},
	{"h\xc3\xb6st:80", 1, "letters, digits"},
	{"*.example.com:80", 0, "letters, digits"},
	{"a..b:80", 2, "is empty"},
	{".a:80", 0, "is empty"},
	{".:80", 0, "is empty"},
	{"a..:80", 2, "is empty"},
	{"a.-b:80", 2, "begin with '-'"},
	{"ipv4@", 5, "after '@'"},
	{"ipv4@[::1]:80", 6, "contradict"},
	{"ipv6@10.0.0.1:80", 5, "contradict"},
	{"ipv6@::1:80", 5, "in brackets"},
	{"unix:", 5, "path is missing"},
	{"unix@", 5, "path is missing"},
	{"unix:run/a.sock", 5, "begins with '/'"},
	{"unix:@", 6, "name is missing"},
	{"abns@", 5, "name is missing"},
	{"@name", 0, "unix:@NAME"},
	{"fd@", 3, "name is missing"},
	{"fd@1", 3, "standard streams"},
	{"fd@03", 3, "without leading zeros"},
	{"fd@99999999999", 3, "too large"},
	{"fd@a b", 4, "no blanks"},
	{"fd@a:b", 4, "no blanks"},
};

static void a_server_may_have_the_port_of_the_client(void **state)
{
	static const char *const texts[] = {"10.0.0.1:*", "[::1]:*", "name:*", "ipv4@name:*"};
	char text[ADDR_TEXT_MAX];
	struct addr_spec spec;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(addr_parse_ports(texts[i], ADDR_PORTS_CLIENT, &spec, NULL, NULL), 0);
		assert_true(spec.client_port);
		assert_int_equal(spec.port, 0);
		assert_string_equal(addr_spec_format(&spec, text), texts[i]);
		if (spec.kind == ADDR_IP)
			assert_string_equal(addr_format(&spec.addr, text), texts[i]);
		assert_int_equal(addr_parse(texts[i], &spec, NULL, NULL), -EINVAL);
	}
	assert_int_equal(addr_parse_ports("10.0.0.1:80", ADDR_PORTS_CLIENT, &spec, NULL, NULL), 0);
	assert_false(spec.client_port);
	addr_set_port(&spec.addr, 0);
	assert_string_equal(addr_format(&spec.addr, text), "10.0.0.1:*");
	addr_set_port(&spec.addr, 81);
	assert_string_equal(addr_format(&spec.addr, text), "10.0.0.1:81");
}

static void a_range_of_ports_is_for_those_who_take_one(void **state)
{
	static const struct bad wrong[] = {
		{":9-8", 1, "not below the first"},	    {":0-8", 1, "begins with a port"},
		{":1-65536", 1, "two ports from 1"},	    {":1-2-3", 1, "two ports from 1"},
		{":99999999-99999999", 1, "0 to 65535"}, {"8080-8089", 0, "as in :8080-8089"},
		{":*", 1, "only a server"},
	};
	static const char *const good_ones[] = {"10.0.0.1:1-65535", "[::1]:80-81", "*:30000-32767"};
	char text[ADDR_TEXT_MAX];
	struct addr_spec spec;
	const char *why;
	size_t at;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good_ones); i++) {
		assert_int_equal(addr_parse_ports(good_ones[i], ADDR_PORTS_RANGE, &spec, NULL, NULL), 0);
		assert_true(spec.last_port > spec.port);
		assert_string_equal(addr_spec_format(&spec, text), good_ones[i]);
		assert_int_equal(addr_parse(good_ones[i], &spec, &why, &at), -EINVAL);
		assert_non_null(strstr(why, "for 'bind' in a frontend"));
		assert_int_equal(addr_parse_ports(good_ones[i], ADDR_PORTS_CLIENT, &spec, &why, &at),
				 -EINVAL);
		assert_non_null(strstr(why, "a server has one port"));
	}
	assert_int_equal(addr_parse_ports(":80-80", ADDR_PORTS_RANGE, &spec, NULL, NULL), 0);
	assert_int_equal(spec.last_port, 0);
	assert_string_equal(addr_spec_format(&spec, text), "*:80");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(addr_parse_ports(wrong[i].text, ADDR_PORTS_RANGE, &spec, &why, &at),
				 -EINVAL);
		assert_non_null(strstr(why, wrong[i].why));
		assert_int_equal(at, wrong[i].at);
	}
}

static void each_good_form_is_understood_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct good *g = &good[i];
		struct addr_spec spec;
		const char *why = NULL;
		char buf[ADDR_TEXT_MAX];

		if (addr_parse(g->text, &spec, &why, NULL) != 0)
			fail_msg("'%s': %s", g->text, why);
		if (strcmp(addr_spec_format(&spec, buf), g->printed) != 0)
			fail_msg("'%s' is printed as '%s'", g->text, buf);
		assert_int_equal(spec.kind, g->kind);
		assert_int_equal(spec.family, g->family);
		assert_int_equal(spec.port, g->port);
		assert_int_equal(spec.addr.len == 0, g->kind == ADDR_NAME || g->kind == ADDR_FD);
		if (g->kind == ADDR_IP && g->port != 0)
			assert_string_equal(addr_format(&spec.addr, buf), g->printed);
	}
}

static void each_bad_form_is_refused_with_place_and_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct bad *b = &bad[i];
		struct addr_spec spec;
		const char *why = NULL;
		size_t at = SIZE_MAX;

		if (addr_parse(b->text, &spec, &why, &at) != -EINVAL)
			fail_msg("'%s' is accepted", b->text);
		if (strstr(why, b->why) == NULL || at != b->at)
			fail_msg("'%s' is refused at %zu: %s", b->text, at, why);
		assert_int_equal(spec.kind, ADDR_NONE);
		assert_int_equal(addr_parse(b->text, &spec, NULL, NULL), -EINVAL);
	}
}

static void any_address_is_ipv6_unspecified_with_its_port(void **state)
{
	struct addr_spec spec;

	(void)state;
	assert_int_equal(addr_parse("*:443", &spec, NULL, NULL), 0);
	assert_int_equal(spec.addr.len, sizeof(struct sockaddr_in6));
	assert_int_equal(spec.addr.in6.sin6_family, AF_INET6);
	assert_int_equal(spec.addr.in6.sin6_port, htons(443));
	assert_true(IN6_IS_ADDR_UNSPECIFIED(&spec.addr.in6.sin6_addr));
}

static void path_may_have_107_bytes_and_not_one_more(void **state)
{
	struct addr_spec spec;
	const char *why;
	size_t at;
	char text[5 + 108 + 1] = "unix:";

	(void)state;
	memset(text + 5, '/', 108);
	assert_int_equal(addr_parse(text, &spec, &why, &at), -EINVAL);
	assert_non_null(strstr(why, "107"));
	assert_int_equal(at, 5 + 107);
	text[5 + 107] = '\0';
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	assert_int_equal(spec.addr.len, offsetof(struct sockaddr_un, sun_path) + 108);
	text[5] = '@';
	text[5 + 107] = 'a';
	text[5 + 108] = '\0';
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0); /* '@' and 107 bytes */
	assert_int_equal(spec.addr.len, offsetof(struct sockaddr_un, sun_path) + 108);
	assert_int_equal(spec.addr.un.sun_path[107], 'a');
}

static void abstract_name_over_107_bytes_is_refused(void **state)
{
	struct addr_spec spec;
	char text[5 + 108 + 1] = "abns@";

	(void)state;
	memset(text + 5, 'a', 108);
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), -EINVAL);
	text[5 + 107] = '\0';
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
}

static void longest_and_ugliest_path_fits_into_the_buffer(void **state)
{
	struct addr a = {.len = sizeof(a.un)};
	char buf[ADDR_TEXT_MAX];

	(void)state;
	a.un.sun_family = AF_UNIX;
	memset(a.un.sun_path, 0xff, sizeof(a.un.sun_path)); /* as the kernel may give it: no NUL */
	assert_int_equal(strlen(addr_format(&a, buf)), 5 + 4 * sizeof(a.un.sun_path));
	a.un.sun_path[0] = '\0';
	assert_int_equal(strlen(addr_format(&a, buf)), 6 + 4 * (sizeof(a.un.sun_path) - 1));
}

static void host_name_limits_are_those_of_dns(void **state)
{
	struct addr_spec spec;
	const char *why;
	char text[300];
	size_t at;

	(void)state;
	memset(text, 'a', 63);
	memcpy(text + 63, ":80", 4);
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	memset(text, 'a', 64);
	memcpy(text + 64, ":80", 4);
	assert_int_equal(addr_parse(text, &spec, &why, &at), -EINVAL);
	assert_int_equal(at, 63);
	for (int i = 0; i < 254; i++)
		text[i] = i % 2 == 0 ? 'a' : '.';
	text[253] = 'a';
	memcpy(text + 254, ":80", 4);
	assert_int_equal(addr_parse(text, &spec, &why, NULL), -EINVAL);
	assert_non_null(strstr(why, "253"));
	memcpy(text + 253, ":80", 4);
	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	assert_int_equal(strlen(spec.host), 253);
}

static void scope_is_an_interface_by_name_or_number(void **state)
{
	struct addr_spec by_name, by_number;
	char text[64];
	char buf[ADDR_TEXT_MAX];
	const unsigned lo = if_nametoindex("lo");

	(void)state;
	assert_true(lo > 0);
	assert_int_equal(addr_parse("[fe80::1%lo]:80", &by_name, NULL, NULL), 0);
	assert_int_equal(by_name.addr.in6.sin6_scope_id, lo);
	(void)snprintf(text, sizeof(text), "[fe80::1%%%u]:80", lo);
	assert_string_equal(addr_format(&by_name.addr, buf), text);
	assert_int_equal(addr_parse(text, &by_number, NULL, NULL), 0);
	assert_int_equal(by_number.addr.in6.sin6_scope_id, lo);
}

static void parse_ok(const char *text, struct addr *a)
{
	struct addr_spec spec;

	assert_int_equal(addr_parse(text, &spec, NULL, NULL), 0);
	*a = spec.addr;
}

static void addresses_are_equal_by_family_host_and_port(void **state)
{
	static const char *const all[] = {
		"10.0.0.1:80", "10.0.0.1:81",  "10.0.0.2:80",    "[::1]:80",       "[::2]:80",
		"[::1]:81",    "unix:/a",      "unix:/ab",       "unix:@/a",       "unix:@a",
	};
	struct addr none = {.len = 0};
	struct addr a, b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		for (size_t j = 0; j < ARRAY_LEN(all); j++) {
			parse_ok(all[i], &a);
			parse_ok(all[j], &b);
			if (addr_equal(&a, &b) != (i == j))
				fail_msg("'%s' and '%s'", all[i], all[j]);
		}
		assert_false(addr_equal(&a, &none));
		assert_false(addr_equal(&none, &a));
	}
	assert_true(addr_equal(&none, &none));
	parse_ok("[fe80::1%lo]:80", &a);
	parse_ok("[fe80::1]:80", &b);
	assert_true(addr_equal(&a, &b));
	/* Some give the length of a path with its NUL, some without. */
	parse_ok("unix:/a", &a);
	parse_ok("unix:/a", &b);
	b.len--;
	assert_true(addr_equal(&a, &b));
}

static const char *brief_of(const char *text, char *buf)
{
	struct addr_brief brief;
	struct addr a;

	parse_ok(text, &a);
	addr_to_brief(&a.sa, a.len, &brief);
	return addr_brief_format(&brief, buf);
}

static void brief_keeps_ip_addresses_whole_and_unix_by_family(void **state)
{
	char buf[ADDR_TEXT_MAX];
	struct addr_brief brief;
	struct addr empty = {.len = 0};

	(void)state;
	assert_int_equal(sizeof(struct addr_brief), 24);
	assert_string_equal(brief_of("10.1.2.3:4567", buf), "10.1.2.3:4567");
	assert_string_equal(brief_of("[2001:db8::1]:80", buf), "[2001:db8::1]:80");
	assert_string_equal(brief_of("[::ffff:10.1.2.3]:80", buf), "10.1.2.3:80");
	assert_string_equal(brief_of("[fe80::1%1]:80", buf), "[fe80::1%1]:80");
	assert_string_equal(brief_of("unix:/a", buf), "unix:");
	addr_to_brief(&empty.sa, 0, &brief);
	assert_string_equal(addr_brief_format(&brief, buf), "-");
	/* An unnamed Unix peer: the family alone. */
	empty.un.sun_family = AF_UNIX;
	addr_to_brief(&empty.sa, sizeof(empty.sa.sa_family), &brief);
	assert_string_equal(addr_brief_format(&brief, buf), "unix:");
	empty.len = sizeof(empty.sa.sa_family);
	assert_string_equal(addr_format(&empty, buf), "unix:");
	assert_true(addr_is_unix(&empty));
}

static void loopback_addresses_are_known(void **state)
{
	static const char *const local[] = {"127.0.0.1:80", "127.9.8.7:0", "[::1]:80",
					    "[::ffff:127.1.2.3]:80"};
	static const char *const other[] = {"0.0.0.0:80", "128.0.0.1:80", "10.0.0.127:80", "[::]:80", ":80",
					    "[::2]:80", "[::ffff:10.1.2.3]:80", "[7f00::1]:80", "unix:/a",
					    "unix:@a"};
	const struct addr empty = {.len = 0};
	struct addr_spec spec;

	(void)state;
	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
		assert_int_equal(addr_parse(local[i], &spec, NULL, NULL), 0);
		assert_true(addr_is_loopback(&spec.addr));
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		assert_int_equal(addr_parse(other[i], &spec, NULL, NULL), 0);
		assert_false(addr_is_loopback(&spec.addr));
	}
	assert_false(addr_is_loopback(&empty));
}

static void only_a_server_may_be_where_the_client_asks_to_go(void **state)
{
	static const char *const wrong[] = {"sni@",	 "sni@0x",	"sni@a:443",
					    "sni@65536", "sni@443-444", "sni@:443"};
	const unsigned ports = ADDR_PORTS_CLIENT | ADDR_SNI_TOO;
	struct addr_spec spec;
	char text[ADDR_TEXT_MAX];
	const char *why = NULL;

	(void)state;
	assert_int_equal(addr_parse_ports("sni@443", ports, &spec, NULL, NULL), 0);
	assert_int_equal(spec.kind, ADDR_SNI);
	assert_int_equal(spec.addr.sa.sa_family, AF_UNSPEC);
	assert_int_equal(addr_port(&spec.addr), 443);
	assert_string_equal(addr_spec_format(&spec, text), "sni@443");
	assert_string_equal(addr_format(&spec.addr, text), "sni@443");
	assert_int_equal(addr_parse_ports("sni@*", ports, &spec, NULL, NULL), 0);
	assert_true(spec.client_port);
	assert_string_equal(addr_spec_format(&spec, text), "sni@*");
	assert_string_equal(addr_format(&spec.addr, text), "sni@*");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (addr_parse_ports(wrong[i], ports, &spec, NULL, NULL) == 0)
			fail_msg("'%s' was parsed", wrong[i]);
	assert_int_equal(addr_parse("sni@443", &spec, &why, NULL), -EINVAL);
	assert_non_null(strstr(why, "is for 'server'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_server_may_be_where_the_client_asks_to_go),
		cmocka_unit_test(each_good_form_is_understood_and_printed),
		cmocka_unit_test(a_server_may_have_the_port_of_the_client),
		cmocka_unit_test(a_range_of_ports_is_for_those_who_take_one),
		cmocka_unit_test(each_bad_form_is_refused_with_place_and_reason),
		cmocka_unit_test(any_address_is_ipv6_unspecified_with_its_port),
		cmocka_unit_test(path_may_have_107_bytes_and_not_one_more),
		cmocka_unit_test(abstract_name_over_107_bytes_is_refused),
		cmocka_unit_test(longest_and_ugliest_path_fits_into_the_buffer),
		cmocka_unit_test(host_name_limits_are_those_of_dns),
		cmocka_unit_test(scope_is_an_interface_by_name_or_number),
		cmocka_unit_test(addresses_are_equal_by_family_host_and_port),
		cmocka_unit_test(brief_keeps_ip_addresses_whole_and_unix_by_family),
		cmocka_unit_test(loopback_addresses_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
