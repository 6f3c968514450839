/* SPDX-License-Identifier: MIT
 *
 * test_netset.c - networks read, refused and printed; sets of them against a slow reference.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_address.h"
#include "weir/net/netset.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

struct good {
	const char *text;
	uint16_t family;
	uint8_t bits;
	const char *printed;
};

static const struct good good[] = {
	{"10.0.0.0/8", AF_INET, 8, "10.0.0.0/8"},
	{"0.0.0.0/0", AF_INET, 0, "0.0.0.0/0"},
	{"192.0.2.7", AF_INET, 32, "192.0.2.7"},
	{"192.0.2.7/32", AF_INET, 32, "192.0.2.7"},
	{"192.0.2.6/31", AF_INET, 31, "192.0.2.6/31"},
	{"255.255.255.255", AF_INET, 32, "255.255.255.255"},
	{"::/0", AF_INET6, 0, "::/0"},
	{"2001:db8::/32", AF_INET6, 32, "2001:db8::/32"},
	{"2001:DB8:0:0::/33", AF_INET6, 33, "2001:db8::/33"},
	{"::1", AF_INET6, 128, "::1"},
	{"::1/128", AF_INET6, 128, "::1"},
	{"fe80::/10", AF_INET6, 10, "fe80::/10"},
	{"::ffff:10.0.0.0/104", AF_INET, 8, "10.0.0.0/8"},
	{"::ffff:0.0.0.0/96", AF_INET, 0, "0.0.0.0/0"},
	{"::ffff:a00:1", AF_INET, 32, "10.0.0.1"},
	{"::fffe:0:0/95", AF_INET6, 95, "::fffe:0:0/95"},
};

struct bad {
	const char *text;
	const char *why; /* part of it */
};

static const struct bad bad[] = {
	{"", "address is missing"},
	{"/8", "address is missing"},
	{"10.0.0.1/8", "bits are set after the prefix: write 10.0.0.0/8"},
	{"10.0.0.1/31", "write 10.0.0.0/31"},
	{"128.0.0.0/0", "write 0.0.0.0/0"},
	{"2001:db8::1/32", "write 2001:db8::/32"},
	{"2001:db8:8000::/32", "write 2001:db8::/32"},
	{"::ffff:10.0.0.1/104", "write ::ffff:10.0.0.0/104"},
	{"::ffff:10.0.0.0/95", "write ::fffe:0:0/95"},
	{"10.0.0.0/33", "from 0 to 32"},
	{"10.0.0.0/", "from 0 to 32"},
	{"10.0.0.0/-1", "from 0 to 32"},
	{"10.0.0.0/+8", "from 0 to 32"},
	{"10.0.0.0/08", "from 0 to 32"},
	{"10.0.0.0/8 ", "from 0 to 32"},
	{"10.0.0.0/8/8", "from 0 to 32"},
	{"10.0.0.0/99999999999999999999", "from 0 to 32"},
	{"10.0.0.0/255.0.0.0", "from 0 to 32"},
	{"::/129", "from 0 to 128"},
	{"::/x", "from 0 to 128"},
	{"10.0.0/24", "four numbers"},
	{"010.0.0.0/8", "four numbers"},
	{"10.0.0.256", "four numbers"},
	{"10", "four numbers"},
	{"10.0.0.1:80", "cannot have a port"},
	{"[::1]", "without brackets"},
	{"[2001:db8::]/32", "without brackets"},
	{"fe80::%lo/64", "cannot have an interface"},
	{"1:2:3", "not a valid IPv6"},
	{"2001:db8::g/32", "not a valid IPv6"},
	{"example.com", "names are not looked up"},
	{" 10.0.0.0/8", "names are not looked up"},
	{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/8", "not a valid address or network"},
};

static void each_good_form_is_read_and_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct good *g = &good[i];
		struct net_prefix p, again;
		char buf[NETSET_TEXT_MAX];
		const char *why = NULL;

		if (net_prefix_parse(g->text, &p, &why) != 0)
			fail_msg("'%s': %s", g->text, why);
		if (strcmp(net_prefix_format(&p, buf), g->printed) != 0)
			fail_msg("'%s' is printed as '%s'", g->text, buf);
		assert_int_equal(p.family, g->family);
		assert_int_equal(p.bits, g->bits);
		assert_int_equal(net_prefix_parse(buf, &again, &why), 0);
		assert_memory_equal(&again, &p, sizeof(p));
	}
}

