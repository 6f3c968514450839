/* SPDX-License-Identifier: MIT
 *
 * harmless.c - the tcp-request and tcp-response rules that refuse nobody.
 *
 * They end the waiting, or are for logs and for other lines. Main thread.
 */
#include <stdint.h>
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

/* ---- who waits ---- */

/* Does the condition ask for what a client sends, or for the end of inspect-delay? */
static bool needs_data(const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			switch (c->all[i][t]->kind) {
			case TERM_SRC:
			case TERM_PORT:
			case TERM_FALSE:
			case TERM_NONE_UP:
			case TERM_RATE:
			case TERM_OPEN:
				break;
			case TERM_TRUE:
				if (c->all[i][t]->differs == NULL)
					break;
				return true;
			default:
				return true;
			}
	return c->error != NULL;
}

/* How HAProxy goes on at a rule: at once, for all clients or some, or once a client has sent something. */
enum pace { PACE_NEXT, PACE_AT_ONCE, PACE_SOME_AT_ONCE, PACE_WAITS };

static enum pace pace_of(struct haproxy *h, struct proxy *owner, const struct old_line *line)
{
	const char *what = old_word(line, 2);
	const bool judges = strcmp(what, "accept") == 0 || refuses(line, 2);
	struct condition c;

	if (rules_kind(line) != RULES_OF_CONTENTS)
		return PACE_NEXT;
	if (judges && line->count == 3)
		return PACE_AT_ONCE;
	if (!judges) /* such as set-var(req.x) req.ssl_sni, which waits for that */
		return strncmp(what, "track-sc", 8) == 0 ? PACE_NEXT : PACE_WAITS;
	haproxy_terms(h, owner, line->words + 4, line->count - 4, strcmp(old_word(line, 3), "unless") == 0,
		      &c);
	if (needs_data(&c))
		return PACE_WAITS;
	return what[0] == 'a' && !condition_never_holds(&c) ? PACE_SOME_AT_ONCE : PACE_NEXT;
}

#define SPARED                                                                                          \
	"HAProxy mostly chooses the backend of these clients before they have sent anything: weir waits, " \
	"as the conditions need it"

/* Do clients of HAProxy's wait for data in the rules of a section? Says which lines spare some of them. */
static bool waits(struct haproxy *h, struct proxy *p)
{
	struct proxy *const owners[] = {p->from, p};
	struct old_lines early = {.count = 0};

	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		const struct old_lines *rules = owners[i] != NULL ? &owners[i]->lists[LIST_RULE] : NULL;
		const size_t most = i == 0 ? HANDED_DOWN_MAX : SIZE_MAX;

		for (size_t n = 0; rules != NULL && n < rules->count && n < most; n++) {
			struct old_line *line = rules->list[n];
			const enum pace pace = pace_of(h, owners[i], line);

			if (pace == PACE_AT_ONCE)
				return false;
			if (pace == PACE_SOME_AT_ONCE)
				old_lines_add(h->arena, &early, line);
			if (pace != PACE_WAITS)
				continue;
			for (size_t e = 0; e < early.count; e++)
				old_set(h->arena, early.list[e], OLD_DIFFERENT, SPARED);
			return true;
		}
	}
	return false;
}

void haproxy_say_who_waits(struct haproxy *h, struct proxy *p, const struct use_line *routes, size_t count)
{
	bool found = slot_on(p, SLOT_INSPECT) && waits(h, p);

	for (size_t i = 0; i < count && !found; i++)
		found = routes[i].to != NULL && slot_on(routes[i].owner, SLOT_INSPECT) &&
			waits(h, routes[i].owner);
	if (!found)
		work_note(h->work,
			  "'%s' has no 'tcp-request content' line that waits for data, with an "
			  "inspect-delay: HAProxy mostly chooses the backend before a client has sent "
			  "anything; weir waits, as the conditions need it",
			  p->name);
}
