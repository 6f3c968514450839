/* SPDX-License-Identifier: MIT
 *
 * test_server_words.c - servers in the words of HAProxy's `add server`: what becomes of each word, and what
 * is refused in whose words.
 *
 * Linked with --wrap of the allocator, so that each allocation can fail in turn, and all are counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../base/alloc_fail.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/haproxy_time.h"
#include "weir/settings/server_words.h"

#define WORDS_MAX 64

static struct config_backend backend = {.name = "app"};
static struct server_words words;

static int read_as(const char *name, const char *line, bool ours)
{
	static char copy[1024];
	const char *list[WORDS_MAX];
	size_t count = 0;
	char *rest = copy, *word;

	(void)snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")) != NULL)
		list[count++] = word;
	return server_words_read(&words, &backend, name, list, count, ours);
}

static const struct config_server *good(const char *line)
{
	assert_int_equal(read_as("s", line, false), 0);
	assert_string_equal(words.config.name, "s");
	return &words.config;
}

static void assert_refused(const char *line, const char *haproxy)
{
	assert_int_equal(read_as("s", line, false), -EINVAL);
	assert_string_equal(words.haproxy, haproxy);
	assert_non_null(words.ours);
	server_words_free(&words);
}

static void each_word_has_its_meaning(void **state)
{
	const struct config_server *s;

	(void)state;
	s = good("10.0.0.1:80");
	assert_int_equal(addr_port(&s->addr.addr), 80);
	assert_int_equal(s->weight, 1);
	assert_false(s->check || s->backup || s->disabled);
	assert_int_equal(s->send_proxy, CONFIG_SEND_PROXY_OFF);
	server_words_free(&words);
	s = good("10.0.0.1:80 weight 7 maxconn 5 maxqueue 6 backup slowstart 1500ms port 81 send-proxy-v2 "
		 "proxy-v2-options crc32c,unique-id");
	assert_int_equal(s->weight, 7);
	assert_int_equal(s->maxconn, 5);
	assert_int_equal(s->maxqueue, 6);
	assert_true(s->backup);
	assert_int_equal(s->slowstart_ns, 1500 * NS_PER_MS);
	assert_int_equal(s->check_port, 81);
	assert_int_equal(s->send_proxy, CONFIG_SEND_PROXY_V2);
	assert_true(s->proxy_crc32c && s->proxy_unique_id);
	server_words_free(&words);
	s = good("10.0.0.1:80 check inter 250 fastinter 1s downinter 2m rise 3 fall 4 addr 10.0.0.9");
	assert_true(s->check);
	assert_int_equal(s->check_interval_ns, 250 * NS_PER_MS);
	assert_int_equal(s->check_fast_ns, NS_PER_SEC);
	assert_int_equal(s->check_down_ns, 120 * NS_PER_SEC);
	assert_int_equal(s->check_rise, 3);
	assert_int_equal(s->check_fall, 4);
	assert_int_equal(words.check_addr.sa.sa_family, AF_INET);
	server_words_free(&words);
}

static void last_word_counts(void **state)
{
	const struct config_server *s;

	(void)state;
	s = good("10.0.0.1:80 weight 7 weight 8 backup no-backup send-proxy no-send-proxy disabled enabled");
	assert_int_equal(s->weight, 8);
	assert_false(s->backup);
	assert_int_equal(s->send_proxy, CONFIG_SEND_PROXY_OFF);
	assert_true(words.enabled);
	server_words_free(&words);
}

static void addresses_are_haproxys(void **state)
{
	(void)state;
	assert_int_equal(good("::1:80")->addr.addr.sa.sa_family, AF_INET6);
	server_words_free(&words);
	assert_int_equal(good("unix@/run/a")->addr.kind, ADDR_UNIX);
	server_words_free(&words);
	assert_int_equal(good("name:80")->addr.kind, ADDR_NAME);
	server_words_free(&words);
	assert_refused("10.0.0.1:80-90", "port range not permitted here in '10.0.0.1:80-90'");
	assert_refused("10.0.0.1:70000", "invalid port '70000'");
	assert_refused("10.0.0.1:x", "invalid character 'x' in port number 'x' in '10.0.0.1:x'\n");
	assert_refused("fd@3", "fd@ is for 'bind': a server cannot be an inherited socket");
}

static void sources_are_haproxys(void **state)
{
	(void)state;
	assert_int_equal(good("10.0.0.1:80 source 10.0.0.9")->source.count, 1);
	server_words_free(&words);
	assert_int_equal(good("10.0.0.1:80 source 0.0.0.0 weight 2")->source.count, 0);
	assert_int_equal(words.config.weight, 2);
	server_words_free(&words);
	assert_true(good("10.0.0.1:80 source 0.0.0.0 usesrc clientip weight 2")->source.client);
	assert_int_equal(words.config.weight, 2);
	server_words_free(&words);
	assert_refused("[::1]:80 source 10.0.0.9", "server and source are of different families");
	assert_refused("10.0.0.1:80 usesrc client", "'usesrc' only allowed after a 'source' statement..");
}

static void refusals_are_haproxys(void **state)
{
	(void)state;
	assert_refused("10.0.0.1:80 nonsense", "unknown keyword 'nonsense'.");
	assert_refused("10.0.0.1:80 wieght 2", "unknown keyword 'wieght'; did you mean 'weight' maybe ?");
	assert_refused("10.0.0.1:80 weight=2", "unknown keyword 'weight=2'; did you mean 'weight' maybe ?");
	assert_refused("10.0.0.1:80 cookie x", "'cookie' option is not accepted for dynamic server");
	assert_refused("10.0.0.1:80 ssl",
		       "'ssl' option is not implemented in this version (check build options)");
	assert_refused("10.0.0.1:80 inter", "'inter' expects a delay as argument..");
	assert_refused("10.0.0.1:80 rise 0", "'rise' has to be > 0..");
	assert_refused("10.0.0.1:80 weight x", "'weight' needs a number");
	assert_refused("10.0.0.1:80 maxconn 999999999",
		       "'maxconn' is 999999999; allowed: 0 to 100000000");
}

static void words_of_the_section_hold_where_they_are_the_same(void **state)
{
	(void)state;
	assert_refused("10.0.0.1:80 observe layer4",
		       "'observe' option is not implemented in this version (check build options)");
	assert_refused("10.0.0.1:80 on-marked-down shutdown-sessions",
		       "'on-marked-down' option is not implemented in this version (check build options)");
	backend.observe.what = CONFIG_OBSERVE_CONNECT;
	backend.on_marked_down = CONFIG_MARKED_DOWN_CLOSE;
	(void)good("10.0.0.1:80 observe layer4 on-marked-down shutdown-sessions");
	server_words_free(&words);
	backend.observe.what = CONFIG_OBSERVE_OFF;
	backend.on_marked_down = CONFIG_MARKED_DOWN_KEEP;
}

static void our_words_are_taken_by_our_own_verbs(void **state)
{
	(void)state;
	assert_int_equal(read_as("s", "10.0.0.1:80 weight=2 check", true), 0);
	assert_int_equal(words.config.weight, 2);
	assert_true(words.config.check);
	server_words_free(&words);
	assert_int_equal(read_as("s", "10.0.0.1:80 wieght=2", true), -EINVAL);
	assert_non_null(strstr(words.ours, "did you mean 'weight'?"));
	server_words_free(&words);
}

/* The words come from a socket: nobody may read our environment by them. */
static void variables_and_quotes_mean_nothing(void **state)
{
	(void)state;
	assert_int_equal(setenv("WEIR_TEST_SECRET", "10.0.0.1:80", 1), 0);
	assert_int_not_equal(read_as("s", "${WEIR_TEST_SECRET}", true), 0);
	assert_null(strstr(words.ours, "10.0.0.1"));
	server_words_free(&words);
	assert_int_not_equal(read_as("s", "\"10.0.0.1:80\"", true), 0);
	server_words_free(&words);
}

