/* SPDX-License-Identifier: MIT
 *
 * test_addr_reach.c - which listening addresses overlap, and which cover others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/net/addr_reach.h"

struct pair {
	const char *a, *b; /* "only " in front: v6only */
	bool overlap;
	bool covers; /* a covers b */
	bool covered;
};

static const struct pair pairs[] = {
	{"0.0.0.0:80", "10.0.0.1:80", true, true, false},
	{"10.0.0.1:80", "10.0.0.1:80", true, false, false},
	{"10.0.0.1:80", "10.0.0.2:80", false, false, false},
	{"0.0.0.0:80", "0.0.0.0:80", true, true, true},
	{"0.0.0.0:80", "10.0.0.1:81", false, false, false},
	{"0.0.0.0:0", "0.0.0.0:0", false, false, false},
	{":80", "10.0.0.1:80", true, true, false},
	{":80", "0.0.0.0:80", true, true, false},
	{":80", "[::1]:80", true, true, false},
	{":80", ":80", true, true, true},
	{":80", "only [::]:80", true, true, false},
	{"only [::]:80", "only [::]:80", true, true, true},
	{"only [::]:80", "[::1]:80", true, true, false},
	{"only [::]:80", "10.0.0.1:80", false, false, false},
	{"only [::]:80", "0.0.0.0:80", false, false, false},
	{"only [::]:80", "[::ffff:10.0.0.1]:80", false, false, false},
	{"[::1]:80", "[::1]:80", true, false, false},
	{"[::1]:80", "[::2]:80", false, false, false},
	{"[::1]:80", "0.0.0.0:80", false, false, false},
	{"[::1]:80", "10.0.0.1:80", false, false, false},
	{"[::ffff:10.0.0.1]:80", "10.0.0.1:80", true, false, false},
	{"[::ffff:10.0.0.1]:80", "10.0.0.2:80", false, false, false},
	{"0.0.0.0:80", "[::ffff:10.0.0.1]:80", true, true, false},
	{"unix:/run/a", "unix:/run/a", false, false, false},
	{"unix:/run/a", ":80", false, false, false},
};

static struct addr_reach reach(const char *text, struct addr_spec *spec)
{
	struct addr_reach r = {.addr = &spec->addr};

	if (text[0] == 'o') {
		r.v6only = true;
		text += sizeof("only ") - 1;
	}
	assert_int_equal(addr_parse(text, spec, NULL, NULL), 0);
	return r;
}

static void addresses_overlap_and_cover_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct pair *p = &pairs[i];
		struct addr_spec x, y;
		const struct addr_reach a = reach(p->a, &x), b = reach(p->b, &y);

		if (addr_overlaps(&a, &b) != p->overlap || addr_overlaps(&b, &a) != p->overlap ||
		    addr_covers(&a, &b) != p->covers || addr_covers(&b, &a) != p->covered)
			fail_msg("%s and %s: overlap %d, covers %d, is covered %d", p->a, p->b,
				 addr_overlaps(&a, &b), addr_covers(&a, &b), addr_covers(&b, &a));
	}
}

/* Of two wildcards, or of two that are the same address, none is. */
static void one_address_is_narrower_than_the_wildcard_that_covers_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const struct pair *p = &pairs[i];
		struct addr_spec x, y;
		const struct addr_reach a = reach(p->a, &x), b = reach(p->b, &y);
		const bool is_other_wild = addr_covers(&b, &b);

		assert_int_equal(addr_is_narrower(&b, &a), p->covers && !is_other_wild);
		assert_int_equal(addr_is_narrower(&a, &b), false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_overlap_and_cover_others),
		cmocka_unit_test(one_address_is_narrower_than_the_wildcard_that_covers_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
