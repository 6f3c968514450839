/* SPDX-License-Identifier: MIT
 *
 * own_server.c - the backends of servers that use-server rules name.
 *
 * Each has the options of the section and the server. HAProxy does not take a rule while its server is down:
 * then the section itself is the fallback, or the server of a rule behind it. Main thread.
 */
#include <string.h>

#include "match.h"
#include "route.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

#define PAIRS_MAX 50000 /* of rules that are compared */
#define HOPS_MAX  6	/* of fallbacks: weir takes 8 */

static size_t rule_count(const struct proxy *p)
{
	const size_t count = p->lists[LIST_USE].count;

	return count < USE_RULES_MAX ? count : USE_RULES_MAX;
}

/* ---- what the sections hold ---- */

/* The words of a server that mean something to a server without others: a rule takes a backup, and one whose
 * weight is 0. */
static const char *without_rank(struct arena *a, const char *text)
{
	const char *out = "";

	while (*text != '\0') {
		const size_t len = work_word_len(text);
		const char *word = arena_strndup(a, text, len);

		if (strncmp(word, "weight=", 7) != 0 && strcmp(word, "backup") != 0 &&
		    strcmp(word, "check=off") != 0)
			out = ini_join(a, out, word);
		text += len + (text[len] == ' ');
	}
	return out;
}

static bool has_key(unsigned kind, const char *key)
{
	return option_find(kind, key).option != NULL;
}

/* Is the line one of those that a server without others needs, too? */
static bool is_common(const struct ini_line *line, bool checked)
{
	static const char *const others[] = {"balance",	   "sticky",	       "persist",
					     "allbackups", "fallback-backend", "check-share"};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(line->key, others[i]) == 0)
			return false;
	return !line->left_out && line->key[0] != '\0' && has_key(IN_BACKEND, line->key) &&
	       strncmp(line->key, "server ", 7) != 0 && strncmp(line->key, "servers ", 8) != 0 &&
	       (checked || strncmp(line->key, "check", 5) != 0);
}

/* The line of a server; NULL = it was not converted. */
static const struct ini_line *line_of(const struct ini_section *s, const struct old_line *server)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->lines[i].from == server && strncmp(s->lines[i].key, "server ", 7) == 0)
			return &s->lines[i];
	return NULL;
}

static struct ini_line *copy_line(struct haproxy *h, struct ini_section *s, const struct ini_line *line)
{
	struct ini_line *copy = ini_add(h->ini, s, NULL, line->key, "%s", line->value);

	copy->from = line->from;
	copy->stand_in = line->stand_in;
	return copy;
}

static bool says(const struct ini_section *s, const char *word)
{
	for (size_t i = 0; i < s->count; i++)
		if (strncmp(s->lines[i].key, "server", 6) == 0 && strstr(s->lines[i].value, word) != NULL)
			return true;
	return false;
}

/* What counts, or happens, once in HAProxy, and here for each of two sections. */
static void report_twice(struct haproxy *h, const struct proxy *p, const struct own_server *own)
{
	if (says(own->out, "maxconn="))
		old_set(h->arena, own->server, OLD_DIFFERENT,
			"its maxconn counts in '%s' and in '%s', each alone", p->name, own->out->name);
	if (ini_find(own->out, "check-agent") != NULL || says(own->out, "check-agent="))
		old_set(h->arena, own->server, OLD_DIFFERENT, "its agent is asked for '%s' and for '%s'",
			p->name, own->out->name);
	if (slot_on(p, SLOT_STICK) && p->slots[SLOT_STICK].line->fate == OLD_CARRIED)
		old_set(h->arena, p->slots[SLOT_STICK].line, OLD_DIFFERENT,
			"a server that a use-server rule gives to a client is not kept for its other "
			"connections");
}

/* Fills the section of one server. False: the server was not converted. */
static bool fill(struct haproxy *h, struct proxy *p, const struct ini_section *back,
		 const struct own_server *own)
{
	const struct ini_line *server = line_of(back, own->server);
	bool checked;

	if (server == NULL)
		return false;
	checked = !slot_on(p, SLOT_PERSIST) && strstr(server->value, " check=off") == NULL;
	for (size_t i = 0; i < back->count; i++) {
		const struct ini_line *line = &back->lines[i];
		const char *value = line->value;

		if (!is_common(line, checked))
			continue;
		if (strcmp(line->key, "server-defaults") == 0)
			value = without_rank(h->arena, value);
		if (value[0] != '\0')
			copy_line(h, own->out, line)->value = value;
	}
	copy_line(h, own->out, server)->value = without_rank(h->arena, server->value);
	return true;
}

/* ---- where clients go while the server of a rule is down ---- */

/* Can the server be out in HAProxy? */
static bool may_fall(const struct ini_section *s)
{
	return ini_find(s, "check") != NULL || ini_find(s, "observe") != NULL ||
	       ini_find(s, "check-agent") != NULL || says(s, "check-agent=") || says(s, " disabled");
}