static void each_bad_form_is_refused_with_a_hint(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct net_prefix p;
		const char *why = NULL;

		if (net_prefix_parse(bad[i].text, &p, &why) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i].text);
		if (strstr(why, bad[i].why) == NULL)
			fail_msg("'%s' is refused: %s", bad[i].text, why);
	}
}

/* ---- sets ---- */

static struct netset *set_of(const char *const *texts, size_t count)
{
	struct net_prefix *p = calloc(count + 1, sizeof(*p));
	struct netset *set;
	const char *why;

	assert_non_null(p);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(net_prefix_parse(texts[i], &p[i], &why), 0);
	set = netset_new(p, count);
	assert_non_null(set);
	free(p);
	return set;
}

static bool has(const struct netset *set, const char *text)
{
	const struct addr_brief a = text_address(text);

	return netset_has(set, &a);
}

static void a_network_has_its_first_and_last_address_and_no_neighbour(void **state)
{
	static const char *const texts[] = {"10.0.0.0/8",    "192.0.2.7",      "10.2.0.0/16", "192.0.2.8/29",
					    "2001:db8::/32", "2001:db9::1/128", "fe80::/10"};
	struct netset *set = set_of(texts, ARRAY_LEN(texts));

	(void)state;
	assert_true(has(set, "10.0.0.0"));
	assert_true(has(set, "10.255.255.255"));
	assert_false(has(set, "9.255.255.255"));
	assert_false(has(set, "11.0.0.0"));
	assert_false(has(set, "192.0.2.6"));
	assert_true(has(set, "192.0.2.7"));
	assert_true(has(set, "192.0.2.15"));
	assert_false(has(set, "192.0.2.16"));
	assert_false(has(set, "255.255.255.255"));
	assert_false(has(set, "0.0.0.0"));
	assert_true(has(set, "2001:db8::"));
	assert_true(has(set, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(set, "2001:db9::"));
	assert_true(has(set, "2001:db9::1"));
	assert_false(has(set, "2001:db9::2"));
	assert_true(has(set, "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_false(has(set, "fec0::"));
	assert_false(has(set, "::a00:1"));
	netset_free(set);
}

static void the_families_are_apart_but_a_mapped_client_is_ipv4(void **state)
{
	static const char *const four[] = {"0.0.0.0/0"};
	static const char *const six[] = {"::/0"};
	struct netset *set = set_of(four, 1);

	(void)state;
	assert_true(has(set, "255.255.255.255"));
	assert_true(has(set, "0.0.0.0"));
	assert_true(has(set, "::ffff:10.0.0.1"));
	assert_false(has(set, "::"));
	assert_false(has(set, "::1:ffff:10.0.0.1"));
	netset_free(set);
	set = set_of(six, 1);
	assert_true(has(set, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	assert_true(has(set, "::"));
	assert_false(has(set, "10.0.0.1"));
	assert_false(has(set, "::ffff:10.0.0.1"));
	netset_free(set);
}

static void an_empty_set_has_nobody_and_a_unix_client_is_in_none(void **state)
{
	static const char *const all[] = {"0.0.0.0/0", "::/0"};
	const struct addr_brief unix_client = {.family = AF_UNIX};
	struct netset *set = netset_new(NULL, 0);

	(void)state;
	assert_non_null(set);
	assert_false(has(set, "0.0.0.0"));
	assert_false(has(set, "::"));
	netset_free(set);
	set = set_of(all, ARRAY_LEN(all));
	assert_false(netset_has(set, &unix_client));
	netset_free(set);
	netset_free(NULL);
}

/* ---- against a slow reference ---- */

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Few different bytes, so that networks overlap and touch and questions hit. */
static void random_ip(uint16_t family, uint8_t ip[16])
{
	static const uint8_t bytes[] = {0, 0, 1, 10, 127, 128, 254, 255};

	memset(ip, 0, 16);
	for (size_t i = 0; i < (family == AF_INET ? 4u : 16u); i++)
		ip[i] = random_next() % 4 == 0 ? (uint8_t)random_next() : bytes[random_next() % 8];
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++)
		if (((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

static bool slow_has(const struct net_prefix *p, size_t count, const struct addr_brief *a)
{
	for (size_t i = 0; i < count; i++)
		if (p[i].family == a->family && same_bits(p[i].ip, a->ip, p[i].bits))
			return true;
	return false;
}

static void random_prefix(struct net_prefix *p, unsigned shortest)
{
	memset(p, 0, sizeof(*p));
	p->family = random_next() % 2 == 0 ? AF_INET : AF_INET6;
	if (p->family == AF_INET)
		p->bits = (uint8_t)(shortest + random_next() % (33 - shortest));
	else
		p->bits = (uint8_t)(4 * shortest + random_next() % (129 - 4 * shortest));
	random_ip(p->family, p->ip);
	for (unsigned i = p->bits; i < 128; i++)
		p->ip[i / 8] &= (uint8_t)~(0x80 >> i % 8);
}

/* The address of a prefix, one before it, or one behind it, or any. */
static struct addr_brief random_question(const struct net_prefix *p, size_t count)
{
	const struct net_prefix *near = &p[random_next() % count];
	struct addr_brief a = {.family = near->family};
	unsigned at = near->family == AF_INET ? 4 : 16;
	const uint64_t kind = random_next() % 4;

	if (kind == 0) {
		random_ip(a.family, a.ip);
		return a;
	}
	memcpy(a.ip, near->ip, sizeof(a.ip));
	if (kind == 1)
		return a;
	for (unsigned i = near->bits; i < at * 8 && kind == 3; i++)
		a.ip[i / 8] |= (uint8_t)(0x80 >> i % 8);
	/* Minus one below the first, plus one behind the last: a carry wraps, which is an address too. */
	while (at-- > 0) {
		a.ip[at] = (uint8_t)(kind == 2 ? a.ip[at] - 1 : a.ip[at] + 1);
		if (a.ip[at] != (kind == 2 ? 0xff : 0x00))
			break;
	}
	return a;
}

static void compare(size_t count, unsigned shortest, unsigned questions, unsigned hits[2])
{
	struct net_prefix *p = calloc(count, sizeof(*p));
	struct netset *set;

	assert_non_null(p);
	for (size_t i = 0; i < count; i++)
		random_prefix(&p[i], shortest);
	set = netset_new(p, count);
	assert_non_null(set);
	for (unsigned i = 0; i < questions; i++) {
		const struct addr_brief a = random_question(p, count);
		const bool wanted = slow_has(p, count, &a);

		if (netset_has(set, &a) != wanted)
			fail_msg("question %u of a set of %zu: the slow one says %d", i, count, wanted);
		hits[wanted]++;
	}
	netset_free(set);
	free(p);
}

static void many_small_sets_agree_with_the_slow_reference(void **state)
{
	unsigned hits[2] = {0, 0};

	(void)state;
	for (unsigned round = 0; round < 2000; round++)
		compare(1 + random_next() % 12, (unsigned)(random_next() % 12), 50, hits);
	assert_true(hits[0] > 10000 && hits[1] > 10000);
}

static void ten_thousand_prefixes_agree_with_the_slow_reference(void **state)
{
	unsigned hits[2] = {0, 0};

	(void)state;
	compare(10000, 14, 2000, hits);
	assert_true(hits[0] > 200 && hits[1] > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_good_form_is_read_and_printed),
		cmocka_unit_test(each_bad_form_is_refused_with_a_hint),
		cmocka_unit_test(a_network_has_its_first_and_last_address_and_no_neighbour),
		cmocka_unit_test(the_families_are_apart_but_a_mapped_client_is_ipv4),
		cmocka_unit_test(an_empty_set_has_nobody_and_a_unix_client_is_in_none),
		cmocka_unit_test(many_small_sets_agree_with_the_slow_reference),
		cmocka_unit_test(ten_thousand_prefixes_agree_with_the_slow_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
