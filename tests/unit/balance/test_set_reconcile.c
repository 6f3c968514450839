/* SPDX-License-Identifier: MIT
 *
 * test_set_reconcile.c - who of a set stays, leaves, comes: by hand, and over random sets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "weir/balance/set_reconcile.h"
#include "weir/base/check.h"

#define MEMBERS_MAX 64

/* A set, as its owner keeps it. */
struct model {
	struct set_rules rules;
	struct set_member members[MEMBERS_MAX];
	size_t count;
	uint64_t clock;
};

static struct set_address at(unsigned n)
{
	struct set_address a = {.weight = 1};

	a.addr.len = sizeof(a.addr.in);
	a.addr.in.sin_family = AF_INET;
	a.addr.in.sin_port = htons(80);
	a.addr.in.sin_addr.s_addr = htonl(0x0a000000u + n);
	return a;
}

static unsigned host_of(const struct addr *a)
{
	return ntohl(a->in.sin_addr.s_addr) - 0x0a000000u;
}

static struct set_address at_srv(unsigned n, uint16_t weight, uint16_t priority)
{
	struct set_address a = at(n);

	a.weight = weight;
	a.priority = priority;
	return a;
}

/* Does what the plan says, as the owner of a set does. */
static void carry_out(struct model *m, const struct set_plan *p)
{
	size_t kept = 0;

	m->clock++;
	for (size_t i = 0; i < m->count; i++) {
		struct set_member one = m->members[i];

		if (p->fates[i].verdict == SET_GOES)
			continue;
		if (p->fates[i].verdict == SET_LEAVES)
			one.order = m->clock;
		one.leaves = p->fates[i].verdict == SET_LEAVES || p->fates[i].verdict == SET_DRAINS;
		m->members[kept++] = one;
	}
	m->count = kept;
	for (size_t i = 0; i < p->arrival_count; i++) {
		assert_true(m->count < MEMBERS_MAX);
		m->members[m->count++] = (struct set_member){.addr = p->arrivals[i].address->addr,
							     .number = p->arrivals[i].number};
	}
}

static void meet(struct model *m, const unsigned *hosts, size_t count)
{
	struct set_address list[MEMBERS_MAX];
	struct set_plan p;

	for (size_t i = 0; i < count; i++)
		list[i] = at(hosts[i]);
	assert_int_equal(set_reconcile(&p, &m->rules, m->members, m->count, list, count), 0);
	carry_out(m, &p);
	set_plan_free(&p);
}

#define MEET(m, ...)                                                                                         \
	meet(m, (const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

/* 0 = no member in use has this address. */
static unsigned number_of(const struct model *m, unsigned host)
{
	for (size_t i = 0; i < m->count; i++)
		if (!m->members[i].leaves && host_of(&m->members[i].addr) == host)
			return m->members[i].number;
	return 0;
}

static void end_drain(struct model *m, unsigned host)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->members[i].leaves && host_of(&m->members[i].addr) == host) {
			m->members[i] = m->members[--m->count];
			return;
		}
	fail();
}

static void newcomers_get_the_lowest_free_numbers(void **state)
{
	struct model m = {.rules = {.max = 10, .keeps = true}};

	(void)state;
	MEET(&m, 5, 3, 9);
	assert_int_equal(number_of(&m, 3), 1);
	assert_int_equal(number_of(&m, 5), 2);
	assert_int_equal(number_of(&m, 9), 3);
	MEET(&m, 9, 3, 7);
	assert_int_equal(number_of(&m, 3), 1);
	assert_int_equal(number_of(&m, 9), 3);
	assert_int_equal(number_of(&m, 7), 4); /* 2 still drains */
	end_drain(&m, 5);
	MEET(&m, 9, 3, 7, 1);
	assert_int_equal(number_of(&m, 1), 2);
	assert_int_equal(number_of(&m, 7), 4);
}