/* May a client fit both alternatives? */
static bool fits_both(struct haproxy *h, const struct condition *c, size_t i, const struct condition *other,
		      size_t n)
{
	struct old_line unseen = {.fate = OLD_OPEN};
	struct words w = {.error = NULL};
	struct condition both = {.count = 1};

	both.all[0] = arena_alloc(h->arena, (c->counts[i] + other->counts[n] + 1) * sizeof(struct term *));
	for (size_t t = 0; t < c->counts[i]; t++)
		both.all[0][both.counts[0]++] = c->all[i][t];
	for (size_t t = 0; t < other->counts[n]; t++)
		both.all[0][both.counts[0]++] = other->all[n][t];
	w = match_words(h->arena, &unseen, &both, 0, &w);
	return w.never == NULL;
}

static bool may_overlap(struct haproxy *h, const struct condition *c, const struct condition *other)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t n = 0; n < other->count; n++)
			if (h->use_pairs++ >= PAIRS_MAX || fits_both(h, c, i, other, n))
				return true;
	return false;
}

/* Does everyone fit? */
static bool takes_all(const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->counts[i] == 0 ||
		    (c->counts[i] == 1 && c->all[i][0]->kind == TERM_TRUE && !c->all[i][0]->negated))
			return true;
	return false;
}

static bool is_same_condition(const struct old_line *line, const struct old_line *other)
{
	bool same = line->count == other->count;

	for (size_t i = 2; i < line->count && same; i++)
		same = strcmp(line->words[i], other->words[i]) == 0;
	return same;
}

/* The server of a rule; NULL = there is no section for it. */
static struct own_server *own_of(const struct proxy *p, size_t rule)
{
	struct own_server *own = index_find(&p->own, old_word(p->lists[LIST_USE].list[rule], 1));

	return own != NULL && own->out != NULL ? own : NULL;
}

/* May `to` be next to `own`: is there no way back, and is the way not too long? */
static bool may_follow(const struct own_server *own, const struct own_server *to)
{
	unsigned hops = 0;

	for (; to != NULL && to != own && hops < HOPS_MAX; to = to->next)
		hops++;
	return to == NULL;
}

/* HAProxy goes on with the rules behind: the next of a server is for all its rules. */
static void settle_next(struct haproxy *h, struct proxy *p, const struct condition *conditions, size_t i)
{
	const struct old_lines *rules = &p->lists[LIST_USE];
	struct own_server *own = own_of(p, i), *next = NULL;
	bool fits = true;

	for (size_t n = i + 1; n < rule_count(p) && next == NULL && fits; n++) {
		struct own_server *other = own_of(p, n);

		if (other == NULL || other == own || rules->list[n]->fate == OLD_LOST ||
		    !may_overlap(h, &conditions[i], &conditions[n]))
			continue;
		fits = (takes_all(&conditions[n]) || is_same_condition(rules->list[i], rules->list[n])) &&
		       may_follow(own, other);
		next = fits ? other : NULL;
		if (fits && !own->out->left_out)
			old_set(h->arena, rules->list[n], OLD_CARRIED, NULL);
	}
	if (own->is_settled && own->next != next)
		fits = false;
	else
		own->next = next;
	own->is_settled = true;
	if (!fits && !own->out->left_out)
		old_set(h->arena, rules->list[i], OLD_DIFFERENT,
			"while '%s' is down, its clients go to '%s', whatever rules come behind", own->name,
			own->next != NULL ? own->next->name : p->name);
}

static void add_fallbacks(struct haproxy *h, struct proxy *p, const struct ini_section *back)
{
	struct condition *conditions = arena_alloc(h->arena, rule_count(p) * sizeof(*conditions));

	for (size_t i = 0; i < rule_count(p); i++)
		haproxy_line_terms(h, p, p->lists[LIST_USE].list[i], &conditions[i]);
	for (size_t i = rule_count(p); i > 0; i--)
		if (own_of(p, i - 1) != NULL && may_fall(own_of(p, i - 1)->out))
			settle_next(h, p, conditions, i - 1);
	for (size_t i = 0; i < rule_count(p); i++) {
		struct own_server *own = own_of(p, i);

		if (own == NULL || own->out->left_out || ini_find(own->out, "fallback-backend") != NULL)
			continue;
		for (; own != NULL && ini_find(own->out, "fallback-backend") == NULL; own = own->next) {
			own->out->left_out = false;
			ini_add(h->ini, own->out, NULL, "fallback-backend", "%s",
				own->next != NULL ? own->next->out->name : back->name);
		}
	}
}

/* ---- a listen that is a fallback ---- */

