/* SPDX-License-Identifier: MIT
 *
 * verdict.c - tcp-request accept and reject: who may come in, how often, and whether with TLS only.
 *
 * In HAProxy, the first rule of each kind that matches decides. weir has one list of networks that may
 * connect (allow-from), one of those that may not (deny-from), which wins, limits that have exceptions in
 * common, and `required` for all clients. A sequence that these cannot express is lost: nothing is reported
 * as carried that lets in whom HAProxy refuses. Main thread.
 */
#include <string.h>

#include "rules.h"
#include "weir/base/check.h"

/* What the terms of one alternative have of each kind. */
struct alternative {
	const struct term *rate;
	const struct term *open;
	const char *src;
	const char *not_src;
	const char *never; /* why it never holds; NULL = it may */
	bool file;
	bool tls;
	bool not_tls;
	bool other;
	bool conditional;
};

void rules_add_networks(struct rules *r, struct old_line *line, const char *key, const char *text, bool file)
{
	struct work_list list = {.count = 0};

	work_list_split(r->h->arena, &list, text);
	work_add_list(r->h->ini, r->out, line, key, &list, !file);
}

/* What a stick-table line stores under this name: behind the name, such as "(10s),gpc0". NULL: nothing. */
static const char *stored(const struct old_line *table, const char *name)
{
	for (size_t i = 1; i < table->count; i++) {
		const char *item = table->words[i];

		if (strcmp(table->words[i - 1], "store") != 0)
			continue;
		for (; *item != '\0'; item += *item == ',') {
			const size_t len = strcspn(item, ",("), all = strcspn(item, ",");

			if (len == strlen(name) && strncmp(item, name, len) == 0)
				return item + len;
			item += all;
		}
	}
	return NULL;
}

/* The stick-table that a term looks into; NULL: none is known. */
static struct old_line *table_line(struct rules *r, const struct term *t)
{
	const struct proxy *p = rules_table_of(r, t);

	return p != NULL ? p->slots[SLOT_TABLE].line : NULL;
}

/* The period of the rate in a stick-table, such as "10s". */
static const char *period_of(struct rules *r, const struct term *t)
{
	struct old_line *table = table_line(r, t);
	const char *at = table != NULL ? stored(table, t->stored) : NULL;

	if (at == NULL || at[0] != '(')
		return NULL;
	haproxy_take_table(r->h, table);
	return haproxy_duration(r->h->arena, arena_strndup(r->h->arena, at + 1, strcspn(at + 1, ")")));
}

/* Why HAProxy has no number to compare, so that it refuses nobody; NULL: it has one. */
static const char *why_no_number(struct rules *r, const struct term *t, enum rules_counted counted)
{
	const struct old_line *table = table_line(r, t);

	if (counted == RULES_COUNTED_NEVER)
		return "nothing has counted the client by then (track-sc): HAProxy refuses nobody here";
	if (table != NULL && stored(table, t->stored) == NULL)
		return arena_printf(r->h->arena,
				    "the stick-table does not store %s: HAProxy refuses nobody here",
				    t->stored);
	return NULL;
}

static const char *join_lists(struct arena *a, const char *first, const char *second)
{
	return first[0] == '\0'	   ? second
	       : second[0] == '\0' ? first
				   : arena_printf(a, "%s,%s", first, second);
}

static void sum_up(struct rules *r, struct term *const *terms, size_t count, struct alternative *alt)
{
	*alt = (struct alternative){.src = "", .not_src = "", .conditional = true};
	for (size_t i = 0; i < count; i++) {
		const struct term *t = terms[i];

		if (t->kind == TERM_SRC && t->negated)
			alt->not_src = join_lists(r->h->arena, alt->not_src, t->value);
		else if (t->kind == TERM_SRC && alt->src[0] == '\0')
			alt->src = t->value;
		else if (t->kind == TERM_RATE && !t->negated && alt->rate == NULL)
			alt->rate = t;
		else if (t->kind == TERM_OPEN && !t->negated && alt->open == NULL)
			alt->open = t;
		else if (t->kind == TERM_TLS)
			*(t->negated ? &alt->not_tls : &alt->tls) = true;
		else if (t->kind != TERM_TRUE && t->kind != TERM_FALSE)
			alt->other = true;
		else if ((t->kind == TERM_TRUE) == t->negated)
			alt->never = t->value != NULL ? t->value : "it never holds";
		alt->file = alt->file || t->file;
	}
}

/* ---- what accepts ---- */

