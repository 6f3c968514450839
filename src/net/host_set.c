/* SPDX-License-Identifier: MIT
 *
 * host_set.c - a set of host patterns as one hash table of their names.
 *
 * Open addressing, at most half full. A name is hashed from its end, so that the hashes of all the domains
 * above it come along the way. Clients choose the names they ask for, but not what is in the table: they
 * cannot lengthen its chains. Built on the main thread, then read by any thread.
 */
#include "weir/net/host_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"

struct slot {
	uint32_t tag; /* bits of the hash that do not choose the slot */
	uint32_t at;  /* where the name is in `names` */
	uint8_t len;  /* 0 = free */
	uint8_t reach; /* of all patterns with this name */
};

/* Another set whose patterns belong to this one, too. */
struct part {
	const struct host_set *set; /* borrows */
	struct part *next;          /* owns */
};

struct host_set {
	struct slot *slots; /* owns */
	char *names;        /* owns */
	struct part *parts; /* owns */
	size_t mask;
	size_t room; /* patterns that can still be added */
	size_t used; /* bytes of `names` */
	size_t bytes; /* that it has */
	uint8_t reach; /* of all patterns */
};

/* FNV-1a, from the last byte to the first. */
#define SUM_EMPTY UINT64_C(0xcbf29ce484222325)

static uint64_t sum_add(uint64_t sum, char c)
{
	return (sum ^ (uint8_t)c) * UINT64_C(0x100000001b3);
}

/* The slot that has the name, or the free one where it would be. */
static struct slot *find_slot(const struct host_set *set, uint64_t sum, const char *name, size_t len)
{
	const uint64_t hash = hash_mix(sum);
	const uint32_t tag = (uint32_t)(hash >> 32);
	size_t i = (size_t)hash & set->mask;

	while (set->slots[i].len != 0) {
		const struct slot *s = &set->slots[i];

		if (s->tag == tag && s->len == len && memcmp(set->names + s->at, name, len) == 0)
			break;
		i = (i + 1) & set->mask;
	}
	return &set->slots[i];
}

void host_set_add(struct host_set *set, const struct host_pattern *p)
{
	uint64_t sum = SUM_EMPTY;
	struct slot *s;

	check(set->room > 0);
	set->room--;
	for (size_t i = p->len; i-- > 0;)
		sum = sum_add(sum, p->name[i]);
	s = find_slot(set, sum, p->name, p->len);
	if (s->len == 0) {
		s->tag = (uint32_t)(hash_mix(sum) >> 32);
		s->at = (uint32_t)set->used;
		s->len = p->len;
		check(p->len <= set->bytes - set->used);
		memcpy(set->names + set->used, p->name, p->len);
		set->used += p->len;
	}
	s->reach |= p->reach;
	set->reach |= p->reach;
}

struct host_set *host_set_room(size_t count, size_t bytes)
{
	struct host_set *set = calloc(1, sizeof(*set));
	size_t slots = 2;

	check(count <= HOST_SET_MAX);
	check(bytes <= UINT32_MAX);
	if (set == NULL)
		return NULL;
	while (slots < 2 * count)
		slots *= 2;
	set->mask = slots - 1;
	set->room = count;
	set->bytes = bytes;
	set->slots = calloc(slots, sizeof(*set->slots));
	set->names = calloc(1, bytes + 1);
	if (set->slots == NULL || set->names == NULL) {
		host_set_free(set);
		return NULL;
	}
	return set;
}

struct host_set *host_set_new(const struct host_pattern *patterns, size_t count)
{
	struct host_set *set;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += patterns[i].len;
	set = host_set_room(count, bytes);
	for (size_t i = 0; set != NULL && i < count; i++)
		host_set_add(set, &patterns[i]);
	return set;
}

bool host_set_include(struct host_set *set, const struct host_set *other)
{
	struct part *part = calloc(1, sizeof(*part));

	if (part == NULL)
		return false;
	*part = (struct part){other, set->parts};
	set->parts = part;
	return true;
}

void host_set_free(struct host_set *set)
{
	if (set == NULL)
		return;
	while (set->parts != NULL) {
		struct part *part = set->parts;

		set->parts = part->next;
		free(part);
	}
	free(set->slots);
	free(set->names);
	free(set);
}

/* The slot of a domain that covers all of `reach` of the name: the name itself, or one above it that reaches
 * below. The topmost one; NULL: none. */
static const struct slot *find_cover(const struct host_set *set, const char *name, size_t len, uint8_t reach)
{
	uint64_t sum = SUM_EMPTY;

	for (size_t i = len; i-- > 0;) {
		const struct slot *s;
		/* A name above begins after a dot, and there is something before that dot. */
		const bool is_above = i > 1 && name[i - 1] == '.';
		const uint8_t needed = i == 0 ? reach : HOST_BELOW;

		sum = sum_add(sum, name[i]);
		if ((i > 0 && !is_above) || (set->reach & needed) != needed)
			continue;
		s = find_slot(set, sum, name + i, len - i);
		if (s->len > 0 && (s->reach & needed) == needed)
			return s;
	}
	return NULL;
}

bool host_set_has(const struct host_set *set, const char *name, size_t len)
{
	bool has = find_cover(set, name, len, HOST_EXACT) != NULL;

	for (const struct part *part = set->parts; part != NULL && !has; part = part->next)
		has = host_set_has(part->set, name, len);
	return has;
}

bool host_set_covers(const struct host_set *set, const struct host_pattern *narrow,
		     struct host_pattern *wide)
{
	const struct slot *s = find_cover(set, narrow->name, narrow->len, narrow->reach);

	if (s == NULL) {
		for (const struct part *part = set->parts; part != NULL; part = part->next)
			if (host_set_covers(part->set, narrow, wide))
				return true;
		return false;
	}
	memset(wide, 0, sizeof(*wide));
	wide->reach = s->reach;
	wide->len = s->len;
	memcpy(wide->name, set->names + s->at, s->len);
	return true;
}
