/* SPDX-License-Identifier: MIT
 *
 * name_state.c - the addresses of one name: which count now, which are held, and when the next query is due.
 *
 * Owns the list. Any thread.
 */
#include "name_state.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/names/resolver.h"

/* ---- order ---- */

/* By what the address is, in the order in which people read them. */
static int compare_addrs(const struct addr *a, const struct addr *b)
{
	const uint16_t a_port = addr_port(a), b_port = addr_port(b);
	int c;

	if (a->sa.sa_family != b->sa.sa_family)
		return a->sa.sa_family == AF_INET ? -1 : 1;
	if (a->sa.sa_family == AF_INET)
		c = memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));
	else
		c = memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	if (c != 0)
		return c;
	return a_port != b_port ? (a_port < b_port ? -1 : 1) : 0;
}

/* The first of several with one address wins: that with the lowest priority, then the greatest weight. */
static int compare_entries(const void *left, const void *right)
{
	const struct name_entry *a = left, *b = right;
	const struct name_address *x = &a->found.address, *y = &b->found.address;
	const int c = compare_addrs(&x->addr, &y->addr);

	if (c != 0)
		return c;
	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool is_at(const struct name_entry *a, const struct name_entry *b)
{
	return compare_addrs(&a->found.address.addr, &b->found.address.addr) == 0;
}

static size_t without_duplicates(struct name_entry *e, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept == 0 || !is_at(&e[kept - 1], &e[i]))
			e[kept++] = e[i];
	return kept;
}

/* ---- a round ---- */

void name_state_free(struct name_state *s)
{
	free(s->entries);
	*s = (struct name_state){0};
}

static void lose(struct name_entry *e, enum name_outcome why, int64_t now_ns)
{
	if (e->lost_ns == 0)
		e->lost_ns = now_ns;
	e->why = why;
}

/* Nothing was found: the name as a whole. A name server that fails says more than one that says no. */
static enum name_outcome outcome_of(const struct name_result *r)
{
	for (size_t i = 0; i < r->gap_count; i++)
		if (r->gaps[i].outcome != NAME_NX)
			return r->gaps[i].outcome;
	return NAME_NX;
}

/* A family that has no record, while another has, is an answer. */
static enum name_outcome why_lost(const struct name_entry *e, const struct name_result *r)
{
	for (size_t i = 0; i < r->gap_count; i++)
		if (r->gaps[i].origin == e->found.origin || r->gaps[i].origin == 0)
			return r->gaps[i].outcome != NAME_NX ? r->gaps[i].outcome : NAME_GOOD;
	return NAME_GOOD;
}

static void take_bad(struct name_state *s, enum name_outcome outcome, int64_t now_ns)
{
	s->outcome = outcome;
	s->changed = false;
	if (s->bad_since_ns == 0)
		s->bad_since_ns = now_ns;
	for (size_t i = 0; i < s->count; i++)
		lose(&s->entries[i], outcome, now_ns);
}

/* Whatever else differs, as its weight. */
static int compare_places(const void *left, const void *right)
{
	const struct name_entry *a = left, *b = right;

	return compare_addrs(&a->found.address.addr, &b->found.address.addr);
}

static bool has_address(const struct name_entry *list, size_t count, const struct name_entry *e)
{
	return bsearch(e, list, count, sizeof(*list), compare_places) != NULL;
}