/* Adds to the list, whose room doubles: each of many lines adds to it. */
static void accept_networks(struct arena *a, struct accepted *acc, const char *list)
{
	const size_t more = strlen(list);
	size_t len = acc->len;
	char *text = (char *)acc->networks;

	if (len == 0 || len + more + 2 > acc->room) {
		acc->room = 2 * (len + more + 2);
		text = arena_alloc(a, acc->room);
		memcpy(text, acc->networks, len);
	}
	if (len > 0)
		text[len++] = ',';
	memcpy(text + len, list, more + 1);
	acc->networks = text;
	acc->len = len + more;
}

static void accept(struct rules *r, struct accepted *acc, struct old_line *line,
		   const struct alternative *alt)
{
	const bool networks = alt->src[0] != '\0';

	if (alt->other || alt->rate != NULL || alt->open != NULL || alt->not_src[0] != '\0' ||
	    alt->not_tls || (networks && alt->tls) || (!networks && !alt->tls && alt->conditional)) {
		old_set(r->h->arena, line, OLD_LOST,
			"weir accepts by networks (allow-from), or TLS (sniff = tls required): not by this");
		return;
	}
	if (!networks && !alt->tls) {
		acc->all = line;
		old_set(r->h->arena, line, OLD_NO_EFFECT, "weir accepts what no other line refuses");
		return;
	}
	if (networks)
		accept_networks(r->h->arena, acc, alt->src);
	acc->tls = acc->tls || alt->tls;
	acc->file = acc->file || alt->file;
	old_lines_add(r->h->arena, &acc->lines, line);
}

/* Says what became of the lines that accept: the worst of what the rules after them found. */
static void accepted_are(struct accepted *acc, enum old_fate fate, const char *why)
{
	if (fate <= acc->fate)
		return;
	acc->fate = fate;
	acc->why = why;
}

/* ---- what refuses ---- */

/* Does HAProxy judge by who sends a PROXY header, and weir by the address in it? */
static bool is_of_sender(const struct rules *r, const struct old_line *line)
{
	return r->proxied != PROXIED_NONE && rules_kind(line) == RULES_OF_CONNECTIONS;
}

/* Reports a line that refuses by that. True: it is lost. */
static bool lose_sender(struct rules *r, struct old_line *line)
{
	if (!is_of_sender(r, line))
		return false;
	if (r->proxied == PROXIED_ALL)
		old_set(r->h->arena, line, OLD_LOST,
			"HAProxy judges who sends the PROXY header here, and weir the address in it: write "
			"trusted = NETWORKS, of those who may send one");
	else
		old_set(r->h->arena, line, OLD_DIFFERENT,
			"of clients with a PROXY header, weir judges the address in it, and HAProxy that of "
			"its sender");
	return r->proxied == PROXIED_ALL;
}

/* Takes a rule about who may connect to send a PROXY header: that is `trusted`. */
static void trust(struct rules *r, struct accepted *acc, struct old_line *line, const struct alternative *alt)
{
	const char *list = join_lists(r->h->arena, acc->networks, alt->not_src);

	if (r->proxied != PROXIED_ALL) {
		old_set(r->h->arena, line, OLD_LOST,
			"of clients with a PROXY header, HAProxy judges the address of its sender here, and "
			"weir the one in it: give these clients a frontend of their own");
	} else if (r->trusted != NULL && strcmp(r->trusted, list) != 0) {
		old_set(r->h->arena, line, OLD_LOST,
			"a second list that senders of PROXY headers must be in: write one with what is in "
			"both");
	} else {
		if (r->trusted == NULL)
			rules_add_networks(r, line, "trusted", list, alt->file || acc->file);
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
		r->trusted = list;
		accepted_are(acc, OLD_CARRIED, NULL);
	}
}

static void allow(struct rules *r, struct accepted *acc, struct old_line *line,
		  const struct alternative *alt)
{
	const char *list = acc->len > 0 ? acc->networks : alt->not_src;

	if (is_of_sender(r, line)) {
		trust(r, acc, line, alt);
		return;
	}
	/* Another rule of these networks, such as one for connections and one for contents. */
	if (r->allowed != NULL && strcmp(r->allowed, list) == 0 &&
	    (acc->len == 0 || alt->not_src[0] == '\0')) {
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
		accepted_are(acc, OLD_CARRIED, NULL);
		return;
	}
	if (r->allowed != NULL) {
		old_set(r->h->arena, line, OLD_LOST,
			"a second list that clients must be in: write one allow-from with what is in both");
		return;
	}
	list = join_lists(r->h->arena, acc->networks, alt->not_src);
	rules_add_networks(r, line, "allow-from", list, alt->file || acc->file);
	r->allowed = list;
	accepted_are(acc, OLD_CARRIED, NULL);
}

