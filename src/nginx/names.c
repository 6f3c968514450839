/* SPDX-License-Identifier: MIT
 *
 * names.c - server blocks that share their addresses and are told apart by server_name.
 *
 * One frontend for all: the block that nginx takes by default says who may connect, each other block has
 * use-backend lines for its names. The clients of a block without proxy_pass are refused. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "server.h"
#include "weir/base/check.h"

#define OF_DEFAULT "default" /* in place of the number of a block */

static bool is_server(const struct old_line *line)
{
	return line->block && strcmp(line->words[0], "server") == 0;
}

static const struct old_line *find_listen(const struct old_line *block, const char *address)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];

		if (strcmp(line->words[0], "listen") == 0 &&
		    nginx_is_same_listen(old_word(line, 1), address) && !old_has_word(line, 2, "udp") &&
		    !old_has_word(line, 2, "ssl"))
			return line;
	}
	return NULL;
}

/* Has `a` each address of `b`? */
static bool listens_as(const struct old_line *a, const struct old_line *b)
{
	size_t count = 0;

	for (size_t i = 0; i < b->inside.count; i++) {
		if (strcmp(b->inside.list[i]->words[0], "listen") != 0)
			continue;
		count++;
		if (find_listen(a, old_word(b->inside.list[i], 1)) == NULL)
			return false;
	}
	return count > 0;
}

/* Do the blocks have the same addresses? */
static bool shares(const struct old_line *a, const struct old_line *b)
{
	return a != b && is_server(a) && is_server(b) && listens_as(a, b) && listens_as(b, a);
}

static bool is_default(const struct old_line *block)
{
	for (size_t i = 0; i < block->inside.count; i++)
		if (strcmp(block->inside.list[i]->words[0], "listen") == 0 &&
		    (old_has_word(block->inside.list[i], 2, "default_server") ||
		     old_has_word(block->inside.list[i], 2, "default")))
			return true;
	return false;
}

/* The server blocks that have an address of the block, itself among them. */
static const struct old_lines *neighbours(const struct nginx *n, const struct old_line *block)
{
	static const struct old_lines none = {.count = 0};
	const struct old_line *line = nginx_find(&block->inside, NULL, "listen");
	const struct old_lines *found = line != NULL ? nginx_listening(n, old_word(line, 1)) : NULL;

	return found != NULL ? found : &none;
}

struct old_line *nginx_default_of(const struct nginx *n, struct old_line *block)
{
	struct old_line *found = is_default(block) ? block : NULL, *first = NULL;
	const struct old_lines *others = neighbours(n, block);

	for (size_t i = 0; i < others->count; i++) {
		struct old_line *other = others->list[i];

		if (other != block && !shares(block, other))
			continue;
		first = first == NULL ? other : first;
		if (found == NULL && is_default(other))
			found = other;
	}
	if (found == NULL)
		found = first;
	return found != NULL ? found : block;
}

/* What a block cannot have for itself: nginx judges a client before it reads the name. */
static void drop_own_rules(struct nginx *n, struct old_line *block)
{
	static const char *const judging[] = {"allow", "deny", "limit_conn"};

	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];

		for (size_t w = 0; w < ARRAY_LEN(judging); w++)
			if (strcmp(line->words[0], judging[w]) == 0)
				old_set(n->arena, line, OLD_NO_EFFECT,
					"nginx goes by the rules of the default server block of the address");
		if (strcmp(line->words[0], "proxy_download_rate") == 0)
			old_set(n->arena, line, OLD_LOST,
				"it would hold for the other server blocks of the address, too");
	}
}

static void add_names(struct nginx_map *m, struct old_line *line, const char *member)
{
	for (size_t i = 1; i < line->count; i++) {
		const char *name = line->words[i];

		/* A client without a name gets the default block, whatever "" is a name of. */
		if (strcmp(name, "_") != 0 && name[0] != '\0')
			nginx_map_add_name(m, line, name, member);
	}
}

bool nginx_is_shared(const struct nginx *n, const struct old_line *block)
{
	const struct old_lines *others = neighbours(n, block);

	for (size_t i = 0; i < others->count; i++)
		if (shares(block, others->list[i]))
			return true;
	return false;
}

bool nginx_shares_with_proxy(const struct nginx *n, const struct old_line *block)
{
	const struct old_lines *others = neighbours(n, block);

	for (size_t i = 0; i < others->count; i++)
		if (shares(block, others->list[i]) &&
		    nginx_find(&others->list[i]->inside, NULL, "proxy_pass") != NULL)
			return true;
	return false;
}

/* Of the names of the default block itself, those that a wider name of another block would take from it. */
static void add_default_names(const struct serving *v, struct nginx_map *names)
{
	struct old_line *line = nginx_find(&v->block->inside, NULL, "server_name");
	bool any_wide = false;

	for (size_t i = 0; i < names->count; i++)
		any_wide = any_wide || names->entries[i].rank != RANK_EXACT;
	if (line != NULL && any_wide)
		add_names(names, line, OF_DEFAULT);
}

/* Does a later entry of another block take a name of entry `e`? */
static bool is_taken(const struct nginx_map *names, const struct nginx_entry *e)
{
	struct arena *a = names->n->arena;
	struct work_list own = {.count = 0};

	work_list_split(a, &own, e->key);
	for (const struct nginx_entry *other = e + 1; other < names->entries + names->count; other++) {
		struct work_list keys = {.count = 0};

		if (strcmp(other->value, OF_DEFAULT) == 0 || other->rank == RANK_EXACT)
			continue;
		work_list_split(a, &keys, other->key);
		for (size_t i = 0; i < own.count; i++)
			for (size_t k = 0; k < keys.count; k++)
				if (nginx_name_covers(keys.items[k], own.items[i]) ||
				    nginx_name_covers(own.items[i], keys.items[k]))
					return true;
	}
	return false;
}

/* Leaves out the names of the default block that it gets without a line. */
static void drop_default_names(struct nginx_map *names)
{
	size_t count = 0;

	nginx_map_sort(names);
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->entries[i].value, OF_DEFAULT) != 0 || is_taken(names, &names->entries[i]))
			names->entries[count++] = names->entries[i];
	names->count = count;
	nginx_map_sort(names);
}

void nginx_add_members(struct serving *v)
{
	struct nginx *n = v->n;
	struct nginx_map names = {.n = n, .subject = BY_SNI, .hostnames = true};
	const struct old_lines *others = neighbours(n, v->block);

	for (size_t i = 0; i < others->count; i++) {
		struct old_line *other = others->list[i];
		struct old_line *line = nginx_find(&other->inside, NULL, "server_name");

		if (!shares(v->block, other))
			continue;
		if (!serving_is_on(serving_find(v, "ssl_preread")) || line == NULL) {
			nginx_mark(n, other, OLD_NO_EFFECT,
				   "another server block of the address gets all clients");
			continue;
		}
		drop_own_rules(n, other);
		add_names(&names, line, arena_printf(n->arena, "%zu", i));
		old_set(n->arena, line, OLD_CARRIED, NULL);
	}
	add_default_names(v, &names);
	drop_default_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		const struct nginx_entry *e = &names.entries[i];
		struct old_line *block = v->block;

		if (e->key[0] == '\0')
			continue;
		if (strcmp(e->value, OF_DEFAULT) != 0)
			block = others->list[strtoul(e->value, NULL, 10)];
		old_set(n->arena, e->line, OLD_CARRIED, NULL);
		nginx_member(v, block, nginx_map_join(&names, i));
	}
}
