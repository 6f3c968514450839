/* SPDX-License-Identifier: MIT
 *
 * haproxy_rules.c - tcp-request rules: who may come in, how often, and whether it must speak TLS.
 *
 * The first rule that matches decides in HAProxy. With weir, `deny-from` wins over `allow-from`; a sequence
 * that depends on another order is reported. Main thread.
 */
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"

/* A sequence of rules while it is converted, into the lines of one section. */
struct rules {
	struct haproxy *h;
	struct proxy *p; /* whose rules and acls they are */
	struct ini_section *out;
	const char *accepted; /* networks that earlier rules accepted; "" = none */
	bool accepted_file;
	bool tls_accepted;
	struct old_line *accept_line; /* the last that accepted networks */
};

static void add_networks(struct rules *r, struct old_line *line, const char *key, const char *text, bool file)
{
	struct work_list list = {.count = 0};

	work_list_split(r->h->arena, &list, text);
	work_add_list(r->h->ini, r->out, line, key, &list, !file);
}

/* The period of the rate in a stick-table, such as "10s". */
static const char *period_of(struct rules *r, const struct term *t)
{
	const struct proxy *p = r->p;
	const struct slot_value *s;

	if (t->name[0] != '\0')
		p = haproxy_find(r->h, 1u << PROXY_BACKEND | 1u << PROXY_LISTEN | 1u << PROXY_FRONTEND,
				 t->name);
	for (size_t i = 0; i < r->p->all.count && t->name[0] == '\0'; i++) {
		const struct old_line *line = r->p->all.list[i];

		/* tcp-request connection track-sc0 src table NAME */
		for (size_t w = 2; w + 1 < line->count; w++)
			if (strncmp(line->words[2], "track-sc", 8) == 0 &&
			    strcmp(line->words[w], "table") == 0)
				p = haproxy_find(r->h, ~0u, line->words[w + 1]);
	}
	s = p != NULL ? &p->slots[SLOT_TABLE] : NULL;
	for (size_t i = 0; s != NULL && s->line != NULL && i < s->line->count; i++) {
		const char *at = strstr(s->line->words[i], "conn_rate(");

		if (at == NULL)
			at = strstr(s->line->words[i], "sess_rate(");
		if (at == NULL)
			continue;
		old_set(r->h->arena, s->line, OLD_CARRIED, NULL);
		return haproxy_duration(r->h->arena,
					arena_strndup(r->h->arena, at + 10, strcspn(at + 10, ")")));
	}
	return NULL;
}

/* Networks that limits do not apply to. */
static void add_exempt(struct rules *r, struct old_line *line, const char *list, bool file)
{
	if (ini_find(r->out, "limit-exempt") == NULL)
		add_networks(r, line, "limit-exempt", list, file);
	if (r->accept_line != NULL)
		old_set(r->h->arena, r->accept_line, OLD_CARRIED, NULL);
}

static void add_rate(struct rules *r, struct old_line *line, const struct term *t, const char *exempt,
		     bool exempt_file)
{
	const char *period = period_of(r, t);

	if (period == NULL) {
		old_set(r->h->arena, line, OLD_LOST,
			"no stick-table here stores conn_rate(TIME); write rate-limit-per-source = %u/TIME",
			t->number);
		return;
	}
	ini_add(r->h->ini, r->out, line, "rate-limit-per-source", "%u/%s", t->number, period);
	if (exempt[0] != '\0')
		add_exempt(r, line, exempt, exempt_file);
}

static const char *join_lists(struct arena *a, const char *first, const char *second)
{
	return first[0] == '\0' ? second : arena_printf(a, "%s,%s", first, second);
}

/* What the terms of one alternative have of each kind. */
struct alternative {
	const struct term *rate;
	const struct term *open;
	const char *src;
	const char *not_src;
	bool file;
	bool tls;
	bool not_tls;
	bool other;
};

static void sum_up(struct rules *r, struct term *const *terms, size_t count, struct alternative *alt)
{
	*alt = (struct alternative){.src = "", .not_src = ""};
	for (size_t i = 0; i < count; i++) {
		const struct term *t = terms[i];

		if (t->kind == TERM_SRC && t->negated)
			alt->not_src = join_lists(r->h->arena, alt->not_src, t->value);
		else if (t->kind == TERM_SRC && alt->src[0] == '\0')
			alt->src = t->value;
		else if (t->kind == TERM_RATE && !t->negated)
			alt->rate = t;
		else if (t->kind == TERM_OPEN && !t->negated)
			alt->open = t;
		else if (t->kind == TERM_TLS)
			*(t->negated ? &alt->not_tls : &alt->tls) = true;
		else if (t->kind != TERM_TRUE || t->negated)
			alt->other = true;
		alt->file = alt->file || t->file;
	}
}

