/* SPDX-License-Identifier: MIT
 *
 * harmless.c - the tcp-request and tcp-response rules that refuse nobody.
 *
 * They end the waiting, or are for logs and for other lines. Main thread.
 */
#include <string.h>

#include "route.h"
#include "rules.h"
#include "weir/base/check.h"

static bool refuses(const struct old_line *line, size_t at)
{
	static const char *const words[] = {"reject", "silent-drop", "close"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(old_word(line, at), words[i]) == 0)
			return true;
	return false;
}

size_t rules_kind(const struct old_line *line)
{
	static const char *const kinds[RULE_KINDS] = {"connection", "session", "content"};
	size_t i = 0;

	while (i < RULE_KINDS && strcmp(old_word(line, 1), kinds[i]) != 0)
		i++;
	return i;
}

struct refusals rules_refusals(const struct rule *rules, size_t count)
{
	struct refusals r = {{0}};

	for (size_t i = 0; i < count; i++) {
		const size_t kind = rules_kind(rules[i].line);

		if (kind < RULE_KINDS && refuses(rules[i].line, 2))
			r.end[kind] = i + 1;
	}
	return r;
}

/* Does rule number `i` accept, and no later one of its kind refuses? Then it only ends the waiting. */
static bool only_ends_waiting(const struct old_line *line, size_t i, const struct refusals *refusals)
{
	const size_t kind = rules_kind(line);

	return kind < RULE_KINDS && strcmp(old_word(line, 2), "accept") == 0 && refusals->end[kind] <= i;
}

static void end_waiting(struct haproxy *h, struct proxy *p, struct old_line *line)
{
	struct condition c = {.count = 0};

	if (line->count > 4)
		haproxy_terms(h, p, line->words + 4, line->count - 4, false, &c);
	if (c.error == NULL && condition_other(&c) == NULL)
		condition_carried(h, &c);
	old_set(h->arena, line, OLD_NO_EFFECT,
		"it refuses nobody: weir goes on as soon as it knows what its routes ask for");
}

bool rules_take_harmless(struct haproxy *h, const struct rule *rules, size_t i,
			 const struct refusals *refusals)
{
	struct old_line *line = rules[i].line;

	if (strcmp(old_word(line, 2), "capture") == 0)
		old_set(h->arena, line, OLD_NO_EFFECT,
			"it is for logs: weir's have what it knows of a session");
	else if (strncmp(old_word(line, 2), "set-var", 7) == 0)
		old_set(h->arena, line, OLD_NO_EFFECT,
			"a variable has an effect where it is used: those lines say which");
	else if (only_ends_waiting(line, i, refusals))
		end_waiting(h, rules[i].owner, line);
	else
		return false;
	return true;
}

static bool has_rule(const struct proxy *p, const char *word)
{
	for (; p != NULL; p = p->from)
		for (size_t i = 0; i < p->lists[LIST_RULE].count; i++)
			if (strcmp(old_word(p->lists[LIST_RULE].list[i], 2), word) == 0)
				return true;
	return false;
}

bool haproxy_moves(const struct haproxy *h, struct proxy *p, bool port)
{
	const struct proxy *front;

	if (!p->moves_known) {
		p->moves_known = true;
		p->moves = has_rule(p, "set-dst");
		p->moves_port = has_rule(p, "set-dst-port");
		for (size_t i = 0; (front = haproxy_leader(h, p, i)) != NULL; i++) {
			p->moves = p->moves || has_rule(front, "set-dst");
			p->moves_port = p->moves_port || has_rule(front, "set-dst-port");
		}
	}
	return port ? p->moves_port : p->moves;
}

void haproxy_responses(struct haproxy *h, struct proxy *p)
{
	bool refused = false;

	for (size_t i = 0; i < p->all.count; i++)
		refused = refused ||
			  (strcmp(p->all.list[i]->words[0], "tcp-response") == 0 &&
			   refuses(p->all.list[i], 2));
	for (size_t i = 0; i < p->all.count && !refused; i++) {
		struct old_line *line = p->all.list[i];

		if (strcmp(line->words[0], "tcp-response") == 0 &&
		    (strcmp(old_word(line, 1), "inspect-delay") == 0 || strcmp(old_word(line, 2), "accept") ==
		     0))
			old_set(h->arena, line, OLD_NO_EFFECT,
				"it refuses nobody: weir waits for no response");
	}
}

static bool has_content_rule(const struct proxy *p)
{
	for (size_t i = 0; i < p->lists[LIST_RULE].count; i++)
		if (strcmp(old_word(p->lists[LIST_RULE].list[i], 1), "content") == 0)
			return true;
	return p->from != NULL && has_content_rule(p->from);
}

void haproxy_say_who_waits(struct haproxy *h, struct proxy *p, const struct use_line *routes,
			   size_t count)
{
	bool waits = slot_on(p, SLOT_INSPECT) && has_content_rule(p);

	for (size_t i = 0; i < count && !waits; i++)
		waits = routes[i].to != NULL && slot_on(routes[i].owner, SLOT_INSPECT) &&
			has_content_rule(routes[i].owner);
	if (!waits)
		work_note(h->work,
			  "'%s' has no 'tcp-request content' line with an inspect-delay: HAProxy mostly "
			  "chooses the backend before a client has sent anything; weir waits, as the "
			  "conditions need it",
			  p->name);
}