static int reserve(struct name_state *s, size_t count)
{
	struct name_entry *more;

	if (count <= s->room)
		return 0;
	more = realloc(s->entries, count * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	s->entries = more;
	s->room = count;
	return 0;
}

/* Has each question an answer, if only that there is nothing? */
static bool is_complete(const struct name_result *r)
{
	for (size_t i = 0; i < r->gap_count; i++)
		if (r->gaps[i].outcome != NAME_NX || r->gaps[i].origin == 0)
			return false;
	return r->found_count > 0;
}

/* Sorts what was found into the room behind the entries; returns how many there are. */
static size_t sort_found(struct name_entry *fresh, const struct name_found *found, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fresh[i] = (struct name_entry){.found = found[i]};
	qsort(fresh, count, sizeof(*fresh), compare_entries);
	return without_duplicates(fresh, count);
}

/* What was there and is found again gives way to what was found, which is behind it. */
static void merge(struct name_state *s, const struct name_result *r, size_t fresh_count, int64_t now_ns)
{
	const size_t had = s->count;
	struct name_entry *fresh = s->entries + had;
	size_t again = 0;

	s->count = 0;
	s->changed = false;
	for (size_t i = 0; i < had; i++) {
		struct name_entry e = s->entries[i];

		if (has_address(fresh, fresh_count, &e)) {
			again++;
			continue;
		}
		s->changed = s->changed || e.lost_ns == 0;
		lose(&e, why_lost(&e, r), now_ns);
		s->entries[s->count++] = e;
	}
	s->changed = s->changed || again < fresh_count;
	memmove(s->entries + s->count, fresh, fresh_count * sizeof(*fresh));
	s->count += fresh_count;
	qsort(s->entries, s->count, sizeof(*s->entries), compare_entries);
}

int name_state_take(struct name_state *s, const struct name_result *r, int64_t now_ns)
{
	const size_t found = r->found_count < NAME_ADDRESSES_MAX ? r->found_count : NAME_ADDRESSES_MAX;
	const int err = reserve(s, s->count + found);

	s->failures = is_complete(r) && !err ? 0 : s->failures + 1;
	if (found == 0 || err) {
		take_bad(s, err ? NAME_OTHER : outcome_of(r), now_ns);
		return err;
	}
	merge(s, r, sort_found(s->entries + s->count, r->found, found), now_ns);
	s->outcome = NAME_GOOD;
	s->bad_since_ns = 0;
	return 0;
}

/* ---- holds ---- */

static int64_t hold_end(const struct name_entry *e, const struct name_terms *terms)
{
	const int64_t hold_ns = e->why == NAME_GOOD ? terms->hold_obsolete_ns : terms->hold_ns[e->why];

	return e->lost_ns == 0 ? CLOCK_NEVER : e->lost_ns + hold_ns;
}

size_t name_state_expire(struct name_state *s, const struct name_terms *terms, int64_t now_ns)
{
	const size_t had = s->count;

	s->count = 0;
	for (size_t i = 0; i < had; i++)
		if (hold_end(&s->entries[i], terms) > now_ns)
			s->entries[s->count++] = s->entries[i];
	return had - s->count;
}

int64_t name_state_hold_end(const struct name_state *s, const struct name_terms *terms)
{
	int64_t first_ns = CLOCK_NEVER;

	for (size_t i = 0; i < s->count; i++) {
		const int64_t end_ns = hold_end(&s->entries[i], terms);

		if (end_ns < first_ns)
			first_ns = end_ns;
	}
	return first_ns;
}

/* ---- the next query ---- */

int64_t name_state_ttl_wait(const struct name_terms *terms, uint32_t ttl_s)
{
	int64_t wait_ns = (int64_t)ttl_s * NS_PER_SEC;

	if (terms->interval_ns > 0 && wait_ns > terms->interval_ns)
		wait_ns = terms->interval_ns;
	if (wait_ns < NAME_TTL_MIN_NS)
		return NAME_TTL_MIN_NS;
	return wait_ns < NAME_TTL_MAX_NS ? wait_ns : NAME_TTL_MAX_NS;
}

int64_t name_state_wait(const struct name_state *s, const struct name_terms *terms, int64_t most_ns)
{
	int64_t wait_ns;

	if (s->failures == 0)
		return most_ns;
	wait_ns = resolver_wait_ns(s->failures, terms->interval_ns);
	return s->outcome != NAME_GOOD || wait_ns < most_ns ? wait_ns : most_ns;
}
