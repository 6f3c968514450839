/* SPDX-License-Identifier: MIT
 *
 * set_reconcile.c - a set of servers meets the addresses that its name has now: who stays, leaves, comes.
 *
 * Sorts, so that large sets cost n log n. Any thread.
 */
#include "weir/balance/set_reconcile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

#define NOBODY SIZE_MAX

#define WEIGHT_MAX 256u

/* An address that is offered, and who has it. */
struct offer {
	const struct set_address *address; /* borrows */
	uint16_t priority;                 /* 0 without SRV */
	size_t member;                     /* NOBODY = none */
	bool leaves;                       /* that member drains */
	struct set_share share;
};

struct work {
	const struct set_rules *rules;
	const struct set_member *members;
	size_t member_count;
	struct offer *offers; /* owns */
	size_t count;         /* of the offers; later of those that are taken */
	const struct set_member **by_addr; /* owns the array: the members, sorted by address */
	unsigned *numbers; /* owns: those of the members, sorted */
};

/* ---- addresses ---- */

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_sixes(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	const int by_ip = memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr));

	if (by_ip != 0)
		return by_ip;
	if (a->sin6_port != b->sin6_port)
		return compare_numbers(ntohs(a->sin6_port), ntohs(b->sin6_port));
	return compare_numbers(a->sin6_scope_id, b->sin6_scope_id);
}

/* IPv4 first. */
static int compare_addrs(const struct addr *a, const struct addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return a->sa.sa_family == AF_INET ? -1 : 1;
	if (a->sa.sa_family != AF_INET)
		return compare_sixes(&a->in6, &b->in6);
	if (a->in.sin_addr.s_addr != b->in.sin_addr.s_addr)
		return compare_numbers(ntohl(a->in.sin_addr.s_addr), ntohl(b->in.sin_addr.s_addr));
	return compare_numbers(ntohs(a->in.sin_port), ntohs(b->in.sin_port));
}

static int compare_offers(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;
	const int by_addr = compare_addrs(&a->address->addr, &b->address->addr);

	if (by_addr != 0)
		return by_addr;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	return (a->address->weight < b->address->weight) - (a->address->weight > b->address->weight);
}

static int compare_members(const void *left, const void *right)
{
	return compare_addrs(&(*(const struct set_member *const *)left)->addr,
			     &(*(const struct set_member *const *)right)->addr);
}

static void offer_all(struct work *w, const struct set_address *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		w->offers[i] = (struct offer){.address = &list[i],
					      .priority = w->rules->has_srv ? list[i].priority : 0,
					      .member = NOBODY};
	qsort(w->offers, count, sizeof(*w->offers), compare_offers);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_addrs(&w->offers[kept - 1].address->addr,
					       &w->offers[i].address->addr) != 0)
			w->offers[kept++] = w->offers[i];
	w->count = kept;
}

static void find_members(struct work *w)
{
	size_t at = 0;

	for (size_t i = 0; i < w->member_count; i++)
		w->by_addr[i] = &w->members[i];
	qsort(w->by_addr, w->member_count, sizeof(*w->by_addr), compare_members);
	for (size_t i = 0; i < w->count; i++) {
		const struct addr *a = &w->offers[i].address->addr;

		while (at < w->member_count && compare_addrs(&w->by_addr[at]->addr, a) < 0)
			at++;
		if (at == w->member_count || compare_addrs(&w->by_addr[at]->addr, a) != 0)
			continue;
		w->offers[i].member = (size_t)(w->by_addr[at] - w->members);
		w->offers[i].leaves = w->by_addr[at]->leaves;
	}
}

/* ---- who is taken ---- */

/* 0 = in use, 1 = drains, 2 = new. */
static int rank_of(const struct offer *o)
{
	if (o->member == NOBODY)
		return 2;
	return o->leaves ? 1 : 0;
}

static int compare_claims(const void *left, const void *right)
{
	const struct offer *a = left, *b = right;

	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	if (rank_of(a) != rank_of(b))
		return rank_of(a) - rank_of(b);
	return compare_addrs(&a->address->addr, &b->address->addr);
}

/* Returns how many are not taken. */
static size_t take(struct work *w)
{
	size_t surplus;

	qsort(w->offers, w->count, sizeof(*w->offers), compare_claims);
	if (w->count <= w->rules->max)
		return 0;
	surplus = w->count - w->rules->max;
	w->count = w->rules->max;
	return surplus;
}

/* ---- shares ---- */

/* Scaled down to what a server may have; but a weight above 0 stays above 0. */
static unsigned scale(unsigned weight, unsigned highest)
{
	unsigned scaled;

	if (highest <= WEIGHT_MAX || weight == 0)
		return weight;
	scaled = (weight * WEIGHT_MAX + highest / 2) / highest;
	return scaled > 0 ? scaled : 1;
}

/* Offers of one group: either all that are used first, or all of the others. */
static void share_group(struct work *w, size_t begin, size_t end)
{
	unsigned highest = 0;

	for (size_t i = begin; i < end; i++)
		if (w->offers[i].address->weight > highest)
			highest = w->offers[i].address->weight;
	for (size_t i = begin; i < end; i++)
		w->offers[i].share = (struct set_share){
			.weight = highest > 0 ? scale(w->offers[i].address->weight, highest) : 1,
			.backup = begin > 0};
}

