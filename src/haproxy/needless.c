/* SPDX-License-Identifier: MIT
 *
 * needless.c - use_backend lines that say what others say without them.
 *
 * They are taken out before routes are converted: weir could not write what they ask for. Main thread.
 */
#include <string.h>

#include "route.h"
#include "sections.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

static void take_out(struct proxy *p, size_t rule)
{
	struct old_lines *rules = &p->lists[LIST_ROUTE];

	memmove(&rules->list[rule], &rules->list[rule + 1],
		(rules->count - rule - 1) * sizeof(struct old_line *));
	rules->count--;
}

/* ---- use_backend B if { nbsrv(B) gt 0 } ---- */

/* Does the condition ask only whether the backend itself has a server? */
static bool asks_itself(const struct condition *c, const char *backend)
{
	const struct term *t = c->error == NULL && c->count == 1 && c->counts[0] == 1 ? c->all[0][0] : NULL;

	return t != NULL && t->kind == TERM_NONE_UP && t->negated && strcmp(t->name, backend) == 0;
}

/* As the last line, it is the default, and what was the default takes the clients while it has no server. */
static void take_last(struct haproxy *h, struct proxy *p)
{
	struct old_lines *rules = &p->lists[LIST_ROUTE];
	struct slot_value *last = &p->slots[SLOT_BACKEND];
	struct old_line *line = rules->count > 0 ? rules->list[rules->count - 1] : NULL;
	const struct proxy *to, *other = NULL;
	struct condition c;

	if (line == NULL || line->count < 4 || p->kind != PROXY_FRONTEND)
		return;
	haproxy_line_terms(h, p, line, &c);
	to = haproxy_find(h, BACKENDS, old_word(line, 1));
	if (!asks_itself(&c, old_word(line, 1)) || to == NULL || to->out == NULL)
		return;
	if (slot_on(p, SLOT_BACKEND)) {
		other = haproxy_find(h, BACKENDS, slot_word(p, SLOT_BACKEND, 0));
		if (other == NULL || other->out == NULL || ini_find(to->out, "fallback-backend") != NULL)
			return;
		if (other != to)
			ini_add(h->ini, to->out, last->line, "fallback-backend", "%s", other->out->name);
	}
	condition_carried(h, &c);
	*last = (struct slot_value){.line = line, .at = 1};
	take_out(p, rules->count - 1);
	if (other != NULL)
		haproxy_leads_no_more(h, p, other->name);
}

/* ---- a line before one that does the same for more clients ---- */

/* Are the words behind 'if' of `wide` those of `narrow` from number `at` on? */
static bool has_words_at(const struct old_line *narrow, size_t at, const struct old_line *wide)
{
	for (size_t i = 3; i < wide->count; i++)
		if (strcmp(old_word(narrow, at + i - 3), wide->words[i]) != 0)
			return false;
	return true;
}

/* Does `narrow` ask what `wide` asks, and more, before it or behind it, for the same backend? */
static bool is_wider(const struct old_line *wide, const struct old_line *narrow)
{
	const size_t more = narrow->count - wide->count;

	if (strcmp(old_word(wide, 1), old_word(narrow, 1)) != 0 || strcmp(old_word(wide, 2), "if") != 0 ||
	    strcmp(old_word(narrow, 2), "if") != 0 || old_has_word(narrow, 3, "or") ||
	    old_has_word(narrow, 3, "||") || wide->count < 4 || narrow->count < wide->count)
		return false;
	return has_words_at(narrow, 3, wide) ||
	       (has_words_at(narrow, 3 + more, wide) && strcmp(old_word(narrow, 2 + more), "!") != 0);
}

/* Nothing more is asked by the acl lines that cannot be converted. */
static void leave_acls(struct haproxy *h, const struct condition *c, unsigned line)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			if (c->all[i][t]->kind == TERM_OTHER && c->all[i][t]->acl != NULL)
				old_set(h->arena, c->all[i][t]->acl, OLD_NO_EFFECT,
					"line %u sends clients without it", line);
}

static void take_narrow(struct haproxy *h, struct proxy *p)
{
	const struct old_lines *rules = &p->lists[LIST_ROUTE];

	for (size_t i = 0; i + 1 < rules->count; i++) {
		struct old_line *line = rules->list[i];
		struct condition c;

		if (line->count < 4 || !is_wider(rules->list[i + 1], line))
			continue;
		haproxy_line_terms(h, p, line, &c);
		if (c.error == NULL && condition_other(&c) == NULL)
			continue;
		old_set(h->arena, line, OLD_NO_EFFECT, "line %u sends these clients there, too",
			rules->list[i + 1]->line);
		leave_acls(h, &c, rules->list[i + 1]->line);
		take_out(p, i--);
	}
}

/* The last lines, if they lead where the default leads: weir need not know whom they are for. */
static void take_like_default(struct haproxy *h, struct proxy *p)
{
	const struct old_lines *rules = &p->lists[LIST_ROUTE];
	const struct slot_value *last = &p->slots[SLOT_BACKEND];

	while (slot_on(p, SLOT_BACKEND) && rules->count > 0) {
		struct old_line *line = rules->list[rules->count - 1];
		struct condition c;

		if (line->count < 4 || strcmp(old_word(line, 1), slot_word(p, SLOT_BACKEND, 0)) != 0)
			return;
		haproxy_line_terms(h, p, line, &c);
		if (c.error == NULL && condition_other(&c) == NULL)
			return;
		old_set(h->arena, line, OLD_NO_EFFECT, "line %u sends these clients there, too",
			last->line->line);
		leave_acls(h, &c, last->line->line);
		take_out(p, rules->count - 1);
	}
}

void haproxy_needless(struct haproxy *h, struct proxy *p)
{
	take_narrow(h, p);
	take_like_default(h, p);
	take_last(h, p);
}