static void accept(struct rules *r, struct old_line *line, const struct alternative *alt)
{
	if (alt->other || alt->rate != NULL || alt->open != NULL || alt->not_src[0] != '\0') {
		old_set(r->h->arena, line, OLD_LOST, "weir accepts by networks: allow-from");
	} else if (alt->src[0] != '\0') {
		r->accepted = join_lists(r->h->arena, r->accepted, alt->src);
		r->accepted_file = r->accepted_file || alt->file;
		r->accept_line = line;
	} else if (alt->tls) {
		r->tls_accepted = true;
		r->p->sniffs = true;
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
	} else {
		old_set(r->h->arena, line, OLD_NO_EFFECT, "weir accepts what no other line refuses");
	}
}

static void reject_all(struct rules *r, struct old_line *line)
{
	if (r->accepted[0] != '\0') {
		add_networks(r, r->accept_line, "allow-from", r->accepted, r->accepted_file);
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
		r->accepted = "";
	} else if (r->tls_accepted) {
		r->p->tls_required = true;
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
	} else {
		old_set(r->h->arena, line, OLD_LOST, "it refuses every client");
	}
}

static void reject(struct rules *r, struct old_line *line, const struct alternative *alt)
{
	const char *exempt = join_lists(r->h->arena, r->accepted, alt->not_src);

	if (r->accepted[0] != '\0' && alt->not_src[0] == '\0')
		exempt = r->accepted;
	if (alt->other || (alt->rate != NULL && alt->open != NULL)) {
		old_set(r->h->arena, line, OLD_LOST,
			"weir refuses clients by networks (deny-from), rates, and what is not TLS");
	} else if (alt->rate != NULL) {
		add_rate(r, line, alt->rate, exempt, alt->file || r->accepted_file);
	} else if (alt->open != NULL) {
		ini_add(r->h->ini, r->out, line, "maxconn-per-source", "%u", alt->open->number);
		if (exempt[0] != '\0')
			add_exempt(r, line, exempt, alt->file || r->accepted_file);
	} else if (alt->not_tls && alt->src[0] == '\0' && alt->not_src[0] == '\0') {
		r->p->sniffs = r->p->tls_required = true;
		old_set(r->h->arena, line, OLD_CARRIED, NULL);
	} else if (alt->src[0] != '\0' && alt->not_src[0] == '\0' && !alt->tls) {
		add_networks(r, line, "deny-from", alt->src, alt->file);
		if (r->accepted[0] != '\0')
			old_set(r->h->arena, line, OLD_DIFFERENT,
				"also for what line %u accepts: deny-from has no exceptions",
				r->accept_line->line);
	} else if (alt->not_src[0] != '\0' && alt->src[0] == '\0' && !alt->tls) {
		add_networks(r, line, "allow-from", exempt, alt->file || r->accepted_file);
		r->accepted = "";
	} else if (alt->src[0] == '\0' && alt->not_src[0] == '\0' && !alt->tls && !alt->not_tls) {
		reject_all(r, line);
	} else {
		old_set(r->h->arena, line, OLD_LOST, "a combination that weir does not refuse by");
	}
}

static void by_verdict(struct rules *r, struct old_line *line, bool accepts)
{
	struct condition c;
	const struct term *other;
	const bool conditional = line->count > 3;
	const bool unless = strcmp(old_word(line, 3), "unless") == 0;

	if (!conditional) {
		const struct alternative always = {.src = "", .not_src = ""};

		(accepts ? accept : reject)(r, line, &always);
		return;
	}
	haproxy_terms(r->h, r->p, line->words + 4, line->count - 4, unless, &c);
	other = condition_other(&c);
	if (c.error != NULL || other != NULL) {
		old_set(r->h->arena, line, OLD_LOST, "%s", c.error != NULL ? c.error : other->value);
		return;
	}
	condition_carried(r->h, &c);
	for (size_t i = 0; i < c.count; i++) {
		struct alternative alt;

		sum_up(r, c.all[i], c.counts[i], &alt);
		(accepts ? accept : reject)(r, line, &alt);
	}
}

/* tcp-request connection expect-proxy layer4 [if { src N }] */
static void expect_proxy(struct rules *r, struct old_line *line)
{
	struct condition c = {.count = 0};
	const char *mode = "accept-proxy";
	bool files = false;

	if (line->count > 4) {
		haproxy_terms(r->h, r->p, line->words + 5, line->count - 5, false, &c);
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
			add_networks(r, line, "trusted", c.all[i][0]->value, files);
		}
		condition_carried(r->h, &c);
		mode = "accept-proxy=optional";
	}
	for (size_t i = 0; i < r->out->count; i++)
		if (strncmp(r->out->lines[i].key, "bind", 4) == 0)
			r->out->lines[i].value = ini_join(r->h->arena, r->out->lines[i].value, mode);
	old_set(r->h->arena, line, OLD_CARRIED, NULL);
}