static void an_address_that_returns_is_the_same_server(void **state)
{
	struct model m = {.rules = {.max = 10, .keeps = true}};

	(void)state;
	MEET(&m, 1, 2);
	MEET(&m, 1);
	assert_int_equal(number_of(&m, 2), 0);
	MEET(&m, 1, 2, 3);
	assert_int_equal(number_of(&m, 2), 2);
	assert_int_equal(number_of(&m, 3), 3);
	assert_int_equal(m.count, 3);
}

static void an_empty_answer_keeps_all_or_drains_all(void **state)
{
	struct model m = {.rules = {.max = 10, .keeps = true}};

	(void)state;
	MEET(&m, 1, 2);
	meet(&m, NULL, 0);
	assert_int_equal(number_of(&m, 1), 1);
	assert_int_equal(number_of(&m, 2), 2);
	m.rules.keeps = false;
	meet(&m, NULL, 0);
	assert_int_equal(number_of(&m, 1) + number_of(&m, 2), 0);
	assert_int_equal(m.count, 2);
}

static void members_keep_their_place_when_there_are_more_than_max(void **state)
{
	struct model m = {.rules = {.max = 2, .keeps = true}};
	const struct set_address list[] = {at(1), at(2), at(3), at(8), at(9)};
	struct set_plan p;

	(void)state;
	MEET(&m, 8, 9);
	assert_int_equal(set_reconcile(&p, &m.rules, m.members, m.count, list, 5), 0);
	assert_int_equal(p.surplus, 3);
	assert_int_equal(p.arrival_count, 0);
	assert_int_equal(p.fates[0].verdict, SET_STAYS);
	assert_int_equal(p.fates[1].verdict, SET_STAYS);
	set_plan_free(&p);
	MEET(&m, 1, 2, 3, 9);
	assert_int_equal(number_of(&m, 9), 2);
	assert_int_equal(number_of(&m, 1), 3);
	MEET(&m, 2, 3, 8, 9); /* 8 drains, and comes before the new ones */
	assert_int_equal(number_of(&m, 8), 1);
}

static void a_repeated_address_counts_once(void **state)
{
	struct model m = {.rules = {.max = 3, .keeps = true}};

	(void)state;
	MEET(&m, 4, 4, 4, 2, 2);
	assert_int_equal(m.count, 2);
	assert_int_equal(number_of(&m, 4), 2);
}

static bool is_even(void *arg, unsigned number)
{
	(void)arg;
	return number % 2 == 0;
}

static void numbers_of_other_servers_are_left_out(void **state)
{
	struct model m = {.rules = {.max = 10, .keeps = true, .is_taken = is_even}};

	(void)state;
	MEET(&m, 1, 2, 3);
	assert_int_equal(number_of(&m, 1), 1);
	assert_int_equal(number_of(&m, 2), 3);
	assert_int_equal(number_of(&m, 3), 5);
}

static void those_that_left_first_go_first(void **state)
{
	struct model m = {.rules = {.max = 2, .keeps = true}};

	(void)state;
	MEET(&m, 1, 2);
	MEET(&m, 2, 3);
	MEET(&m, 4, 5); /* 1, 2 and 3 would drain */
	assert_int_equal(m.count, 4);
	for (size_t i = 0; i < m.count; i++)
		assert_int_not_equal(host_of(&m.members[i].addr), 1);
}

/* ---- SRV ---- */

static void share_of(const struct set_address *list, size_t count, struct set_share *out)
{
	const struct set_rules rules = {.max = 10, .has_srv = true};
	struct set_plan p;

	assert_int_equal(set_reconcile(&p, &rules, NULL, 0, list, count), 0);
	assert_int_equal(p.arrival_count, count);
	for (size_t i = 0; i < count; i++)
		out[host_of(&p.arrivals[i].address->addr)] = p.arrivals[i].share;
	set_plan_free(&p);
}