/* Makes a frontend and a backend of a listen. */
static void part(struct haproxy *h, struct proxy *p)
{
	struct ini_section *front = p->out;

	front->kind = IN_FRONTEND;
	p->back->left_out = false;
	for (size_t i = 0; i < front->count; i++) {
		struct ini_line *line = &front->lines[i];

		if (line->left_out || line->key[0] == '\0' || !has_key(IN_BACKEND, line->key))
			continue;
		line->left_out = !has_key(IN_FRONTEND, line->key);
		if (line->left_out) {
			struct ini_line *moved = copy_line(h, p->back, line);

			*moved = *line;
			moved->left_out = false;
		} else {
			copy_line(h, p->back, line);
		}
	}
	if (ini_find(front, "default-backend") == NULL)
		ini_add(h->ini, front, NULL, "default-backend", "%s", p->back->name);
}

/* The names of sections that lines lead to. */
struct targets {
	struct index all;
	struct index computed; /* by HAProxy, from a map */
};

static void find_targets(struct haproxy *h, struct targets *targets)
{
	for (size_t i = 0; i < h->ini->count; i++) {
		struct ini_section *s = h->ini->sections[i];

		for (size_t n = 0; n < s->count; n++) {
			const struct ini_line *line = &s->lines[n];
			const char *name = NULL;

			if (strcmp(line->key, "default-backend") == 0)
				name = line->value;
			else if (strncmp(line->key, "use-backend ", 12) == 0)
				name = line->key + 12;
			if (name == NULL)
				continue;
			index_put(h->arena, &targets->all, name, s);
			if (line->from != NULL && strchr(old_word(line->from, 1), '%') != NULL)
				index_put(h->arena, &targets->computed, name, s);
		}
	}
}

/* The checks of a server that is in two sections are made once. */
static void share_checks(struct haproxy *h, struct ini_section *back, struct ini_section *own)
{
	if (ini_find(own, "check") == NULL || ini_find(own, "check-share") != NULL)
		return;
	ini_add(h->ini, own, NULL, "check-share", "on");
	if (ini_find(back, "check-share") == NULL)
		ini_add(h->ini, back, NULL, "check-share", "on");
}

/* Which of the sections do lines lead to? */
static bool find_used(struct proxy *p, const struct targets *targets)
{
	bool used = false;

	for (size_t i = 0; i < rule_count(p); i++) {
		struct own_server *own = own_of(p, i);

		if (own == NULL)
			continue;
		if (index_find(&targets->all, own->out->name) != NULL)
			own->out->left_out = false;
		used = used || !own->out->left_out;
	}
	return used;
}

static void fill_sections(struct haproxy *h, struct proxy *p, struct ini_section *back)
{
	for (size_t i = 0; i < rule_count(p); i++) {
		struct own_server *own = own_of(p, i);

		if (own != NULL && own->out->count == 0 && !fill(h, p, back, own))
			old_set(h->arena, p->lists[LIST_USE].list[i], OLD_LOST,
				"its server is not converted");
	}
	if (slot_on(p, SLOT_PERSIST))
		old_set(h->arena, p->slots[SLOT_PERSIST].line, OLD_DIFFERENT,
			"servers of use-server rules are not checked for these");
	else
		add_fallbacks(h, p, back);
}

static void report_rules(struct haproxy *h, struct proxy *p, struct ini_section *back)
{
	work_note(h->work,
		  "'%s': a server that a use-server rule names is in two sections: put it into "
		  "maintenance in both",
		  p->name);
	for (size_t i = 0; i < rule_count(p); i++) {
		struct old_line *line = p->lists[LIST_USE].list[i];
		const struct own_server *own = own_of(p, i);

		if (line->fate == OLD_OPEN)
			old_set(h->arena, line, OLD_NO_EFFECT, "a line before it takes these clients");
		if (own == NULL || own->out->left_out)
			continue;
		report_twice(h, p, own);
		share_checks(h, back, own->out);
		if (line->fate != OLD_NO_EFFECT && slot_on(p, SLOT_REDISPATCH) &&
		    p->lists[LIST_SERVER].count > 1)
			old_set(h->arena, line, OLD_DIFFERENT,
				"if it refuses a client, no other server of '%s' gets that one", p->name);
	}
}

static void settle_section(struct haproxy *h, struct proxy *p, const struct targets *targets)
{
	struct ini_section *back = p->back != NULL ? p->back : p->out;

	if (index_find(&targets->computed, back->name) != NULL)
		for (size_t i = 0; i < p->lists[LIST_USE].count; i++)
			old_set(h->arena, p->lists[LIST_USE].list[i], OLD_LOST, USE_SERVER_LOST, p->name);
	if (!find_used(p, targets))
		return;
	if (p->back != NULL)
		part(h, p);
	fill_sections(h, p, back);
	report_rules(h, p, back);
}

void haproxy_use_servers(struct haproxy *h)
{
	struct targets targets = {.all = {.count = 0}};
	bool any = false;

	for (size_t i = 0; i < h->count; i++)
		any = any || (h->proxies[i]->out != NULL && h->proxies[i]->lists[LIST_USE].count > 0);
	if (!any)
		return;
	find_targets(h, &targets);
	for (size_t i = 0; i < h->count; i++)
		if (h->proxies[i]->out != NULL && IS_BACK(h->proxies[i]))
			settle_section(h, h->proxies[i], &targets);
}