static void deny(struct rules *r, struct accepted *acc, struct old_line *line, const struct alternative *alt)
{
	if (lose_sender(r, line))
		return;
	rules_add_networks(r, line, "deny-from", alt->src, alt->file);
	if (acc->len == 0)
		return;
	old_set(r->h->arena, line, OLD_DIFFERENT,
		"also for what line %u accepts: deny-from has no exceptions", acc->lines.list[0]->line);
	accepted_are(acc, OLD_DIFFERENT, "deny-from has no exceptions: what it names is refused here too");
}

static void require_tls(struct rules *r, struct accepted *acc, struct old_line *line)
{
	r->front->tls_required = true;
	if (r->p != r->front && !slot_on(r->front, SLOT_INSPECT))
		r->front->slots[SLOT_INSPECT] = r->p->slots[SLOT_INSPECT];
	old_set(r->h->arena, line, OLD_CARRIED, NULL);
	if (!slot_on(r->front, SLOT_INSPECT))
		old_set(r->h->arena, line, OLD_DIFFERENT,
			"without 'tcp-request inspect-delay', HAProxy refuses clients whose first bytes have "
			"not come with the connection: weir waits for them");
	if (acc->len > 0)
		accepted_are(acc, OLD_LOST,
			     "'required' has no exceptions: give these clients a frontend of their own");
	else
		accepted_are(acc, OLD_CARRIED, NULL);
}

static void limit(struct rules *r, struct accepted *acc, struct old_line *line, const struct alternative *alt)
{
	const char *key = alt->rate != NULL ? "rate-limit-per-source" : "maxconn-per-source", *exempt;
	const char *period = alt->rate != NULL ? period_of(r, alt->rate) : NULL;
	const struct term *t = alt->rate != NULL ? alt->rate : alt->open;
	const enum rules_counted counted = rules_counted_at(r, line, t);
	const unsigned number = t->number + (counted == RULES_COUNTED_LATER);
	const char *none = why_no_number(r, t, counted);

	if (none != NULL) {
		old_set(r->h->arena, line, OLD_NO_EFFECT, "%s", none);
		return;
	}
	if (alt->rate != NULL && period == NULL) {
		old_set(r->h->arena, line, OLD_LOST,
			"no stick-table here stores conn_rate(TIME); write rate-limit-per-source = %u/TIME",
			number);
		return;
	}
	if (lose_sender(r, line))
		return;
	if (ini_find(r->out, key) != NULL) {
		old_set(r->h->arena, line, OLD_LOST, "a frontend has one %s: write the stricter", key);
		return;
	}
	exempt = join_lists(r->h->arena, acc->networks, alt->not_src);
	if (r->exempt != NULL && strcmp(r->exempt, exempt) != 0) {
		old_set(r->h->arena, line, OLD_LOST,
			"limit-exempt is for all limits: leave the same clients out of each, and write %s",
			key);
		return;
	}
	if (number == 0) {
		old_set(r->h->arena, line, OLD_LOST, "it refuses every client");
		return;
	}
	if (alt->rate != NULL)
		ini_add(r->h->ini, r->out, line, key, "%u/%s", number, period);
	else
		ini_add(r->h->ini, r->out, line, key, "%u", number);
	if (rules_share_table(r, t))
		old_set(r->h->arena, line, OLD_DIFFERENT,
			"each frontend counts its clients alone: HAProxy counts those of several in one "
			"table");
	if (alt->rate != NULL && counted == RULES_COUNTED_BEFORE)
		old_set(r->h->arena, line, OLD_DIFFERENT,
			"who keeps trying gets in at the rate: HAProxy counts refused connections, too, and "
			"keeps out who does not pause");
	if (exempt[0] != '\0' && r->exempt == NULL)
		rules_add_networks(r, line, "limit-exempt", exempt, alt->file || acc->file);
	r->exempt = exempt;
	accepted_are(acc, OLD_CARRIED, NULL);
}

static void reject_all(struct rules *r, struct accepted *acc, struct old_line *line,
		       const struct alternative *alt)
{
	if (acc->len > 0 && acc->tls)
		old_set(r->h->arena, line, OLD_LOST,
			"it spares networks and TLS: weir admits clients that are both, or by one of them");
	else if (acc->len > 0)
		allow(r, acc, line, alt);
	else if (acc->tls)
		require_tls(r, acc, line);
	else
		old_set(r->h->arena, line, OLD_LOST, "it refuses every client");
}