static void weights_are_used_as_they_are_up_to_256(void **state)
{
	const struct set_address list[] = {at_srv(0, 256, 5), at_srv(1, 10, 5), at_srv(2, 0, 5)};
	struct set_share s[3];

	(void)state;
	share_of(list, 3, s);
	assert_int_equal(s[0].weight, 256);
	assert_int_equal(s[1].weight, 10);
	assert_int_equal(s[2].weight, 0);
}

static void higher_weights_are_scaled_but_stay_above_0(void **state)
{
	const struct set_address list[] = {at_srv(0, 65535, 5), at_srv(1, 32768, 5), at_srv(2, 1, 5),
					   at_srv(3, 0, 5)};
	struct set_share s[4];

	(void)state;
	share_of(list, 4, s);
	assert_int_equal(s[0].weight, 256);
	assert_int_equal(s[1].weight, 128);
	assert_int_equal(s[2].weight, 1);
	assert_int_equal(s[3].weight, 0);
}

static void a_weight_of_0_counts_if_all_have_it(void **state)
{
	const struct set_address list[] = {at_srv(0, 0, 5), at_srv(1, 0, 5), at_srv(2, 7, 6)};
	struct set_share s[3];

	(void)state;
	share_of(list, 3, s);
	assert_int_equal(s[0].weight, 1);
	assert_int_equal(s[1].weight, 1);
	assert_int_equal(s[2].weight, 7);
}

static void the_lowest_priority_value_is_used_first(void **state)
{
	const struct set_address list[] = {at_srv(0, 1, 20), at_srv(1, 1, 10), at_srv(2, 1, 30),
					   at_srv(3, 1, 10)};
	struct set_share s[4];

	(void)state;
	share_of(list, 4, s);
	assert_true(s[0].backup);
	assert_false(s[1].backup);
	assert_true(s[2].backup);
	assert_false(s[3].backup);
}

static void max_takes_the_lowest_priority_values(void **state)
{
	const struct set_address list[] = {at_srv(1, 1, 20), at_srv(2, 1, 10), at_srv(3, 1, 10)};
	const struct set_rules rules = {.max = 2, .has_srv = true};
	const struct set_member member = {.addr = at(1).addr, .number = 1};
	struct set_plan p;

	(void)state;
	assert_int_equal(set_reconcile(&p, &rules, &member, 1, list, 3), 0);
	assert_int_equal(p.fates[0].verdict, SET_LEAVES);
	assert_int_equal(p.arrival_count, 2);
	set_plan_free(&p);
}

/* ---- random sets ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % below;
}

#define HOSTS 24u
#define STEPS 100000u

static bool is_offered(const struct set_address *list, size_t count, unsigned host)
{
	for (size_t i = 0; i < count; i++)
		if (host_of(&list[i].addr) == host)
			return true;
	return false;
}

static size_t count_distinct(const struct set_address *list, size_t count)
{
	size_t n = 0;

	for (unsigned host = 0; host < HOSTS; host++)
		n += is_offered(list, count, host);
	return n;
}

static size_t count_in_use(const struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		n += !m->members[i].leaves;
	return n;
}

static void assert_sane(const struct model *m)
{
	assert_true(count_in_use(m) <= m->rules.max);
	assert_true(m->count - count_in_use(m) <= m->rules.max);
	for (size_t i = 0; i < m->count; i++)
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(m->members[i].number, m->members[j].number);
			assert_int_not_equal(host_of(&m->members[i].addr), host_of(&m->members[j].addr));
		}
}

/* The member of this address, whether in use or not; NULL = none. */
static const struct set_member *member_of(const struct model *m, unsigned host)
{
	for (size_t i = 0; i < m->count; i++)
		if (host_of(&m->members[i].addr) == host)
			return &m->members[i];
	return NULL;
}

static void assert_follows(const struct model *before, const struct model *m, const struct set_address *list,
			   size_t count)
{
	const size_t distinct = count_distinct(list, count);

	if (count == 0) {
		assert_int_equal(count_in_use(m), before->rules.keeps ? count_in_use(before) : 0);
		return;
	}
	assert_int_equal(count_in_use(m), distinct < m->rules.max ? distinct : m->rules.max);
	for (size_t i = 0; i < m->count; i++)
		if (!m->members[i].leaves)
			assert_true(is_offered(list, count, host_of(&m->members[i].addr)));
}