static void share(struct work *w)
{
	size_t first = 0;

	if (!w->rules->has_srv) {
		for (size_t i = 0; i < w->count; i++)
			w->offers[i].share = (struct set_share){.weight = 1};
		return;
	}
	while (first < w->count && w->offers[first].priority == w->offers[0].priority)
		first++;
	share_group(w, 0, first);
	if (first < w->count)
		share_group(w, first, w->count);
}

/* ---- what becomes of members ---- */

static void judge_members(const struct work *w, struct set_fate *fates)
{
	for (size_t i = 0; i < w->member_count; i++)
		fates[i].verdict = w->members[i].leaves ? SET_DRAINS : SET_LEAVES;
	for (size_t i = 0; i < w->count; i++) {
		const struct offer *o = &w->offers[i];

		if (o->member == NOBODY)
			continue;
		fates[o->member] = (struct set_fate){.verdict = o->leaves ? SET_RETURNS : SET_STAYS,
						     .has_share = true,
						     .share = o->share};
	}
}

static void keep_members(const struct work *w, struct set_fate *fates)
{
	for (size_t i = 0; i < w->member_count; i++)
		fates[i].verdict = w->members[i].leaves ? SET_DRAINS : SET_STAYS;
}

static int compare_orders(const void *left, const void *right)
{
	const struct set_member *a = *(const struct set_member *const *)left;
	const struct set_member *b = *(const struct set_member *const *)right;

	if (a->leaves != b->leaves)
		return a->leaves ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* A set whose sessions are long and whose addresses change often must not grow without end. */
static void bound_draining(struct work *w, struct set_fate *fates)
{
	size_t count = 0;

	for (size_t i = 0; i < w->member_count; i++)
		if (fates[i].verdict == SET_DRAINS || fates[i].verdict == SET_LEAVES)
			w->by_addr[count++] = &w->members[i];
	if (count <= w->rules->max)
		return;
	qsort(w->by_addr, count, sizeof(*w->by_addr), compare_orders);
	for (size_t i = 0; i < count - w->rules->max; i++)
		fates[w->by_addr[i] - w->members].verdict = SET_GOES;
}

/* ---- newcomers ---- */

static int compare_unsigned(const void *left, const void *right)
{
	return compare_numbers(*(const unsigned *)left, *(const unsigned *)right);
}

static void sort_numbers(struct work *w)
{
	for (size_t i = 0; i < w->member_count; i++)
		w->numbers[i] = w->members[i].number;
	qsort(w->numbers, w->member_count, sizeof(*w->numbers), compare_unsigned);
}

/* The lowest above `number` that is free; `*at` walks along the numbers of the members. */
static unsigned next_number(const struct work *w, unsigned number, size_t *at)
{
	for (;;) {
		number++;
		while (*at < w->member_count && w->numbers[*at] < number)
			(*at)++;
		if (*at < w->member_count && w->numbers[*at] == number)
			continue;
		if (w->rules->is_taken == NULL || !w->rules->is_taken(w->rules->arg, number))
			return number;
	}
}

static int compare_arrivals(const void *left, const void *right)
{
	return compare_addrs(&((const struct set_arrival *)left)->address->addr,
			     &((const struct set_arrival *)right)->address->addr);
}

static void welcome(struct work *w, struct set_plan *p)
{
	unsigned number = 0;
	size_t at = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->offers[i].member == NOBODY)
			p->arrivals[p->arrival_count++] = (struct set_arrival){
				.address = w->offers[i].address, .share = w->offers[i].share};
	qsort(p->arrivals, p->arrival_count, sizeof(*p->arrivals), compare_arrivals);
	sort_numbers(w);
	for (size_t i = 0; i < p->arrival_count; i++) {
		number = next_number(w, number, &at);
		p->arrivals[i].number = number;
	}
}

/* ---- all of it ---- */

static void work_close(struct work *w)
{
	free(w->offers);
	free(w->by_addr);
	free(w->numbers);
}

void set_plan_free(struct set_plan *p)
{
	free(p->fates);
	free(p->arrivals);
	*p = (struct set_plan){0};
}

/* Every array has one more than needed: no allocation is empty. */
static int work_open(struct work *w, struct set_plan *p, size_t count)
{
	w->offers = calloc(count + 1, sizeof(*w->offers));
	w->by_addr = calloc(w->member_count + 1, sizeof(const struct set_member *));
	w->numbers = calloc(w->member_count + 1, sizeof(*w->numbers));
	p->fates = calloc(w->member_count + 1, sizeof(*p->fates));
	p->arrivals = calloc(count + 1, sizeof(*p->arrivals));
	if (w->offers != NULL && w->by_addr != NULL && w->numbers != NULL && p->fates != NULL &&
	    p->arrivals != NULL)
		return 0;
	work_close(w);
	set_plan_free(p);
	return -ENOMEM;
}

int set_reconcile(struct set_plan *p, const struct set_rules *rules, const struct set_member *members,
		  size_t member_count, const struct set_address *list, size_t count)
{
	struct work w = {.rules = rules, .members = members, .member_count = member_count};

	check(rules->max > 0);
	*p = (struct set_plan){0};
	if (work_open(&w, p, count) != 0)
		return -ENOMEM;
	offer_all(&w, list, count);
	find_members(&w);
	if (count == 0 && rules->keeps) {
		keep_members(&w, p->fates);
	} else {
		p->surplus = take(&w);
		share(&w);
		judge_members(&w, p->fates);
	}
	bound_draining(&w, p->fates);
	welcome(&w, p);
	work_close(&w);
	return 0;
}
