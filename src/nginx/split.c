/* SPDX-License-Identifier: MIT
 *
 * split.c - split_clients becomes servers with weights.
 *
 * nginx hashes a text for each client and takes the part of the split that the hash falls into. weir chooses
 * among all servers of all parts, whose weights are in the same proportion. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "variable.h"
#include "weight.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

#define WHOLE 10000 /* nginx counts in hundredths of a percent */
#define MEMBERS_MAX 200

/* One server of the result. */
struct member {
	struct old_line *line;
	const char *address;
	const char *words; /* of the server line; "" = none */
	double share;
};

struct split {
	struct nginx *n;
	struct member members[MEMBERS_MAX];
	size_t count;
	struct old_line *lost; /* the first part that has no server */
	double left;	       /* what no part has */
};

static void add_member(struct split *s, struct old_line *line, const char *address, double share)
{
	if (s->count < MEMBERS_MAX && address[0] != '\0' && strchr(address, '$') == NULL &&
	    strchr(address, ':') != NULL)
		s->members[s->count++] = (struct member){.line = line, .address = address, .share = share};
	else
		s->lost = line;
}

/* The weight that a server of an upstream has there. */
static unsigned weight_of(const struct old_line *server)
{
	for (size_t i = 2; i < server->count; i++)
		if (strncmp(server->words[i], "weight=", 7) == 0)
			return (unsigned)strtoul(server->words[i] + 7, NULL, 10);
	return 1;
}

/* The servers of an upstream share the part by their weights. */
static void add_upstream(struct split *s, struct old_line *block, double share)
{
	const struct old_lines *lines = &block->inside;
	unsigned sum = 0;

	for (size_t i = 0; i < lines->count; i++)
		sum += strcmp(lines->list[i]->words[0], "server") == 0 ? weight_of(lines->list[i]) : 0;
	old_set(s->n->arena, block, OLD_CARRIED, NULL);
	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (strcmp(line->words[0], "random") == 0 ||
		    (strcmp(line->words[0], "hash") == 0 && nginx_is_of_connection(old_word(line, 1)))) {
			old_set(s->n->arena, line, OLD_DIFFERENT,
				"the servers of all parts take turns by weight");
			continue;
		}
		if (strcmp(line->words[0], "zone") == 0)
			continue;
		if (strcmp(line->words[0], "server") != 0) {
			old_set(s->n->arena, line, OLD_LOST, "it is one of several upstreams of a split");
			continue;
		}
		for (size_t w = 2; w < line->count; w++)
			if (strncmp(line->words[w], "weight=", 7) != 0)
				old_set(s->n->arena, line, OLD_LOST, "'%s' of a server of a split",
					line->words[w]);
		add_member(s, line, old_word(line, 1), share * weight_of(line) / (sum > 0 ? sum : 1));
	}
}

static void add_part(struct split *s, struct old_line *line, const char *target, double share)
{
	struct old_line *block = nginx_block(s->n, "upstream", target);

	old_set(s->n->arena, line, OLD_CARRIED, NULL);
	if (block != NULL)
		add_upstream(s, block, share);
	else
		add_member(s, line, target, share);
}

/* Reads the parts; `text` has the variable of the split. */
static void read_parts(struct split *s, const struct old_line *block, const char *text)
{
	const char *name = block->words[block->count - 1] + 1;

	s->left = WHOLE;
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];
		const char *target = nginx_replace(s->n->arena, text, name, old_word(line, 1));
		const double share =
		    strcmp(line->words[0], "*") == 0 ? s->left : strtod(line->words[0], NULL) * WHOLE / 100;

		s->left -= share;
		if (line->count != 2 || share < 0)
			old_set(s->n->arena, line, OLD_LOST, "a part has a percentage and a value");
		else if (share > 0)
			add_part(s, line, target, share);
		else
			old_set(s->n->arena, line, OLD_NO_EFFECT, "no clients are left for it");
	}
}

/* Whole numbers in the proportion of the shares: small ones if there are some. */
static unsigned weight_for(const struct split *s, double share)
{
	double smallest = WHOLE, largest = 0, unit;

	for (size_t i = 0; i < s->count; i++) {
		smallest = s->members[i].share < smallest ? s->members[i].share : smallest;
		largest = s->members[i].share > largest ? s->members[i].share : largest;
	}
	unit = smallest;
	for (size_t i = 0; i < s->count; i++) {
		const double times = s->members[i].share / smallest;

		if (times - (double)(unsigned)(times + 0.5) > 0.001 ||
		    (double)(unsigned)(times + 0.5) - times > 0.001)
			unit = largest / NGINX_WEIGHT_MAX;
	}
	if (largest / unit > NGINX_WEIGHT_MAX)
		unit = largest / NGINX_WEIGHT_MAX;
	return share / unit < 1 ? 1 : (unsigned)(share / unit + 0.5);
}

/* Chooses the server by what nginx hashes, where weir can. */
static void add_balance(struct nginx *n, struct ini_section *section, struct old_line *block)
{
	const char *source = nginx_map_source(block);

	if (nginx_is_of_connection(source) || strstr(source, "$msec") != NULL)
		return;
	if (strstr(source, "remote_addr") != NULL)
		ini_add(n->ini, section, NULL, "balance", "source");
	else
		old_set(n->arena, block, OLD_DIFFERENT,
			"nginx gives all connections with the same '%s' to the same part: weir's servers "
			"take turns", source);
}

bool nginx_split(struct nginx *n, struct ini_section *section, struct old_line *block, const char *text)
{
	struct split *s = arena_alloc(n->arena, sizeof(*s));

	*s = (struct split){.n = n};
	read_parts(s, block, text);
	if (s->lost != NULL || s->count == 0) {
		old_set(n->arena, s->lost != NULL ? s->lost : block, OLD_LOST,
			"it is no address and no upstream of addresses");
		return false;
	}
	for (size_t i = 0; i < s->count; i++)
		ini_add(n->ini, section, s->members[i].line, arena_printf(n->arena, "server s%zu", i + 1),
			"%s weight=%u", s->members[i].address, weight_for(s, s->members[i].share));
	add_balance(n, section, block);
	if (s->left >= 0.5)
		old_set(n->arena, block, OLD_DIFFERENT,
			"nginx closes the %.2f %% of the clients that no part has: weir gives them to the "
			"parts", s->left * 100 / WHOLE);
	old_set(n->arena, block, OLD_DIFFERENT,
		"the parts are weights of servers of one backend: if a server is down, its clients go to "
		"the others");
	return true;
}