static void assert_names_stay(const struct model *before, const struct model *m,
			      const struct set_address *list, size_t count)
{
	for (unsigned host = 0; host < HOSTS; host++) {
		const struct set_member *was = member_of(before, host), *is = member_of(m, host);

		if (was != NULL && is != NULL)
			assert_int_equal(was->number, is->number);
		if (was == NULL || !is_offered(list, count, host) || m->rules.has_srv)
			continue;
		if (!was->leaves) /* without priorities, who is in use and offered stays in use */
			assert_true(is != NULL && !is->leaves);
	}
}

static size_t random_list(struct set_address *list)
{
	const size_t count = draw(8) == 0 ? 0 : draw(HOSTS);

	for (size_t i = 0; i < count; i++)
		list[i] = at_srv(draw(HOSTS), (uint16_t)draw(3), (uint16_t)draw(3));
	return count;
}

static void a_random_set_keeps_its_promises(void **state)
{
	struct model m = {0};

	(void)state;
	seed = 0x9e3779b97f4a7c15u;
	for (unsigned step = 0; step < STEPS; step++) {
		struct set_address list[MEMBERS_MAX];
		struct model before;
		struct set_plan p;
		size_t count;

		if (step % 1000 == 0)
			m = (struct model){.rules = {.max = 1 + draw(HOSTS),
						     .keeps = draw(2) == 0,
						     .has_srv = draw(2) == 0,
						     .is_taken = draw(2) == 0 ? is_even : NULL}};
		before = m;
		count = random_list(list);
		assert_int_equal(set_reconcile(&p, &m.rules, m.members, m.count, list, count), 0);
		carry_out(&m, &p);
		set_plan_free(&p);
		assert_sane(&m);
		assert_follows(&before, &m, list, count);
		assert_names_stay(&before, &m, list, count);
		while (m.count > 0 && draw(3) == 0 && count_in_use(&m) < m.count)
			for (size_t i = 0; i < m.count; i++)
				if (m.members[i].leaves) {
					m.members[i] = m.members[--m.count];
					break;
				}
	}
}

static void the_order_of_the_answer_means_nothing(void **state)
{
	(void)state;
	seed = 12345;
	for (unsigned step = 0; step < 1000; step++) {
		struct model a = {.rules = {.max = 5, .keeps = true}}, b = a;
		unsigned hosts[10], turned[10];

		for (size_t i = 0; i < 10; i++)
			hosts[i] = draw(HOSTS);
		for (size_t i = 0; i < 10; i++)
			turned[i] = hosts[(i + step) % 10];
		meet(&a, hosts, 10);
		meet(&b, turned, 10);
		for (unsigned host = 0; host < HOSTS; host++)
			assert_int_equal(number_of(&a, host), number_of(&b, host));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newcomers_get_the_lowest_free_numbers),
		cmocka_unit_test(an_address_that_returns_is_the_same_server),
		cmocka_unit_test(an_empty_answer_keeps_all_or_drains_all),
		cmocka_unit_test(members_keep_their_place_when_there_are_more_than_max),
		cmocka_unit_test(a_repeated_address_counts_once),
		cmocka_unit_test(numbers_of_other_servers_are_left_out),
		cmocka_unit_test(those_that_left_first_go_first),
		cmocka_unit_test(weights_are_used_as_they_are_up_to_256),
		cmocka_unit_test(higher_weights_are_scaled_but_stay_above_0),
		cmocka_unit_test(a_weight_of_0_counts_if_all_have_it),
		cmocka_unit_test(the_lowest_priority_value_is_used_first),
		cmocka_unit_test(max_takes_the_lowest_priority_values),
		cmocka_unit_test(a_random_set_keeps_its_promises),
		cmocka_unit_test(the_order_of_the_answer_means_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
