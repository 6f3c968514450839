/* SPDX-License-Identifier: MIT
 *
 * test_host_pattern.c - host patterns read, refused, printed, matched and compared.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slow_host.h"
#include "weir/net/host_pattern.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define TEN "abcdefghij"
#define LABEL_63 TEN TEN TEN TEN TEN TEN "abc"
#define NAME_253 LABEL_63 "." LABEL_63 "." LABEL_63 "." TEN TEN TEN TEN TEN TEN "a"

struct good {
	const char *text;
	enum host_reach reach;
	const char *printed;
};

static const struct good good[] = {
	{"a.example.com", HOST_EXACT, "a.example.com"},
	{"A.Example.COM", HOST_EXACT, "a.example.com"},
	{"a.example.com.", HOST_EXACT, "a.example.com"},
	{"*.example.com", HOST_BELOW, "*.example.com"},
	{"*.Example.com.", HOST_BELOW, "*.example.com"},
	{".example.com", HOST_DOMAIN, ".example.com"},
	{".example.com.", HOST_DOMAIN, ".example.com"},
	{"*.com", HOST_BELOW, "*.com"},
	{"localhost", HOST_EXACT, "localhost"},
	{"a", HOST_EXACT, "a"},
	{"1-a.2--b.3", HOST_EXACT, "1-a.2--b.3"},
	{"xn--bcher-kva.example", HOST_EXACT, "xn--bcher-kva.example"},
	{"_my_host.example.com", HOST_EXACT, "_my_host.example.com"},
	{"192.0.2.7", HOST_EXACT, "192.0.2.7"},
	{LABEL_63, HOST_EXACT, LABEL_63},
	{NAME_253, HOST_EXACT, NAME_253},
	{"*." NAME_253 ".", HOST_BELOW, "*." NAME_253},
};

struct bad {
	const char *text;
	const char *why; /* part of it */
};

static const struct bad bad[] = {
	{"", "name is missing"},
	{".", "name is missing"},
	{"*.", "name is missing"},
	{"..", "label is empty"},
	{"..example.com", "label is empty"},
	{"a..example.com", "label is empty"},
	{"a.example.com..", "label is empty"},
	{"*..example.com", "label is empty"},
	{"*", "whole first label: write *.example.com"},
	{"**.example.com", "whole first label"},
	{"*a.example.com", "whole first label"},
	{"a*.example.com", "whole first label"},
	{"a.*.example.com", "whole first label"},
	{"*.*.example.com", "whole first label"},
	{".*.example.com", "whole first label"},
	{"example.*", "whole first label"},
	{"-a.example.com", "begin or end with '-'"},
	{"a-.example.com", "begin or end with '-'"},
	{"a.-", "begin or end with '-'"},
	{"a.example.com:443", "without a port"},
	{"2001:db8::1", "IPv6 address"},
	{"[2001:db8::1]", "IPv6 address"},
	{"https://a.example.com", "without a port"},
	{"a.example.com/", "without a scheme or a path"},
	{"b\xc3\xbc" "cher.example", "ASCII form"},
	{"a example.com", "blanks"},
	{"a.example.com ", "blanks"},
	{"a\texample.com", "control characters"},
	{"a\x7f.example.com", "control characters"},
	{"~^www\\d+$", "'~' cannot be in a host name"},
	{"a,b", "',' cannot be in a host name"},
	{"!a.example.com", "'!' cannot be"},
	{LABEL_63 "d", "at most 63"},
	{"*." LABEL_63 "d.example.com", "at most 63"},
	{NAME_253 "b", "at most 253"},
	{"*." NAME_253 "b", "at most 253"},
	{"." NAME_253 "b.", "at most 253"},
};

static struct host_pattern parsed(const char *text)
{
	struct host_pattern p;
	const char *why = NULL;

	if (host_pattern_parse(text, &p, &why) != 0)
		fail_msg("'%s': %s", text, why);
	return p;
}

static void each_good_form_is_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct host_pattern p = parsed(good[i].text);
		char buf[HOST_PATTERN_TEXT_MAX];
		struct host_pattern again;

		assert_int_equal(p.reach, good[i].reach);
		assert_int_equal(strlen(p.name), p.len);
		assert_string_equal(host_pattern_format(&p, buf), good[i].printed);
		again = parsed(buf);
		assert_memory_equal(&again, &p, sizeof(p));
	}
}