static void reject(struct rules *r, struct accepted *acc, struct old_line *line,
		   const struct alternative *alt)
{
	const bool src = alt->src[0] != '\0', not_src = alt->not_src[0] != '\0';
	const bool limits = alt->rate != NULL || alt->open != NULL;

	if (alt->other || alt->tls || (alt->rate != NULL && alt->open != NULL) || (src && not_src) ||
	    (limits && (src || alt->not_tls)) || (alt->not_tls && (src || not_src)))
		old_set(r->h->arena, line, OLD_LOST,
			"weir refuses clients by networks (deny-from), rates, and what is not TLS: by one "
			"of these at a time");
	else if (acc->tls && (src || not_src || limits))
		old_set(r->h->arena, line, OLD_LOST,
			"clients that speak TLS are accepted before it: weir refuses all, or none");
	else if (limits)
		limit(r, acc, line, alt);
	else if (alt->not_tls)
		require_tls(r, acc, line);
	else if (src)
		deny(r, acc, line, alt);
	else if (not_src)
		allow(r, acc, line, alt);
	else
		reject_all(r, acc, line, alt);
}

/* ---- rules ---- */

/* Does the rule ask for the client's address, after another one has changed it? */
static bool is_moved(const struct rules *r, const struct old_line *line, const struct condition *c)
{
	if (r->moved == NULL || rules_kind(r->moved) > rules_kind(line))
		return false;
	for (size_t i = 0; i < c->count; i++)
		for (size_t n = 0; n < c->counts[i]; n++)
			if (c->all[i][n]->kind == TERM_SRC || c->all[i][n]->kind == TERM_RATE ||
			    c->all[i][n]->kind == TERM_OPEN)
				return true;
	return false;
}

static void by_condition(struct rules *r, struct accepted *acc, struct old_line *line, bool accepts)
{
	struct condition c;
	const struct term *other;
	const char *never = NULL;
	size_t judged = 0;

	haproxy_terms(r->h, r->owner, line->words + 4, line->count - 4,
		      strcmp(old_word(line, 3), "unless") == 0, &c);
	other = condition_other(&c);
	if (c.error != NULL || other != NULL) {
		old_set(r->h->arena, line, OLD_LOST, "%s", c.error != NULL ? c.error : other->value);
		return;
	}
	if (is_moved(r, line, &c)) {
		old_set(r->h->arena, line, OLD_LOST, "line %u gives the client another address before it",
			r->moved->line);
		return;
	}
	for (size_t i = 0; i < c.count; i++) {
		struct alternative alt;

		sum_up(r, c.all[i], c.counts[i], &alt);
		if (alt.never != NULL) {
			never = alt.never;
			continue;
		}
		judged++;
		(accepts ? accept : reject)(r, acc, line, &alt);
		for (size_t n = 0; !accepts && n < c.counts[i]; n++)
			if (c.all[i][n]->differs != NULL)
				old_set(r->h->arena, line, OLD_DIFFERENT, "%s", c.all[i][n]->differs);
	}
	if (judged == 0 && never != NULL)
		old_set(r->h->arena, line, OLD_NO_EFFECT, "%s", never);
	if (line->fate != OLD_LOST)
		condition_carried(r->h, &c);
}

void rules_verdict(struct rules *r, struct old_line *line, bool accepts)
{
	const struct alternative always = {.src = "", .not_src = ""};
	struct accepted *acc = &r->accepted[rules_kind(line)];
	const char *word = old_word(line, 3);

	if (acc->all != NULL)
		old_set(r->h->arena, line, OLD_NO_EFFECT, "line %u accepts every client before it",
			acc->all->line);
	else if (line->count <= 3)
		(accepts ? accept : reject)(r, acc, line, &always);
	else if (strcmp(word, "if") != 0 && strcmp(word, "unless") != 0)
		old_set(r->h->arena, line, OLD_LOST, "'%s' is neither 'if' nor 'unless'", word);
	else
		by_condition(r, acc, line, accepts);
}

void rules_settle(struct rules *r, const struct accepted *acc)
{
	for (size_t i = 0; i < acc->lines.count; i++)
		if (acc->fate == OLD_OPEN)
			old_set(r->h->arena, acc->lines.list[i], OLD_NO_EFFECT,
				"weir accepts what no other line refuses");
		else
			old_set(r->h->arena, acc->lines.list[i], acc->fate, acc->why != NULL ? "%s" : NULL,
				acc->why);
}