static void names_are_those_of_a_file(void **state)
{
	char longest[CONFIG_NAME_MAX + 1];

	(void)state;
	assert_int_equal(read_as("a b", "10.0.0.1:80", false), -EINVAL);
	assert_string_equal(words.haproxy, "character ' ' is not permitted in server name 'a b'.");
	server_words_free(&words);
	assert_int_equal(read_as("", "10.0.0.1:80", true), -EINVAL);
	assert_string_equal(words.ours, "the server has no name; write BACKEND/SERVER");
	server_words_free(&words);
	memset(longest, 'a', CONFIG_NAME_MAX);
	longest[CONFIG_NAME_MAX] = '\0';
	assert_int_equal(read_as(longest, "10.0.0.1:80", false), -EINVAL);
	server_words_free(&words);
	longest[CONFIG_NAME_MAX - 1] = '\0';
	assert_int_equal(read_as(longest, "10.0.0.1:80", false), 0);
	server_words_free(&words);
}

static void each_allocation_may_fail(void **state)
{
	static const char *const lines[] = {
		"10.0.0.1:80 weight 7 check inter 2s rise 2 addr 10.0.0.9 source 10.0.0.8",
		"10.0.0.1:80 weight 7 cookie x",
		"10.0.0.1:80 maxconn 999999999",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		const int right = i == 0 ? 0 : -EINVAL;
		const long had = allocated;
		long number = 0;
		int err = -ENOMEM;

		for (; err == -ENOMEM; number++) {
			fail_allocations_from(number);
			err = read_as("s", lines[i], false);
			fail_allocations_from(-1);
			assert_true(err == -ENOMEM || err == right);
			server_words_free(&words);
			assert_int_equal(allocated, had);
		}
		assert_true(number > 10);
		assert_int_equal(err, right);
	}
}