static void each_bad_form_is_refused_with_a_hint(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct host_pattern p;
		const char *why = NULL;

		if (host_pattern_parse(bad[i].text, &p, &why) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i].text);
		if (strstr(why, bad[i].why) == NULL)
			fail_msg("'%s' is refused: %s", bad[i].text, why);
	}
}

/* Each byte in each kind of place: what is accepted is a letter, a digit, '-' or '_', and nothing else. */
static void each_byte_is_accepted_only_where_a_name_can_have_it(void **state)
{
	static const char letters[] = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		const bool in_label = strchr(letters, (int)c) != NULL;
		const char inside[] = {'a', (char)c, 'b', '\0'}, alone[] = {(char)c, '\0'};
		struct host_pattern p;
		const char *why = NULL;

		assert_int_equal(host_pattern_parse(inside, &p, &why) == 0, in_label || c == '.');
		assert_int_equal(host_pattern_parse(alone, &p, &why) == 0, in_label && c != '-');
		if (c == '-')
			continue;
		for (const char *w = why; w != NULL && *w != '\0'; w++)
			assert_true(*w >= ' ' && *w <= '~');
	}
}

struct match {
	const char *pattern;
	const char *name;
	bool matches;
};

static const struct match matches[] = {
	{"a.example.com", "a.example.com", true},
	{"a.example.com", "b.example.com", false},
	{"a.example.com", "x.a.example.com", false},
	{"a.example.com", "example.com", false},
	{"a.example.com", "", false},
	{"*.example.com", "a.example.com", true},
	{"*.example.com", "a.b.c.example.com", true},
	{"*.example.com", "example.com", false},
	{"*.example.com", ".example.com", false},
	{"*.example.com", "badexample.com", false},
	{"*.example.com", "a.example.com.evil.test", false},
	{"*.example.com", "a.example.comx", false},
	{"*.example.com", "\"';%.example.com", true},
	{".example.com", "example.com", true},
	{".example.com", "a.example.com", true},
	{".example.com", ".example.com", false},
	{".example.com", "badexample.com", false},
	{".example.com", "com", false},
	{"*.com", "com", false},
	{"*.com", "a.com", true},
	{"*." NAME_253, "a." NAME_253, true},
};

static void each_name_matches_as_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		const struct match *m = &matches[i];
		const struct host_pattern p = parsed(m->pattern);

		if (host_pattern_matches(&p, m->name, strlen(m->name)) != m->matches)
			fail_msg("'%s' and '%s'", m->pattern, m->name);
		assert_int_equal(slow_matches(m->pattern, m->name), m->matches);
	}
}

static void small_names_match_as_by_definition(void **state)
{
	char pattern[16], name[16];

	(void)state;
	for (unsigned i = 0; slow_nth_pattern(i, pattern); i++) {
		const struct host_pattern p = parsed(pattern);

		for (unsigned j = 0; slow_nth_name(j, name); j++)
			if (host_pattern_matches(&p, name, strlen(name)) != slow_matches(pattern, name))
				fail_msg("'%s' and '%s'", pattern, name);
	}
}

static void a_pattern_covers_another_when_it_matches_all_its_names(void **state)
{
	char wide[16], narrow[16], name[16];

	(void)state;
	for (unsigned i = 0; slow_nth_pattern(i, wide); i++) {
		const struct host_pattern w = parsed(wide);

		for (unsigned j = 0; slow_nth_pattern(j, narrow); j++) {
			const struct host_pattern n = parsed(narrow);
			bool covers = true;

			for (unsigned k = 0; slow_nth_name(k, name); k++)
				if (slow_matches(narrow, name) && !slow_matches(wide, name))
					covers = false;
			if (host_pattern_covers(&w, &n) != covers)
				fail_msg("'%s' and '%s'", wide, narrow);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_good_form_is_read_and_printed),
		cmocka_unit_test(each_bad_form_is_refused_with_a_hint),
		cmocka_unit_test(each_byte_is_accepted_only_where_a_name_can_have_it),
		cmocka_unit_test(each_name_matches_as_the_table_says),
		cmocka_unit_test(small_names_match_as_by_definition),
		cmocka_unit_test(a_pattern_covers_another_when_it_matches_all_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
