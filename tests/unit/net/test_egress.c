/* SPDX-License-Identifier: MIT
 *
 * test_egress.c - names that clients choose and addresses that name servers give: judged one by one, and a
 * million of each against a slow reference that knows the networks from a list of its own.
 */
#include <arpa/inet.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/net/egress.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MANY	     1000000u

static uint64_t random_state = 88172645463325252u;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static bool reads(const char *name, size_t len)
{
	char out[EGRESS_NAME_MAX];

	return egress_name_read((const uint8_t *)name, len, out);
}

/* ---- names ---- */

static void names_that_dns_alone_can_mean_are_read_in_lower_case(void **state)
{
	static const char *const good[] = {"a.b", "www.example.com", "xn--bcher-kva.example", "3com.net",
					   "1.2.3.4a", "a--b.c-d", "0xfg.0xg", "127.0.0.1.example.com",
					   "localhost.example"};
	char out[EGRESS_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!reads(good[i], strlen(good[i])))
			fail_msg("%s", good[i]);
	assert_true(egress_name_read((const uint8_t *)"WWW.Example.COM", 15, out));
	assert_string_equal(out, "www.example.com");
}

static void numbers_single_labels_and_other_bytes_are_no_names(void **state)
{
	static const char *const bad[] = {
		"", ".", "a", "localhost", "a.localhost", "A.LocalHost", "a.", ".a", "a..b", "a.b.", "-a.b",
		"a-.b", "a.-b", "a.b-", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "0177.0.0.1", "a.1",
		"a.0x", "a.0X7F", "a.0xdeadbeef", "1.2.3.0x4", "a_b.c", "a b.c", "a\tb.c", "a/b.c", "a:1.c",
		"[::1]", "::1", "fe80::1%eth0", "a.b%00", "b\303\274cher.example", "*.a.b", "a@b.c"};
	char longest[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (reads(bad[i], strlen(bad[i])))
			fail_msg("'%s' was read", bad[i]);
	assert_false(reads("a.b\0c.d", 7));
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 63; i < sizeof(longest); i += 64)
		longest[i] = '.';
	assert_true(reads(longest, 253));
	assert_false(reads(longest, 254));
	longest[63] = 'a';
	longest[64] = '.';
	assert_false(reads(longest, 100));
}

static size_t random_name(char *out)
{
	static const char *const parts[] = {"a", "127", "0x7f", "0x", "-", "localhost", "com", "example", "1",
					    "xn--p1ai", "_", "a-b", "..", "A", "Z9", "\n", "*", "%"};
	const size_t count = 1 + random_next() % 6;
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		const char *part = parts[random_next() % ARRAY_LEN(parts)];

		if (i > 0 && random_next() % 4 != 0)
			out[len++] = '.';
		memcpy(out + len, part, strlen(part));
		len += strlen(part);
	}
	if (random_next() % 16 == 0)
		for (size_t n = random_next() % 260; n > 0 && len < 280; n--)
			out[len++] = random_next() % 20 == 0 ? '.' : 'q';
	out[len] = '\0';
	return len;
}

