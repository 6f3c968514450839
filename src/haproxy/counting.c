/* SPDX-License-Identifier: MIT
 *
 * counting.c - track-sc: in whose stick table clients are counted, and when.
 *
 * A rule that asks for a number before its client is counted sees the others alone; a counter that nothing
 * has been put into by then has no number at all. Main thread.
 */
#include <stdint.h>
#include <string.h>

#include "rules.h"
#include "weir/base/check.h"

#define SECTIONS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN | 1u << PROXY_FRONTEND)

struct proxy *haproxy_table(const struct haproxy *h, const char *name)
{
	/* No section has a slash in its name. */
	return haproxy_find(h, strchr(name, '/') != NULL ? 1u << PROXY_OTHER : SECTIONS, name);
}

static bool is_tracking(const struct old_line *line)
{
	return strcmp(line->words[0], "tcp-request") == 0 && strncmp(old_word(line, 2), "track-sc", 8) == 0;
}

/* The section whose table such a line of `section` fills, or NULL. */
static struct proxy *table_of_line(const struct haproxy *h, const struct old_line *line,
				   struct proxy *section)
{
	for (size_t w = 3; w + 1 < line->count; w++)
		if (strcmp(line->words[w], "table") == 0)
			return haproxy_table(h, line->words[w + 1]);
	return section;
}

/* Takes the table of the last line that tracks with this counter, '0' to '9'. */
static void find_tracked(struct rules *r, const struct proxy *p, char counter, const struct proxy **table)
{
	for (size_t i = 0; p != NULL && i < p->lists[LIST_RULE].count; i++) {
		const struct old_line *line = p->lists[LIST_RULE].list[i];

		if (is_tracking(line) && old_word(line, 2)[8] == counter)
			*table = table_of_line(r->h, line, r->p);
	}
}

static const struct proxy *find_table(struct rules *r, const struct term *t)
{
	const struct proxy *table = NULL;

	if (t->name[0] != '\0')
		return haproxy_table(r->h, t->name);
	if (t->counter == '\0')
		return r->p;
	find_tracked(r, r->front, t->counter, &table);
	find_tracked(r, r->p->from, t->counter, &table);
	if (r->p != r->front)
		find_tracked(r, r->p, t->counter, &table);
	return table;
}

/* Does the term ask for the counter itself, and not for its client in a table? */
static bool is_of_counter(const struct term *t)
{
	return t->counter != '\0' && t->name[0] == '\0';
}

/* The rules that count first: of each kind, behind its number among those of a section; 0 = none does. */
struct firsts {
	size_t of_kind[RULE_KINDS];
	const struct proxy *table; /* that they count in, or NULL */
};

static bool counts_for(struct rules *r, struct proxy *section, const struct old_line *line,
		       const struct term *t, const struct proxy *table)
{
	if (!is_tracking(line))
		return false;
	return is_of_counter(t) ? old_word(line, 2)[8] == t->counter
				: table_of_line(r->h, line, section) == table;
}

/* Looks through the rules of one section; those of a frontend come before those of its backend. */
static void find_firsts(struct rules *r, struct proxy *section, const struct term *t,
			const struct proxy *table, struct firsts *firsts)
{
	const struct proxy *const both[] = {section->from, section};
	size_t n = 0;

	for (size_t b = 0; b < ARRAY_LEN(both); b++) {
		const struct old_lines *rules = both[b] != NULL ? &both[b]->lists[LIST_RULE] : NULL;
		const size_t most = b == 0 ? HANDED_DOWN_MAX : SIZE_MAX;

		for (size_t i = 0; rules != NULL && i < rules->count && i < most; i++) {
			const size_t kind = rules_kind(rules->list[i]);

			n++;
			if (kind < RULE_KINDS && firsts->of_kind[kind] == 0 &&
			    counts_for(r, section, rules->list[i], t, table))
				firsts->of_kind[kind] = section == r->p ? n : 1;
		}
	}
}

static const struct firsts *firsts_for(struct rules *r, const struct term *t)
{
	const char *key = arena_printf(r->h->arena, "%c%s", t->counter != '\0' ? t->counter : '-', t->name);
	struct firsts *firsts = index_find(&r->firsts, key);

	if (firsts != NULL)
		return firsts;
	firsts = arena_alloc(r->h->arena, sizeof(*firsts));
	*firsts = (struct firsts){.table = find_table(r, t)};
	if (r->p != r->front)
		find_firsts(r, r->front, t, firsts->table, firsts);
	find_firsts(r, r->p, t, firsts->table, firsts);
	index_put(r->h->arena, &r->firsts, key, firsts);
	return firsts;
}

const struct proxy *rules_table_of(struct rules *r, const struct term *t)
{
	return firsts_for(r, t)->table;
}

/* Does any section count clients in this one's table? */
static bool is_filled(struct haproxy *h, const struct proxy *table)
{
	for (size_t n = 0; !h->counting_known && n < h->count; n++)
		for (size_t i = 0; i < h->proxies[n]->lists[LIST_RULE].count; i++) {
			const struct old_line *line = h->proxies[n]->lists[LIST_RULE].list[i];
			struct proxy *filled =
			    is_tracking(line) ? table_of_line(h, line, h->proxies[n]) : NULL;

			if (filled == NULL)
				continue;
			filled->shares = filled->shares ||
					 (filled->counts != NULL && filled->counts != h->proxies[n]);
			filled->counts = h->proxies[n];
		}
	h->counting_known = true;
	return table != NULL && table->counts != NULL;
}

bool rules_share_table(struct rules *r, const struct term *t)
{
	const struct proxy *table = rules_table_of(r, t);

	return is_filled(r->h, table) && table->shares;
}

enum rules_counted rules_counted_at(struct rules *r, const struct old_line *line, const struct term *t)
{
	const struct firsts *firsts = firsts_for(r, t);
	const size_t own = rules_kind(line);
	bool later = false;

	check(own < RULE_KINDS);
	for (size_t kind = 0; kind < RULE_KINDS; kind++) {
		const size_t first = firsts->of_kind[kind];

		if (first > 0 && (kind < own || (kind == own && first <= r->at)))
			return RULES_COUNTED_BEFORE;
		later = later || first > 0;
	}
	/* What is put into a counter later is not seen. Another section may fill the table. */
	if (is_of_counter(t))
		return RULES_COUNTED_NEVER;
	later = later || is_filled(r->h, rules_table_of(r, t));
	return later ? RULES_COUNTED_LATER : RULES_COUNTED_NEVER;
}
