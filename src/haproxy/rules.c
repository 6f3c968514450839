/* SPDX-License-Identifier: MIT
 *
 * rules.c - tcp-request rules, in the order in which HAProxy applies them to a client.
 *
 * Those of a backend become those of its frontends, if these send all their clients there. Main thread.
 */
#include <string.h>

#include "rules.h"
#include "weir/base/check.h"

/* tcp-request connection expect-proxy layer4 [if { src N }] */
static void expect_proxy(struct rules *r, struct old_line *line)
{
	struct condition c = {.count = 0};
	const char *mode = "accept-proxy";
	bool files = false;

	if (line->count > 4) {
		haproxy_terms(r->h, r->owner, line->words + 5, line->count - 5, false, &c);
		if (strcmp(line->words[4], "if") != 0 || c.error != NULL || c.count == 0) {
			work_by_table(r->h->work, line, 0);
			return;
		}
		for (size_t i = 0; i < c.count; i++) {
			if (c.counts[i] != 1 || c.all[i][0]->kind != TERM_SRC || c.all[i][0]->negated) {
				work_by_table(r->h->work, line, 0);
				return;
			}
			files = files || c.all[i][0]->file;
			rules_add_networks(r, line, "trusted", c.all[i][0]->value, files);
		}
		condition_carried(r->h, &c);
		mode = "accept-proxy=optional";
	}
	for (size_t i = 0; i < r->out->count && r->expects == NULL; i++)
		if (strncmp(r->out->lines[i].key, "bind", 4) == 0)
			r->out->lines[i].value = ini_join(r->h->arena, r->out->lines[i].value, mode);
	if (r->expects != NULL && strcmp(r->expects, mode) != 0)
		old_set(r->h->arena, line, OLD_LOST, "the addresses have '%s' already", r->expects);
	if (r->expects == NULL)
		r->expects = mode;
	old_set(r->h->arena, line, OLD_CARRIED, NULL);
}

static void track(struct rules *r, struct old_line *line)
{
	bool conditional = false;

	for (size_t i = 4; i < line->count; i++)
		conditional = conditional || strcmp(line->words[i], "if") == 0 ||
			      strcmp(line->words[i], "unless") == 0;
	if (strcmp(old_word(line, 3), "src") != 0)
		old_set(r->h->arena, line, OLD_LOST, "weir counts by the client's address only");
	else if (conditional && r->counted == NULL)
		r->counted = line;
	else
		old_set(r->h->arena, line, conditional ? OLD_LOST : OLD_NO_EFFECT,
			"weir counts what a limit needs, and nothing else");
}

static void take_rule(struct rules *r, struct old_line *line)
{
	const char *what = old_word(line, 2);
	const bool judges = rules_kind(line) < RULE_KINDS;

	if (judges && strcmp(what, "accept") == 0) {
		rules_verdict(r, line, true);
	} else if (judges && (strcmp(what, "reject") == 0 || strcmp(what, "silent-drop") == 0)) {
		rules_verdict(r, line, false);
		if (what[0] == 's' && line->fate == OLD_CARRIED)
			old_set(r->h->arena, line, OLD_DIFFERENT, "clients see a reset, not silence");
	} else if (strcmp(what, "expect-proxy") == 0) {
		expect_proxy(r, line);
	} else if (strncmp(what, "track-sc", 8) == 0) {
		track(r, line);
	} else {
		if (strcmp(what, "set-src") == 0)
			r->moved = line;
		work_by_table(r->h->work, line, 0);
	}
}

/* The rules of a section: those of its defaults section come first, and name the acls there. */
static struct rule *rules_of(struct haproxy *h, struct proxy *p, size_t *count)
{
	const struct old_lines *own = &p->lists[LIST_RULE];
	const struct old_lines none = {.count = 0};
	const struct old_lines *first = p->from != NULL ? &p->from->lists[LIST_RULE] : &none;
	const size_t handed_down = first->count < HANDED_DOWN_MAX ? first->count : HANDED_DOWN_MAX;
	struct rule *rules = arena_alloc(h->arena, (handed_down + own->count + 1) * sizeof(*rules));

	*count = 0;
	for (size_t i = 0; i < handed_down; i++)
		rules[(*count)++] = (struct rule){first->list[i], p->from};
	for (size_t i = 0; i < own->count; i++)
		rules[(*count)++] = (struct rule){own->list[i], p};
	return rules;
}

