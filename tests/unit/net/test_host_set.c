/* SPDX-License-Identifier: MIT
 *
 * test_host_set.c - sets of host patterns against the patterns tried one by one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slow_host.h"
#include "weir/net/host_set.h"

#define SETS 2000
#define MANY 100000u

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static struct host_pattern parsed(const char *text)
{
	struct host_pattern p;
	const char *why = NULL;

	if (host_pattern_parse(text, &p, &why) != 0)
		fail_msg("'%s': %s", text, why);
	return p;
}

static bool has(const struct host_set *set, const char *name)
{
	return host_set_has(set, name, strlen(name));
}

static void a_set_matches_what_its_patterns_match(void **state)
{
	const struct host_pattern patterns[] = {parsed("a.example.com"), parsed("*.example.net"),
						parsed(".example.org"), parsed("a.example.com")};
	struct host_set *set = host_set_new(patterns, 4);

	(void)state;
	assert_non_null(set);
	assert_true(has(set, "a.example.com"));
	assert_false(has(set, "b.example.com"));
	assert_false(has(set, "x.a.example.com"));
	assert_true(has(set, "x.y.example.net"));
	assert_false(has(set, "example.net"));
	assert_false(has(set, ".example.net"));
	assert_true(has(set, "example.org"));
	assert_true(has(set, "x.example.org"));
	assert_false(has(set, "badexample.org"));
	assert_false(has(set, ""));
	assert_false(has(set, "."));
	host_set_free(set);
}

static void an_empty_set_matches_nothing(void **state)
{
	const struct host_pattern p = parsed("*.example.com");
	struct host_set *set = host_set_new(NULL, 0);
	struct host_pattern wide;

	(void)state;
	assert_non_null(set);
	assert_false(has(set, "a.example.com"));
	assert_false(host_set_covers(set, &p, &wide));
	host_set_free(set);
	host_set_free(NULL);
}

static void a_name_as_long_as_a_hello_allows_is_looked_up(void **state)
{
	const struct host_pattern p = parsed("*.a.a");
	struct host_set *set = host_set_new(&p, 1);
	char name[256];

	(void)state;
	for (size_t i = 0; i < 255; i++)
		name[i] = i % 2 == 0 ? 'a' : '.';
	name[255] = '\0';
	assert_true(has(set, name));
	memset(name, '.', 255);
	assert_false(has(set, name));
	memset(name, '\xff', 255);
	assert_false(has(set, name));
	host_set_free(set);
}

struct some {
	char texts[8][16];
	struct host_pattern patterns[8];
	size_t count;
};

static void choose_some(struct some *s)
{
	s->count = random_next() % 8;
	for (size_t i = 0; i < s->count; i++) {
		assert_true(slow_nth_pattern((unsigned)(random_next() % SLOW_PATTERNS), s->texts[i]));
		s->patterns[i] = parsed(s->texts[i]);
	}
}

static void check_names(const struct some *s, const struct host_set *set)
{
	char name[16];

	for (unsigned i = 0; slow_nth_name(i, name); i++) {
		bool expected = false;

		for (size_t k = 0; k < s->count; k++)
			expected = expected || slow_matches(s->texts[k], name);
		assert_int_equal(has(set, name), expected);
	}
}

/* All names of a pattern are in the set, and the pattern that covers it is made of the set's own. */
static void check_covers(const struct some *s, const struct host_set *set)
{
	char text[16], name[16];

	for (unsigned i = 0; slow_nth_pattern(i, text); i++) {
		const struct host_pattern narrow = parsed(text);
		struct host_pattern wide;
		bool expected = true;

		for (unsigned n = 0; expected && slow_nth_name(n, name); n++)
			expected = !slow_matches(text, name) || has(set, name);
		if (host_set_covers(set, &narrow, &wide) != expected)
			fail_msg("'%s' in a set of %zu", text, s->count);
		if (!expected)
			continue;
		assert_true(host_pattern_covers(&wide, &narrow));
		for (unsigned n = 0; slow_nth_name(n, name); n++)
			if (host_pattern_matches(&wide, name, strlen(name)))
				assert_true(has(set, name));
	}
}

static void random_sets_answer_as_their_patterns_one_by_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SETS; i++) {
		struct some s;
		struct host_set *set;

		choose_some(&s);
		set = host_set_new(s.patterns, s.count);
		assert_non_null(set);
		check_names(&s, set);
		if (i % 8 == 0)
			check_covers(&s, set);
		host_set_free(set);
	}
}

static void a_hundred_thousand_names_are_told_apart(void **state)
{
	struct host_pattern *patterns = calloc(MANY, sizeof(*patterns));
	struct host_set *set;
	char name[64];

	(void)state;
	assert_non_null(patterns);
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "%shost-%u.example.com", i % 2 == 0 ? "*." : "", i);
		patterns[i] = parsed(name);
	}
	set = host_set_new(patterns, MANY);
	free(patterns);
	assert_non_null(set);
	for (unsigned i = 0; i < 2 * MANY; i++) {
		(void)snprintf(name, sizeof(name), "a.b.host-%u.example.com", i);
		assert_int_equal(has(set, name), i < MANY && i % 2 == 0);
		assert_int_equal(has(set, name + 4), i < MANY && i % 2 != 0);
	}
	host_set_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_matches_what_its_patterns_match),
		cmocka_unit_test(an_empty_set_matches_nothing),
		cmocka_unit_test(a_name_as_long_as_a_hello_allows_is_looked_up),
		cmocka_unit_test(random_sets_answer_as_their_patterns_one_by_one),
		cmocka_unit_test(a_hundred_thousand_names_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
