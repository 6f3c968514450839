/* SPDX-License-Identifier: MIT
 *
 * stick.c - clients that are kept at a server: stick tables, and the cookie of RDP.
 *
 * Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"

#define NOT_BY_SENT                                                                                       \
	"weir keeps clients by their address, not by what they send: those behind one address get one server"

/* The cookie of RDP is read where its clients come in. */
static void keep_by_cookie(struct haproxy *h, struct proxy *p)
{
	const struct proxy *front;

	slot_add(h, p, SLOT_PERSIST_RDP, "persist", "rdp");
	for (size_t i = 0; (front = haproxy_leader(h, p, i)) != NULL; i++)
		if (front->out != NULL &&
		    (front == p || strcmp(slot_word(front, SLOT_BACKEND, 0), p->name) == 0) &&
		    ini_find(front->out, "sniff") == NULL)
			ini_add(h->ini, front->out, NULL, "sniff", "rdp");
}

/* Is the sample one of what a client sends, such as the ID of its TLS session, or of an MQTT client? */
static bool is_sent(const char *sample)
{
	static const char *const begins[] = {"payload", "req.payload", "req_rdp_cookie", "req.rdp_cookie",
					     "rdp_cookie", "req.ssl_sni", "req_ssl_sni"};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(sample, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* What a server sends, from which HAProxy learns: the address is known before. */
static void drop_stored_responses(struct haproxy *h, struct proxy *p)
{
	for (size_t i = 0; i < p->all.count; i++)
		if (strcmp(p->all.list[i]->words[0], "stick") == 0 &&
		    strcmp(old_word(p->all.list[i], 1), "store-response") == 0)
			old_set(h->arena, p->all.list[i], OLD_NO_EFFECT,
				"weir keeps clients by their address, which it knows from the start");
}

/* ---- tables ---- */

/* The table of a line of the section: by itself, that of the section. NULL: there is none, or a condition
 * follows. */
static struct proxy *table_of(const struct haproxy *h, struct proxy *p, const struct old_line *line)
{
	if (line->count == 3)
		return p;
	return line->count == 5 && strcmp(line->words[3], "table") == 0 ? haproxy_table(h, line->words[4])
									: NULL;
}

/* Finds out whose clients each table keeps. */
static void find_keepers(struct haproxy *h)
{
	for (size_t n = 0; !h->keeping_known && n < h->count; n++)
		for (size_t i = 0; i < h->proxies[n]->lists[LIST_STICK].count; i++) {
			struct proxy *p = h->proxies[n];
			struct proxy *table = table_of(h, p, p->lists[LIST_STICK].list[i]);

			if (table == NULL || p->out == NULL)
				continue;
			table->keeps_several =
			    table->keeps_several || (table->keeps != NULL && table->keeps != p);
			table->keeps = p;
		}
	h->keeping_known = true;
}

/* Why the section's clients cannot be kept as this line says; NULL = they can. Static. */
static const char *why_lost(struct haproxy *h, struct proxy *p, const struct old_line *line)
{
	const char *by = old_word(line, 2);
	const struct proxy *table = table_of(h, p, line);

	if (is_sent(by))
		return NULL;
	if (strcmp(by, "src") != 0 && strcmp(by, "dst") != 0)
		return "weir keeps clients by their address (sticky = src), or by the one that they "
		       "connect to (sticky = dst), so that there is one server at a time";
	find_keepers(h);
	if (table == NULL || (table != p && (table->keeps_several || table->slots[SLOT_TABLE].line == NULL)))
		return "weir keeps all clients of a section, in a table of its own: for that, leave out what "
		       "follows 'src' or 'dst'";
	return NULL;
}

/* The value of `sticky`. `*forever`: the table names no time. */
static const char *words_of_table(struct haproxy *h, const struct proxy *p, const struct slot_value *table,
				  bool *forever)
{
	const struct old_line *line = table->line;
	const char *by = slot_word(p, SLOT_STICK, 0), *text = is_sent(by) ? "src" : by;

	*forever = true;
	for (size_t i = table->at; line != NULL && i + 1 < line->count; i++) {
		const char *word = line->words[i], *value = line->words[i + 1];

		*forever = *forever && strcmp(word, "expire") != 0;
		if (strcmp(word, "expire") == 0 && haproxy_duration(h->arena, value) != NULL)
			text =
			    arena_printf(h->arena, "%s expire=%s", text, haproxy_duration(h->arena, value));
		else if (strcmp(word, "size") == 0)
			text = arena_printf(h->arena, "%s size=%s", text, value);
	}
	return text;
}

void haproxy_take_table(struct haproxy *h, struct old_line *table)
{
	bool shared = strcmp(table->words[0], "table") == 0; /* of a peers section */

	if (table->fate >= OLD_CARRIED)
		return; /* many rules may ask for one table */
	old_set(h->arena, table, OLD_CARRIED, NULL);
	for (size_t i = 1; i + 1 < table->count; i++)
		shared = shared || strcmp(table->words[i], "peers") == 0;
	if (shared)
		old_set(h->arena, table, OLD_DIFFERENT,
			"weir has no peers: each machine has a table of its own");
}

static void keep_by_table(struct haproxy *h, struct proxy *p)
{
	struct old_line *stick = p->slots[SLOT_STICK].line;
	const struct proxy *other = table_of(h, p, stick);
	const struct slot_value *table = &(other != NULL ? other : p)->slots[SLOT_TABLE];
	bool forever;
	const char *words = words_of_table(h, p, table, &forever);
	/* Of few addresses, none is forgotten for want of room: the server of today is that of tomorrow. */
	const bool longest = forever && strcmp(slot_word(p, SLOT_STICK, 0), "dst") == 0;

	if (table->line != NULL)
		haproxy_take_table(h, table->line);
	ini_add(h->ini, p->out, stick, "sticky", "%s%s", words, longest ? " expire=365d" : "");
	drop_stored_responses(h, p);
	if (is_sent(slot_word(p, SLOT_STICK, 0)))
		old_set(h->arena, stick, OLD_DIFFERENT, NOT_BY_SENT);
	else if (forever && !longest)
		old_set(h->arena, stick, OLD_DIFFERENT,
			"weir forgets a client that was away for 30m: expire= says another time");
}

/* ---- lines ---- */

static void set_both(struct haproxy *h, struct proxy *p, enum old_fate fate, const char *why)
{
	if (slot_on(p, SLOT_STICK))
		old_set(h->arena, p->slots[SLOT_STICK].line, fate, "%s", why);
	if (slot_on(p, SLOT_MATCH))
		old_set(h->arena, p->slots[SLOT_MATCH].line, fate, "%s", why);
}

/* A token of RDP that names its server beside a table of users: nothing is to be learnt. */
static void leave_table(struct haproxy *h, struct proxy *p)
{
	set_both(h, p, OLD_DIFFERENT, "persist = rdp keeps them, by the token that their server gave them");
	if (p->slots[SLOT_TABLE].line != NULL)
		old_set(h->arena, p->slots[SLOT_TABLE].line, OLD_NO_EFFECT,
			"the token names the server: no table is needed");
	drop_stored_responses(h, p);
}

static bool is_match(const struct old_line *line)
{
	return strcmp(line->words[1], "match") == 0;
}

/* Does the line keep every client, so that HAProxy heeds no later line with the same table? */
static bool keeps_all(const struct haproxy *h, struct proxy *p, const struct old_line *line)
{
	return !is_sent(old_word(line, 2)) && table_of(h, p, line) != NULL;
}

/* Chooses the line that counts among those that store, or that look for what is stored: HAProxy takes the
 * first that it finds something by. */
static void choose(struct haproxy *h, struct proxy *p, enum slot slot)
{
	const struct old_lines *lines = &p->lists[LIST_STICK];
	struct old_line *chosen = NULL;
	bool settled = false;
	size_t behind = 0; /* the number of the first line after it */

	for (size_t i = 0; i < lines->count && !settled; i++) {
		if (is_match(lines->list[i]) != (slot == SLOT_MATCH))
			continue;
		settled = keeps_all(h, p, lines->list[i]);
		chosen = chosen == NULL || settled ? lines->list[i] : chosen;
		behind = i + 1;
	}
	p->slots[slot] = (struct slot_value){.line = chosen, .at = 2};
	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];

		if (line == chosen || is_match(line) != (slot == SLOT_MATCH))
			continue;
		if (is_sent(old_word(line, 2)))
			old_set(h->arena, line, OLD_DIFFERENT, NOT_BY_SENT);
		else if (settled && i >= behind && table_of(h, p, line) == table_of(h, p, chosen))
			old_set(h->arena, line, OLD_NO_EFFECT, "line %u keeps every client already",
				chosen->line);
		else
			old_set(h->arena, line, OLD_LOST, "weir keeps the clients of a section by one line");
	}
}