static void times_are_haproxys(void **state)
{
	static const struct {
		const char *text;
		enum haproxy_time what;
		int64_t ms;
		char stray;
	} table[] = {
		{"0", HAPROXY_TIME_FINE, 0, 0},		 {"5", HAPROXY_TIME_FINE, 5, 0},
		{"5ms", HAPROXY_TIME_FINE, 5, 0},	 {"5s", HAPROXY_TIME_FINE, 5000, 0},
		{"1us", HAPROXY_TIME_FINE, 1, 0},	 {"1001us", HAPROXY_TIME_FINE, 2, 0},
		{"2m", HAPROXY_TIME_FINE, 120000, 0},	 {"1h", HAPROXY_TIME_FINE, 3600000, 0},
		{"24d", HAPROXY_TIME_FINE, 2073600000, 0}, {"25d", HAPROXY_TIME_OVER, 0, 0},
		{"2147483647", HAPROXY_TIME_FINE, 2147483647, 0},
		{"2147483648", HAPROXY_TIME_OVER, 0, 0}, {"99999999999999999999", HAPROXY_TIME_OVER, 0, 0},
		{"x", HAPROXY_TIME_BAD, 0, 'x'},	 {"5x", HAPROXY_TIME_BAD, 0, 'x'},
		{"", HAPROXY_TIME_BAD, 0, '\0'},	 {"-1", HAPROXY_TIME_BAD, 0, '-'},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *stray = NULL;
		int64_t ms = 0;

		assert_int_equal(haproxy_time(table[i].text, &ms, &stray), table[i].what);
		assert_int_equal(ms, table[i].ms);
		if (table[i].what == HAPROXY_TIME_BAD)
			assert_int_equal(*stray, table[i].stray);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_has_its_meaning),
		cmocka_unit_test(last_word_counts),
		cmocka_unit_test(addresses_are_haproxys),
		cmocka_unit_test(sources_are_haproxys),
		cmocka_unit_test(refusals_are_haproxys),
		cmocka_unit_test(words_of_the_section_hold_where_they_are_the_same),
		cmocka_unit_test(our_words_are_taken_by_our_own_verbs),
		cmocka_unit_test(variables_and_quotes_mean_nothing),
		cmocka_unit_test(names_are_those_of_a_file),
		cmocka_unit_test(each_allocation_may_fail),
		cmocka_unit_test(times_are_haproxys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
