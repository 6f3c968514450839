/* SPDX-License-Identifier: MIT
 *
 * fuzz_set_reconcile.c - answers of name servers, one after another, for a set of servers: whatever they are,
 * the set keeps its promises.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. The first byte is `max`, the second says
 * which rules hold. Then come answers: a byte with the count, and four bytes per address: host, port, weight,
 * priority. What drains ends where the count has its highest bit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/set_reconcile.h"
#include "weir/base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIST_MAX    32u
#define MEMBERS_MAX 128u
#define MAX_MAX	    32u

enum rule { RULE_KEEPS = 1, RULE_SRV = 2, RULE_TAKEN = 4, RULE_SIX = 8 };

struct set {
	struct set_rules rules;
	struct set_member members[MEMBERS_MAX];
	size_t count;
	uint64_t clock;
	bool six;
};

static bool is_taken(void *arg, unsigned number)
{
	(void)arg;
	return number % 3 == 1;
}

static struct set_address read_address(const struct set *s, const uint8_t *at)
{
	struct set_address a = {.weight = (uint16_t)(at[2] << (at[2] & 7)), .priority = at[3] & 3};

	a.addr.sa.sa_family = AF_INET;
	a.addr.len = sizeof(a.addr.in);
	a.addr.in.sin_port = htons((uint16_t)(80 + (at[1] & 1)));
	a.addr.in.sin_addr.s_addr = htonl(0x0a000000u + at[0] % 48);
	if (s->six && at[0] % 2 == 0) {
		memset(&a.addr, 0, sizeof(a.addr));
		a.addr.sa.sa_family = AF_INET6;
		a.addr.len = sizeof(a.addr.in6);
		a.addr.in6.sin6_port = htons(80);
		a.addr.in6.sin6_addr.s6_addr[15] = at[0] % 48;
	}
	return a;
}

static bool is_in(const struct set_address *list, size_t count, const struct addr *a)
{
	for (size_t i = 0; i < count; i++)
		if (addr_equal(&list[i].addr, a))
			return true;
	return false;
}

static size_t distinct(const struct set_address *list, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += !is_in(list, i, &list[i].addr);
	return n;
}

static size_t count_in_use(const struct set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += !s->members[i].leaves;
	return n;
}

/* One fate, and what a slow reader says about it. */
static void check_fate(const struct set *s, const struct set_member *m, const struct set_fate *f,
		       const struct set_address *list, size_t count)
{
	const bool offered = is_in(list, count, &m->addr);

	if (f->verdict == SET_RETURNS || f->verdict == SET_DRAINS)
		check(m->leaves);
	if (f->verdict == SET_STAYS || f->verdict == SET_LEAVES)
		check(!m->leaves);
	if (f->has_share)
		check(offered && f->share.weight <= 256);
	if (count == 0 && s->rules.keeps && !m->leaves)
		check(f->verdict == SET_STAYS);
	if (!s->rules.has_srv && !m->leaves && offered)
		check(f->verdict == SET_STAYS);
	if (!offered && !(count == 0 && s->rules.keeps))
		check(f->verdict == SET_LEAVES || f->verdict == SET_DRAINS || f->verdict == SET_GOES);
}

static void carry_out(struct set *s, const struct set_plan *p, const struct set_address *list, size_t count)
{
	size_t kept = 0;

	s->clock++;
	for (size_t i = 0; i < s->count; i++) {
		struct set_member m = s->members[i];

		check_fate(s, &m, &p->fates[i], list, count);
		if (p->fates[i].verdict == SET_GOES)
			continue;
		if (p->fates[i].verdict == SET_LEAVES)
			m.order = s->clock;
		m.leaves = p->fates[i].verdict == SET_LEAVES || p->fates[i].verdict == SET_DRAINS;
		s->members[kept++] = m;
	}
	s->count = kept;
	for (size_t i = 0; i < p->arrival_count; i++) {
		check(s->count < MEMBERS_MAX);
		check(!s->rules.is_taken || !is_taken(NULL, p->arrivals[i].number));
		s->members[s->count++] = (struct set_member){.addr = p->arrivals[i].address->addr,
							     .number = p->arrivals[i].number};
	}
}

static void check_set(const struct set *s, const struct set_plan *p, const struct set_address *list,
		      size_t count)
{
	const size_t offered = distinct(list, count);

	check(count_in_use(s) <= s->rules.max);
	check(s->count - count_in_use(s) <= s->rules.max);
	if (count > 0)
		check(count_in_use(s) + p->surplus == offered);
	for (size_t i = 0; i < s->count; i++) {
		check(s->members[i].number > 0);
		for (size_t j = 0; j < i; j++) {
			check(s->members[i].number != s->members[j].number);
			check(!addr_equal(&s->members[i].addr, &s->members[j].addr));
		}
	}
}

static void end_drain(struct set *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (!s->members[i].leaves)
			s->members[kept++] = s->members[i];
	s->count = kept;
}

static void answer(struct set *s, const struct set_address *list, size_t count)
{
	struct set_plan p;

	check(set_reconcile(&p, &s->rules, s->members, s->count, list, count) == 0);
	carry_out(s, &p, list, count);
	check_set(s, &p, list, count);
	set_plan_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct set s;
	size_t at = 2;

	memset(&s, 0, sizeof(s));
	if (size < 2)
		return 0;
	s.rules.max = 1 + data[0] % MAX_MAX;
	s.rules.keeps = (data[1] & RULE_KEEPS) != 0;
	s.rules.has_srv = (data[1] & RULE_SRV) != 0;
	s.rules.is_taken = (data[1] & RULE_TAKEN) != 0 ? is_taken : NULL;
	s.six = (data[1] & RULE_SIX) != 0;
	while (at < size) {
		struct set_address list[LIST_MAX];
		const uint8_t head = data[at++];
		size_t count = 0;

		while (count < head % LIST_MAX && at + 4 <= size) {
			list[count++] = read_address(&s, data + at);
			at += 4;
		}
		answer(&s, list, count);
		if ((head & 0x80) != 0)
			end_drain(&s);
	}
	return 0;
}