static void a_million_names_agree_with_regular_expressions(void **state)
{
	static const char label[] = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
	char shape[256], name[600];
	unsigned hits[2] = {0, 0};
	regex_t ldh, last;

	(void)state;
	(void)snprintf(shape, sizeof(shape), "^(%s\\.)+%s$", label, label);
	assert_int_equal(regcomp(&ldh, shape, REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(regcomp(&last, "\\.([0-9]+|0[xX][0-9a-fA-F]*|[lL][oO][cC][aA][lL][hH][oO][sS][tT])$",
				 REG_EXTENDED | REG_NOSUB), 0);
	for (unsigned i = 0; i < MANY; i++) {
		const size_t len = random_name(name);
		const bool wanted = len <= 253 && regexec(&ldh, name, 0, NULL, 0) == 0 &&
				    regexec(&last, name, 0, NULL, 0) != 0;

		if (reads(name, len) != wanted)
			fail_msg("name %u, '%s': the slow one says %d", i, name, wanted);
		hits[wanted]++;
	}
	regfree(&ldh);
	regfree(&last);
	assert_true(hits[0] > MANY / 20 && hits[1] > MANY / 20);
}

/* ---- addresses ---- */

static struct addr_brief ip(const char *text)
{
	struct addr_brief a = {.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};

	assert_int_equal(inet_pton(a.family, text, a.ip), 1);
	return a;
}

static struct netset *networks(const char *const *list, size_t count)
{
	struct net_prefix p[64];
	const char *why = NULL;

	assert_true(count <= ARRAY_LEN(p));
	for (size_t i = 0; i < count; i++)
		if (net_prefix_parse(list[i], &p[i], &why) != 0)
			fail_msg("%s: %s", list[i], why);
	return netset_new(p, count);
}

static enum egress_verdict judge(const char *text, const struct netset *allow_to)
{
	const struct addr_brief a = ip(text);

	return egress_judge(&a, allow_to, EGRESS_ROUTE_FAR);
}

static void only_the_public_internet_is_fine(void **state)
{
	static const char *const fine[] = {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255",
					   "100.128.0.0", "172.32.0.1", "192.0.1.0", "198.20.0.0",
					   "223.255.255.255", "2606:4700::1111", "2001:200::1", "3ffe::1"};
	static const char *const refused[] = {
		"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254",
		"172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:1.1.1.1", "::ffff:127.0.0.1",
		"::1.1.1.1",
		"::ffff:0:1.1.1.1", "64:ff9b::7f00:1", "64:ff9b::1.1.1.1", "64:ff9b:1::1", "100::1",
		"2001::1", "2001:1ff:ffff::", "2001:db8::1", "2002:7f00:1::", "2002:101:101::", "3fff::1",
		"3fff:fff::1", "5f00::1", "4000::1", "e000::1", "fc00::1", "fd00:ec2::254", "fe80::1",
		"fec0::1", "ff02::1", "2606:4700::5efe:1.1.1.1", "2606:4700::200:5efe:7f00:1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (judge(fine[i], NULL) != EGRESS_FINE)
			fail_msg("%s is refused", fine[i]);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (judge(refused[i], NULL) == EGRESS_FINE)
			fail_msg("%s is fine", refused[i]);
}

static void allow_to_adds_networks_but_no_disguised_address(void **state)
{
	static const char *const all[] = {"0.0.0.0/0", "::/0"};
	const struct addr_brief ours = ip("64:ff9b::1.1.1.1"), named = ip("64:ff9b::10.0.0.1");
	static const char *const some[] = {"10.0.0.0/8", "64:ff9b::/96", "::1", "fd00::/8"};
	static const char *const never[] = {"0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "::",
					    "::1.2.3.4", "::ffff:10.0.0.1", "64:ff9b:1::1", "2001::1",
					    "2002:a00:1::", "4000::1", "fe80::1", "ff02::1",
					    "fd00::5efe:10.0.0.1"};
	struct netset *wide = networks(all, ARRAY_LEN(all)), *narrow = networks(some, ARRAY_LEN(some));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (judge(never[i], wide) == EGRESS_FINE)
			fail_msg("%s is fine", never[i]);
	assert_int_equal(judge("127.0.0.1", wide), EGRESS_FINE);
	assert_int_equal(judge("10.1.2.3", narrow), EGRESS_FINE);
	assert_int_equal(judge("192.168.0.1", narrow), EGRESS_SPECIAL);
	assert_int_equal(judge("::1", narrow), EGRESS_FINE);
	assert_int_equal(judge("fd00::1", narrow), EGRESS_FINE);
	/* NAT64 leads to an IPv4 address, which must be fine by itself. */
	assert_int_equal(judge("64:ff9b::1.1.1.1", narrow), EGRESS_FINE);
	assert_int_equal(judge("64:ff9b::10.0.0.1", narrow), EGRESS_FINE);
	assert_int_equal(judge("64:ff9b::127.0.0.1", narrow), EGRESS_TRANSLATED);
	assert_int_equal(judge("64:ff9b::192.168.0.1", narrow), EGRESS_TRANSLATED);
	/* An address of this machine must be allowed by itself, too. */
	assert_int_equal(egress_judge(&ours, narrow, EGRESS_ROUTE_OWN), EGRESS_OWN);
	assert_int_equal(egress_judge(&ours, narrow, EGRESS_ROUTE_FAR), EGRESS_FINE);
	assert_int_equal(egress_judge(&named, narrow, EGRESS_ROUTE_OWN), EGRESS_FINE);
	netset_free(wide);
	netset_free(narrow);
}

static void an_address_of_this_machine_needs_allow_to_and_a_loop_is_never_fine(void **state)
{
	static const char *const list[] = {"1.1.1.1"};
	struct netset *own = networks(list, 1);
	const struct addr_brief a = ip("1.1.1.1"), b = ip("1.1.1.2");

	(void)state;
	assert_int_equal(egress_judge(&a, NULL, EGRESS_ROUTE_OWN), EGRESS_OWN);
	assert_int_equal(egress_judge(&a, own, EGRESS_ROUTE_OWN), EGRESS_FINE);
	assert_int_equal(egress_judge(&b, own, EGRESS_ROUTE_OWN), EGRESS_OWN);
	assert_int_equal(egress_judge(&a, own, EGRESS_ROUTE_LOOP), EGRESS_LOOP);
	assert_int_equal(egress_judge(&a, own, EGRESS_ROUTE_GROUP), EGRESS_SPECIAL);
	assert_int_equal(egress_judge(&a, own, EGRESS_ROUTE_UNKNOWN), EGRESS_UNKNOWN);
	assert_int_equal(egress_judge(&(struct addr_brief){.family = AF_UNIX}, own, EGRESS_ROUTE_FAR),
			 EGRESS_SPECIAL);
	netset_free(own);
}

/* Near the edge of a network, or anywhere. */
static struct addr_brief random_address(const struct addr_brief *edges, size_t count)
{
	struct addr_brief a = edges[random_next() % count];
	const size_t len = a.family == AF_INET ? 4 : 16;

	if (random_next() % 8 == 0)
		for (size_t i = 0; i < len; i++)
			a.ip[i] = (uint8_t)random_next();
	for (unsigned flips = (unsigned)(random_next() % 4); flips > 0; flips--) {
		const uint64_t bit = random_next() % (8 * len);

		a.ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return a;
}

static void a_million_addresses_agree_with_the_list_of_networks(void **state)
{
	static const char *const refused[] = {
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/3", "4000::/2",
		"8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"};
	struct netset *set = networks(refused, ARRAY_LEN(refused));
	struct addr_brief edges[ARRAY_LEN(refused) + 2];
	unsigned hits[2] = {0, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct net_prefix p;
		const char *why = NULL;

		assert_int_equal(net_prefix_parse(refused[i], &p, &why), 0);
		edges[i] = (struct addr_brief){.family = p.family};
		memcpy(edges[i].ip, p.ip, sizeof(p.ip));
	}
	edges[ARRAY_LEN(refused)] = ip("2606:4700::5efe:10.0.0.1");
	edges[ARRAY_LEN(refused) + 1] = ip("1.2.3.4");
	for (unsigned i = 0; i < MANY; i++) {
		const struct addr_brief a = random_address(edges, ARRAY_LEN(edges));
		const bool isatap = a.family == AF_INET6 && (a.ip[8] == 0 || a.ip[8] == 2) && a.ip[9] == 0 &&
				    a.ip[10] == 0x5e && a.ip[11] == 0xfe;
		/* An IPv4-mapped address is looked up as IPv4, but is refused as IPv6. */
		const bool mapped =
			a.family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)a.ip);
		const bool wanted = !isatap && !mapped && !netset_has(set, &a);

		if ((egress_judge(&a, NULL, EGRESS_ROUTE_FAR) == EGRESS_FINE) != wanted) {
			char text[INET6_ADDRSTRLEN];

			(void)inet_ntop(a.family, a.ip, text, sizeof(text));
			fail_msg("%s: the list says %d", text, wanted);
		}
		hits[wanted]++;
	}
	netset_free(set);
	assert_true(hits[0] > MANY / 20 && hits[1] > MANY / 20);
}

static void each_refusal_has_words(void **state)
{
	const struct addr_brief loopback = ip("127.0.0.1"), far = ip("1.1.1.1");

	(void)state;
	assert_string_equal(egress_why(&loopback, EGRESS_SPECIAL), "loopback (127.0.0.0/8)");
	for (int v = EGRESS_FINE; v <= EGRESS_UNKNOWN; v++)
		assert_true(strlen(egress_why(&far, (enum egress_verdict)v)) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_dns_alone_can_mean_are_read_in_lower_case),
		cmocka_unit_test(numbers_single_labels_and_other_bytes_are_no_names),
		cmocka_unit_test(a_million_names_agree_with_regular_expressions),
		cmocka_unit_test(only_the_public_internet_is_fine),
		cmocka_unit_test(allow_to_adds_networks_but_no_disguised_address),
		cmocka_unit_test(an_address_of_this_machine_needs_allow_to_and_a_loop_is_never_fine),
		cmocka_unit_test(a_million_addresses_agree_with_the_list_of_networks),
		cmocka_unit_test(each_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