/* HAProxy 2.6 asks whether the section itself has such rules before it looks at those of its defaults. */
static void note_skipped(struct rules *r, const struct proxy *p, const struct rule *rules, size_t count)
{
	static const char *const kinds[] = {"connection", "session"};

	for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
		bool handed_down = false, own = false;

		for (size_t i = 0; i < count; i++)
			if (rules_kind(rules[i].line) == kind)
				*(rules[i].owner == p ? &own : &handed_down) = true;
		if (handed_down && !own)
			work_note(r->h->work,
				  "'%s' has 'tcp-request %s' lines of its defaults section, and none of its "
				  "own: HAProxy 2.6 skips them then, and weir does not",
				  p->name, kinds[kind]);
	}
}

static void convert(struct rules *r, struct proxy *p)
{
	size_t count;
	const struct rule *rules = rules_of(r->h, p, &count);
	const struct refusals refusals = rules_refusals(rules, count);

	if (IS_FRONT(p))
		note_skipped(r, p, rules, count);
	r->p = p;
	r->firsts = (struct index){0};
	for (size_t i = 0; i < RULE_KINDS; i++)
		r->accepted[i] = (struct accepted){.networks = ""};
	for (size_t i = 0; i < count; i++) {
		r->owner = rules[i].owner;
		r->at = i;
		if (!rules_take_harmless(r->h, rules, i, &refusals))
			take_rule(r, rules[i].line);
	}
	for (size_t i = 0; i < RULE_KINDS; i++)
		rules_settle(r, &r->accepted[i]);
	if (r->counted != NULL && r->exempt != NULL)
		old_set(r->h->arena, r->counted, OLD_LOST,
			"a limit here is for all clients: leave the condition out, or write limit-exempt");
	else if (r->counted != NULL)
		old_set(r->h->arena, r->counted, OLD_NO_EFFECT, "no limit here needs what it counts");
}

/* Do all frontends that lead to the backend send every client there? Then they can judge for it. */
static bool is_judged_in_front(struct haproxy *h, struct proxy *back)
{
	const struct proxy *front;
	bool found = false;

	if (back->judged != JUDGED_UNKNOWN)
		return back->judged == JUDGED_IN_FRONT;
	back->judged = JUDGED_NOWHERE;
	for (size_t i = 0; (front = haproxy_leader(h, back, i)) != NULL; i++) {
		if (front->out == NULL)
			continue;
		if (front->lists[LIST_ROUTE].count > 0)
			return false;
		found = true;
	}
	if (found)
		back->judged = JUDGED_IN_FRONT;
	return found;
}

/* The backend whose rules a frontend judges by; NULL: there is none. */
static struct proxy *judging_for(struct haproxy *h, const struct proxy *front)
{
	struct proxy *back = slot_on(front, SLOT_BACKEND)
				 ? haproxy_find(h, 1u << PROXY_BACKEND, slot_word(front, SLOT_BACKEND, 0))
				 : NULL;

	return back != NULL && back->out != NULL && back->lists[LIST_SERVER].count > 0 &&
		       is_judged_in_front(h, back)
		   ? back
		   : NULL;
}

/* The rules of a backend are for frontends in weir. */
static void account_for_backend(struct haproxy *h, struct proxy *p)
{
	size_t count;
	const struct rule *rules = rules_of(h, p, &count);
	const struct refusals refusals = rules_refusals(rules, count);

	for (size_t i = 0; i < count; i++) {
		if (p->lists[LIST_SERVER].count == 0)
			old_set(h->arena, rules[i].line, OLD_CARRIED, NULL); /* it closes every client */
		else if (!rules_take_harmless(h, rules, i, &refusals) && !is_judged_in_front(h, p))
			old_set(h->arena, rules[i].line, OLD_LOST,
				"weir judges clients in the frontend, all of them: write it there");
	}
}

/* Which of the section's clients send a PROXY header? */
static enum proxied proxied(struct haproxy *h, struct proxy *p)
{
	size_t count, with = 0, all = 0;
	const struct rule *rules = rules_of(h, p, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(old_word(rules[i].line, 2), "expect-proxy") == 0)
			return rules[i].line->count > 4 ? PROXIED_SOME : PROXIED_ALL;
	for (size_t i = 0; i < p->out->count; i++) {
		if (strncmp(p->out->lines[i].key, "bind", 4) != 0)
			continue;
		all++;
		with += strstr(p->out->lines[i].value, " accept-proxy") != NULL;
	}
	return with == 0 ? PROXIED_NONE : with == all ? PROXIED_ALL : PROXIED_SOME;
}

void haproxy_rules(struct haproxy *h, struct proxy *p)
{
	struct rules r = {.h = h, .front = p, .out = p->out};
	struct proxy *back;

	haproxy_responses(h, p);
	if (p->kind == PROXY_BACKEND) {
		account_for_backend(h, p);
		return;
	}
	r.proxied = proxied(h, p);
	convert(&r, p);
	r.counted = NULL;
	back = judging_for(h, p);
	if (back != NULL)
		convert(&r, back);
}
