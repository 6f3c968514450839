/* SPDX-License-Identifier: MIT
 *
 * geo.c - networks as keys of a geo or a map.
 *
 * A map has an entry for each text. A geo is a list of changes, of which the last one counts: a network, or a
 * range, may be given again, be deleted, and a range may be a part of one before it. Main thread.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "map.h"
#include "network.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

#define CUT_MAX 1000 /* entries that a range is compared with */

/* Where an entry is; the entries themselves move. */
struct spot {
	size_t at;
};

/* One text for each way to write a network. */
static const char *plain(struct arena *a, const char *key)
{
	char text[INET6_ADDRSTRLEN];
	struct nginx_net net;

	if (!nginx_net_read(a, key, &net) || inet_ntop(net.family, net.address, text, sizeof(text)) == NULL)
		return key;
	return arena_printf(a, "%s/%u", text, net.bits);
}

/* Takes the entry with this key away. Returns whether there was one. */
static bool drop(struct nginx_map *m, const char *key, const char *why)
{
	const struct spot *spot = index_find(&m->networks, plain(m->n->arena, key));
	struct nginx_entry *e = spot != NULL ? &m->entries[spot->at] : NULL;

	if (e == NULL || e->key[0] == '\0')
		return false;
	old_set(m->n->arena, e->line, OLD_NO_EFFECT, "%s", why);
	e->key = "";
	return true;
}

/* The key in our words; NULL: it is neither a network, nor a range, nor a pattern. */
static const char *networks_of(struct nginx_map *m, const char *key)
{
	struct arena *a = m->n->arena;
	struct nginx_net net;

	if (key[0] == '~')
		return nginx_address_pattern(a, key + 1 + (key[1] == '*'));
	if (is_digit(key[0]) && strchr(key, '-') != NULL)
		return nginx_range(a, key);
	return nginx_net_read(a, nginx_network(a, key), &net) ? nginx_network(a, key) : NULL;
}

/* Longer prefixes first: their length counts as the rank's. Ranges, and the patterns of a map, are tried in
 * their order. */
static void add(struct nginx_map *m, struct old_line *line, const char *key, const char *list)
{
	const bool pattern = key[0] == '~';
	const char *slash = strchr(key, '/');

	nginx_map_add(m, line, list, pattern ? RANK_PATTERN : RANK_WILD);
	if (slash != NULL && !pattern && !m->is_geo)
		old_set(m->n->arena, line, OLD_DIFFERENT,
			"nginx's map compares this as a text, weir as a network");
	m->entries[m->count - 1].len = slash != NULL && !pattern ? (size_t)strtoul(slash + 1, NULL, 10) : 128;
}

/* Have two lists of networks an address in common? */
static bool meet(struct arena *a, const char *one, const char *other)
{
	struct work_list ours = {.count = 0}, theirs = {.count = 0};
	struct nginx_net big, small;

	work_list_split(a, &ours, one);
	work_list_split(a, &theirs, other);
	for (size_t i = 0; i < ours.count; i++)
		for (size_t k = 0; k < theirs.count; k++)
			if (nginx_net_read(a, ours.items[i], &big) &&
			    nginx_net_read(a, theirs.items[k], &small) &&
			    (nginx_net_covers(&big, &small) || nginx_net_covers(&small, &big)))
				return true;
	return false;
}

/* Has another range addresses of this one? nginx cuts the earlier of the two to pieces, and 'delete' takes
 * those that are the same as its own. */
static bool is_cut(const struct nginx_map *m, const char *list)
{
	if (!m->ranges || m->count > CUT_MAX)
		return m->ranges;
	for (size_t i = 0; i < m->count; i++)
		if (m->entries[i].key[0] != '\0' && strcmp(m->entries[i].key, list) != 0 &&
		    meet(m->n->arena, m->entries[i].key, list))
			return true;
	return false;
}

static void take_delete(struct nginx_map *m, struct old_line *line)
{
	const char *list = networks_of(m, old_word(line, 1));

	if (list == NULL)
		old_set(m->n->arena, line, OLD_LOST, "not a network");
	else if (strcmp(plain(m->n->arena, list), "0.0.0.0/0") == 0 ||
		 strcmp(plain(m->n->arena, list), "::/0") == 0)
		old_set(m->n->arena, line, OLD_LOST,
			"nginx takes the default of these addresses away: write 'default \"\"' for that");
	else if (is_cut(m, list))
		old_set(m->n->arena, line, OLD_LOST,
			"other ranges have addresses of this one: leave them out there");
	else if (drop(m, list, "a 'delete' behind it takes it away"))
		old_set(m->n->arena, line, OLD_CARRIED, NULL);
	else if (strchr(old_word(line, 1), '-') != NULL)
		old_set(m->n->arena, line, OLD_LOST,
			"nothing before it is this range: leave out what it is a part of");
	else
		old_set(m->n->arena, line, OLD_NO_EFFECT, "nothing before it is this network");
}

/* Is the key of a map, which is no pattern, a text that nginx has for no address? Those of Unix sockets have
 * one. */
static bool is_unwritten(struct arena *a, const char *key)
{
	struct nginx_net net;

	if (key[0] == '~' || key[0] == '\0' || strpbrk(key, "/-") != NULL || strncmp(key, "unix:", 5) == 0)
		return false;
	return !nginx_net_read(a, key, &net) ||
	       strcasecmp(arena_printf(a, "%s/%u", key, net.bits), plain(a, key)) != 0;
}

void nginx_map_take_network(struct nginx_map *m, struct old_line *line, const char *key)
{
	struct arena *a = m->n->arena;
	const char *list;
	struct spot *spot;

	if (m->is_geo && strcmp(key, "delete") == 0) {
		take_delete(m, line);
		return;
	}
	list = networks_of(m, key);
	if (!m->is_geo && is_unwritten(a, key)) {
		old_set(a, line, OLD_NO_EFFECT,
			"nginx compares texts, and writes no client's address like this");
		return;
	}
	if (list == NULL) {
		old_set(a, line, OLD_LOST, "not a network");
		return;
	}
	if (m->is_geo) {
		(void)drop(m, list, "a line behind it has the same addresses"); /* or it is the first */
		spot = arena_alloc(a, sizeof(*spot));
		spot->at = m->count;
		index_put(a, &m->networks, plain(a, list), spot);
	}
	add(m, line, key, list);
}

void nginx_geo_take_default(struct nginx_map *m)
{
	static const char why[] = "the default behind it is for the same addresses";

	if (!m->is_geo || m->ranges)
		return;
	(void)drop(m, "0.0.0.0/0", why); /* mostly, there is none */
	(void)drop(m, "::/0", why);
}

/* The last range that has an address counts, and weir takes the first line. */
void nginx_geo_settle(struct nginx_map *m)
{
	size_t count = 0;

	for (size_t i = 0; m->is_geo && i < m->count; i++)
		if (m->entries[i].key[0] != '\0')
			m->entries[count++] = m->entries[i];
	m->count = m->is_geo ? count : m->count;
	for (size_t i = 0; m->ranges && i < count / 2; i++) {
		const struct nginx_entry e = m->entries[i];

		m->entries[i] = m->entries[count - 1 - i];
		m->entries[count - 1 - i] = e;
	}
}
