/* SPDX-License-Identifier: MIT
 *
 * narrow.c - a map that is looked up for some clients only: what its entries and they have in common.
 *
 * Two keys are nested or disjoint: the smaller one is what they share. Protocols of ALPN are not like that,
 * because a client offers several: maps are not narrowed by them. Main thread.
 */
#include <string.h>
#include <strings.h>

#include "map.h"
#include "network.h"
#include "weir/base/check.h"

/* Does `name` end with '.' and `domain`? */
static bool is_below(const char *name, const char *domain)
{
	const size_t len = strlen(name), behind = strlen(domain);

	return len > behind && name[len - behind - 1] == '.' && strcasecmp(name + len - behind, domain) == 0;
}

bool nginx_name_covers(const char *all, const char *one)
{
	const bool is_wide = strncmp(one, "*.", 2) == 0;
	const char *bare = is_wide ? one + 2 : one + (one[0] == '.');

	if (strcasecmp(all, one) == 0)
		return true;
	if (strcmp(all, "none") == 0 || strcmp(one, "none") == 0 || strcmp(one, "any") == 0)
		return false;
	if (strcmp(all, "any") == 0)
		return true;
	if (all[0] == '.')
		return strcasecmp(all + 1, bare) == 0 || is_below(bare, all + 1);
	if (strncmp(all, "*.", 2) == 0)
		return is_below(bare, all + 2) || (is_wide && strcasecmp(all + 2, bare) == 0);
	return false;
}

static bool network_covers(struct arena *a, const char *all, const char *one)
{
	struct nginx_net big, small;

	return nginx_net_read(a, all, &big) && nginx_net_read(a, one, &small) &&
	       nginx_net_covers(&big, &small);
}

static bool covers(const struct nginx_map *m, const char *all, const char *one)
{
	if (m->subject == BY_SNI)
		return nginx_name_covers(all, one);
	if (m->subject == BY_SOURCE)
		return network_covers(m->n->arena, all, one);
	return strcmp(all, one) == 0;
}

/* The clients of `all` but those of `one`, which it covers: .NAME without NAME is *.NAME, and the other way
 * round. Of other keys nothing is taken: the line for `one` is before theirs. */
static const char *without(struct arena *a, const char *all, const char *one)
{
	if (all[0] != '.')
		return all;
	if (strcasecmp(all + 1, one) == 0)
		return arena_printf(a, "*%s", all);
	return one[0] == '*' && strcasecmp(all, one + 1) == 0 ? all + 1 : all;
}

/* What entry `e` and the clients of `rest` have in common; those that it covers are no longer in `rest`. */
static const char *meet(const struct nginx_map *m, const struct nginx_entry *e, struct work_list *rest)
{
	struct arena *a = m->n->arena;
	struct work_list keys = {.count = 0}, common = {.count = 0};
	size_t left = 0;

	work_list_split(a, &keys, e->key);
	for (size_t i = 0; i < rest->count; i++) {
		bool covered = false;

		for (size_t k = 0; k < keys.count && !covered; k++)
			covered = covers(m, keys.items[k], rest->items[i]);
		if (covered) {
			work_list_add(a, &common, rest->items[i]);
			continue;
		}
		rest->items[left] = rest->items[i];
		for (size_t k = 0; k < keys.count; k++) {
			if (!covers(m, rest->items[i], keys.items[k]))
				continue;
			work_list_add(a, &common, keys.items[k]);
			rest->items[left] = without(a, rest->items[left], keys.items[k]);
		}
		left++;
	}
	rest->count = left;
	return work_joined(a, common.items, common.count, ",");
}

const char *nginx_map_narrow(struct nginx_map *m, const char *keys)
{
	struct work_list rest = {.count = 0};
	size_t count = 0;

	check(m->subject != BY_ALPN);
	work_list_split(m->n->arena, &rest, keys);
	for (size_t i = 0; i < m->count && rest.count > 0; i++) {
		const char *key = meet(m, &m->entries[i], &rest);

		if (key[0] == '\0')
			continue;
		m->entries[count] = m->entries[i];
		m->entries[count++].key = key;
	}
	m->count = count;
	return work_joined(m->n->arena, rest.items, rest.count, ",");
}