/* "stick on" both matches and stores. What only stores, or only matches, keeps nobody. */
static const char *why_no_effect(const struct haproxy *h, struct proxy *p)
{
	const struct old_line *store = p->slots[SLOT_STICK].line, *match = p->slots[SLOT_MATCH].line;
	const char *stored = slot_word(p, SLOT_STICK, 0), *matched = slot_word(p, SLOT_MATCH, 0);

	if (!slot_on(p, SLOT_STICK))
		return "no 'stick store-request' stores what it looks for";
	if (strcmp(store->words[1], "on") == 0 ||
	    (match != NULL && strcmp(stored, matched) == 0 && table_of(h, p, store) == table_of(h, p, match)))
		return NULL;
	return match != NULL ? "one looks for something else than the other stores"
			     : "no 'stick match' looks for what it stores";
}

/* stick on src or dst, and persist rdp-cookie. */
void haproxy_sticking(struct haproxy *h, struct proxy *p)
{
	const char *why;

	choose(h, p, SLOT_STICK);
	choose(h, p, SLOT_MATCH);
	if (slot_on(p, SLOT_PERSIST_RDP))
		keep_by_cookie(h, p);
	if (slot_on(p, SLOT_PERSIST) && !slot_on(p, SLOT_STICK) && !slot_on(p, SLOT_PERSIST_RDP))
		old_set(h->arena, p->slots[SLOT_PERSIST].line, OLD_NO_EFFECT,
			"no client is kept at a server");
	else if (slot_on(p, SLOT_PERSIST))
		work_by_table(h->work, p->slots[SLOT_PERSIST].line, 0);
	if (!slot_on(p, SLOT_STICK) && !slot_on(p, SLOT_MATCH))
		return;
	if (slot_on(p, SLOT_PERSIST_RDP) && is_sent(slot_word(p, SLOT_STICK, 0))) {
		leave_table(h, p);
		return;
	}
	why = slot_on(p, SLOT_STICK) ? why_lost(h, p, p->slots[SLOT_STICK].line) : NULL;
	if (why == NULL && slot_on(p, SLOT_MATCH))
		why = why_lost(h, p, p->slots[SLOT_MATCH].line);
	if (why != NULL) {
		set_both(h, p, OLD_LOST, why);
		return;
	}
	why = why_no_effect(h, p);
	if (why != NULL) {
		set_both(h, p, OLD_NO_EFFECT, why);
		return;
	}
	if (slot_on(p, SLOT_MATCH))
		old_set(h->arena, p->slots[SLOT_MATCH].line, OLD_CARRIED, NULL);
	keep_by_table(h, p);
}