static void take_rule(struct rules *r, struct old_line *line)
{
	const char *what = old_word(line, 2);

	if (strcmp(what, "accept") == 0) {
		by_verdict(r, line, true);
	} else if (strcmp(what, "reject") == 0 || strcmp(what, "silent-drop") == 0) {
		by_verdict(r, line, false);
		if (what[0] == 's' && line->fate == OLD_CARRIED)
			old_set(r->h->arena, line, OLD_DIFFERENT, "clients see a reset, not silence");
	} else if (strcmp(what, "expect-proxy") == 0) {
		expect_proxy(r, line);
	} else if (strncmp(what, "track-sc", 8) == 0) {
		if (strcmp(old_word(line, 3), "src") == 0)
			old_set(r->h->arena, line, OLD_NO_EFFECT,
				"weir counts what a limit needs, and nothing else");
		else
			old_set(r->h->arena, line, OLD_LOST, "weir counts by the client's address only");
	} else {
		work_by_table(r->h->work, line, 0);
	}
}

static void convert(struct haproxy *h, struct proxy *p, struct ini_section *out)
{
	struct rules r = {.h = h, .p = p, .out = out, .accepted = ""};

	for (size_t i = 0; i < p->lists[LIST_RULE].count; i++)
		take_rule(&r, p->lists[LIST_RULE].list[i]);
	/* Accepted before nothing that refuses. */
	if (r.accepted[0] != '\0' && r.accept_line->fate == OLD_OPEN)
		old_set(h->arena, r.accept_line, OLD_NO_EFFECT, "weir accepts what no other line refuses");
}

/* The rules of a backend are for frontends in weir: those that send all their clients there. */
static void convert_of_backend(struct haproxy *h, struct proxy *p)
{
	bool found = false;

	for (size_t i = 0; i < h->count; i++) {
		struct proxy *front = h->proxies[i];

		if (front->out == NULL || !IS_FRONT(front) ||
		    strcmp(slot_word(front, SLOT_BACKEND, 0), p->name) != 0)
			continue;
		if (front->lists[LIST_ROUTE].count == 0) {
			found = true;
			convert(h, p, front->out);
		}
	}
	for (size_t i = 0; i < p->lists[LIST_RULE].count && !found; i++)
		old_set(h->arena, p->lists[LIST_RULE].list[i], OLD_LOST,
			"weir judges clients in the frontend: write it there");
}

void haproxy_rules(struct haproxy *h, struct proxy *p)
{
	if (p->kind == PROXY_BACKEND)
		convert_of_backend(h, p);
	else
		convert(h, p, p->out);
}

/* stick on src, and persist rdp-cookie. */
void haproxy_sticking(struct haproxy *h, struct proxy *p)
{
	const struct slot_value *stick = &p->slots[SLOT_STICK], *table = &p->slots[SLOT_TABLE];
	const char *text = "src";
	bool expires = false;

	if (slot_on(p, SLOT_PERSIST_RDP)) {
		slot_add(h, p, SLOT_PERSIST_RDP, "persist", "rdp");
		for (size_t i = 0; i < h->count; i++)
			if (h->proxies[i]->out != NULL && IS_FRONT(h->proxies[i]) &&
			    (h->proxies[i] == p ||
			     strcmp(slot_word(h->proxies[i], SLOT_BACKEND, 0), p->name) == 0) &&
			    ini_find(h->proxies[i]->out, "sniff") == NULL)
				ini_add(h->ini, h->proxies[i]->out, NULL, "sniff", "rdp");
	}
	if (!slot_on(p, SLOT_STICK))
		return;
	if (strcmp(slot_word(p, SLOT_STICK, 0), "src") != 0) {
		old_set(
		    h->arena, stick->line, OLD_LOST,
		    "weir keeps clients by their address: sticky = src; for one server at a time, make the "
		    "others backup");
		return;
	}
	for (size_t i = 1; table->line != NULL && i + 1 < table->line->count; i++) {
		const char *word = table->line->words[i], *value = table->line->words[i + 1];

		expires = expires || strcmp(word, "expire") == 0;
		if (strcmp(word, "expire") == 0 && haproxy_duration(h->arena, value) != NULL)
			text =
			    arena_printf(h->arena, "%s expire=%s", text, haproxy_duration(h->arena, value));
		else if (strcmp(word, "size") == 0)
			text = arena_printf(h->arena, "%s size=%s", text, value);
		else if (strcmp(word, "peers") == 0)
			old_set(h->arena, table->line, OLD_LOST,
				"weir has no peers: each machine has its table");
	}
	if (table->line != NULL)
		old_set(h->arena, table->line, OLD_CARRIED, NULL);
	ini_add(h->ini, p->out, stick->line, "sticky", "%s", text);
	if (!expires)
		old_set(h->arena, stick->line, OLD_DIFFERENT,
			"weir forgets a client that was away for 30m: expire= says another time");
}
