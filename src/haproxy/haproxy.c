/* SPDX-License-Identifier: MIT
 *
 * haproxy.c - HAProxy's sections become ours.
 *
 * Each section is a copy of its defaults with its own lines on top, as in HAProxy. What all sections then
 * share goes to our [defaults] (ini.c), so several defaults sections need nothing else. Main thread.
 */
#include "sections.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/options.h"

#define BIT(kind) (1u << (kind))

static const struct {
	const char *word;
	enum proxy_kind kind;
} sections[] = {
	{"global", PROXY_GLOBAL}, {"defaults", PROXY_DEFAULTS}, {"frontend", PROXY_FRONTEND},
	{"backend", PROXY_BACKEND}, {"listen", PROXY_LISTEN}, {"resolvers", PROXY_OTHER},
	{"peers", PROXY_OTHER}, {"userlist", PROXY_OTHER}, {"mailers", PROXY_OTHER},
	{"program", PROXY_OTHER}, {"http-errors", PROXY_OTHER}, {"ring", PROXY_OTHER},
	{"cache", PROXY_OTHER}, {"fcgi-app", PROXY_OTHER}, {"log-forward", PROXY_OTHER},
	{"crt-store", PROXY_OTHER}, {"namespace_list", PROXY_OTHER}, {"traces", PROXY_OTHER},
};

static bool begins_section(const struct old_line *line, enum proxy_kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		if (strcmp(line->words[0], sections[i].word) != 0)
			continue;
		*kind = sections[i].kind;
		return true;
	}
	return false;
}

bool haproxy_begins_section(const struct old_line *line)
{
	enum proxy_kind kind;

	return begins_section(line, &kind);
}

struct proxy *haproxy_find(const struct haproxy *h, unsigned kinds, const char *name)
{
	struct proxy *p = index_find(&h->names, name);

	while (p != NULL && (BIT(p->kind) & kinds) == 0)
		p = p->same_name;
	return p;
}

/* The defaults section that a new section is based on. */
static struct proxy *defaults_of(struct haproxy *h, const struct old_line *head)
{
	for (size_t i = 1; i + 1 < head->count; i++)
		if (strcmp(head->words[i], "from") == 0)
			return haproxy_find(h, BIT(PROXY_DEFAULTS), head->words[i + 1]);
	return head->words[0][0] != 'd' ? h->defaults : NULL;
}

/* LIST_RULE is handed down as well: rules.c looks for it. */
static const enum list handed_down[] = {LIST_DEFAULT_SERVER, LIST_CHECK, LIST_LOG};

static struct proxy *add_proxy(struct haproxy *h, enum proxy_kind kind, struct old_line *head)
{
	struct proxy *p = arena_alloc(h->arena, sizeof(*p));

	p->kind = kind;
	p->head = head;
	p->name = strcmp(old_word(head, 1), "from") == 0 ? "" : old_word(head, 1);
	if (kind != PROXY_GLOBAL && kind != PROXY_OTHER)
		p->from = defaults_of(h, head);
	if (p->from != NULL) {
		memcpy(p->slots, p->from->slots, sizeof(p->slots));
		for (size_t i = 0; i < ARRAY_LEN(handed_down); i++) {
			const struct old_lines *from = &p->from->lists[handed_down[i]];

			for (size_t l = 0; l < from->count && l < HANDED_DOWN_MAX; l++)
				old_lines_add(h->arena, &p->lists[handed_down[i]], from->list[l]);
		}
	}
	p->same_name = index_find(&h->names, p->name);
	index_put(h->arena, &h->names, p->name, p);
	if (kind == PROXY_DEFAULTS)
		h->defaults = p;
	h->proxies = arena_grow(h->arena, h->proxies, h->count, sizeof(struct proxy *));
	h->proxies[h->count++] = p;
	return p;
}

/* A "table" line of a peers section stands for a section with that table, which has no other lines. */
static void add_table(struct haproxy *h, const struct proxy *peers, struct old_line *line)
{
	struct proxy *p = arena_alloc(h->arena, sizeof(*p));

	p->kind = PROXY_OTHER;
	p->head = line;
	p->name = arena_printf(h->arena, "%s/%s", peers->name, old_word(line, 1));
	p->slots[SLOT_TABLE] = (struct slot_value){.line = line, .at = 2};
	p->same_name = index_find(&h->names, p->name);
	index_put(h->arena, &h->names, p->name, p);
}

static void split(struct haproxy *h)
{
	const struct old_lines *every = &h->work->reading->every;
	const struct old_line *stray = NULL;
	struct proxy *p = NULL;

	for (size_t i = 0; i < every->count; i++) {
		struct old_line *line = every->list[i];
		enum proxy_kind kind;

		if (begins_section(line, &kind)) {
			p = add_proxy(h, kind, line);
			continue;
		}
		if (p == NULL) {
			/* The table says what it is; the lines behind a mistyped section belong to it. */
			if (stray != NULL)
				old_set(h->arena, line, OLD_LOST,
					"its section is lost: '%s' in line %u begins none", stray->words[0],
					stray->line);
			else if (!haproxy_knows(line))
				stray = line;
			continue;
		}
		old_lines_add(h->arena, &p->all, line);
		if (p->kind != PROXY_GLOBAL && p->kind != PROXY_OTHER)
			haproxy_take(h, p, line);
		else if (strcmp(p->head->words[0], "peers") == 0 && strcmp(line->words[0], "table") == 0)
			add_table(h, p, line);
	}
}

static void make_section(struct haproxy *h, struct proxy *p)
{
	const unsigned kind = p->kind == PROXY_FRONTEND	 ? IN_FRONTEND
			      : p->kind == PROXY_BACKEND ? IN_BACKEND
							 : IN_LISTEN;
	const struct proxy *before = p->same_name;

	p->front = before == NULL || (before->out != NULL && IS_FRONT(before)) ? before : before->front;
	if (p->why_not != NULL || p->is_page || (!IS_FRONT(p) && !IS_BACK(p)))
		return;
	/* HAProxy takes servers, and no address, as a backend. */
	p->out = ini_section(h->ini, kind, haproxy_section_name(h, p), p->head);
	old_set(h->arena, p->head, OLD_CARRIED, NULL);
	if (p->from != NULL)
		p->from->is_used = true;
	haproxy_use_server_sections(h, p);
	if (p->slots[SLOT_MODE].line != NULL)
		old_set(h->arena, p->slots[SLOT_MODE].line, OLD_CARRIED, NULL);
}

const char *haproxy_why_not(const struct proxy *p)
{
	return p->why_not != NULL ? p->why_not : "its statistics page has an address of its own, in [stats]";
}

static void account_for_others(struct haproxy *h, struct proxy *p)
{
	const enum old_fate fate =
	    p->why_not != NULL && strstr(p->why_not, "weir") != NULL ? OLD_NOT_OURS : OLD_NO_EFFECT;

	if (p->why_not == NULL)
		return;
	old_set(h->arena, p->head, fate, "%s", p->why_not);
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		if (line->fate == OLD_OPEN)
			old_set(h->arena, line, fate, "%s", p->why_not);
	}
}

/* ---- a section's options ---- */

static void add_balance(struct haproxy *h, struct proxy *p)
{
	const char *name = slot_word(p, SLOT_BALANCE, 0), *hash = slot_word(p, SLOT_HASH_TYPE, 0);
	struct old_line *line = p->slots[SLOT_BALANCE].line;
	const bool consistent = strcmp(hash, "consistent") == 0;
	const char *value = name;

	if (line == NULL)
		return;
	if (strcmp(name, "static-rr") == 0) {
		value = "roundrobin";
	} else if (strcmp(name, "source") == 0 || strcmp(name, "hash") == 0) {
		if (name[0] == 'h' && strcmp(old_word(line, 2), "src") != 0) {
			old_set(h->arena, line, OLD_LOST,
				"weir hashes the client's address only: balance = source");
			return;
		}
		value = consistent ? "source hash=consistent" : "source";
		if (slot_on(p, SLOT_HASH_TYPE))
			old_set(h->arena, p->slots[SLOT_HASH_TYPE].line, OLD_CARRIED, NULL);
		if (consistent && slot_ms(h, p, SLOT_HASH_FACTOR) > 100) {
			value = arena_printf(h->arena, "%s hash-balance-factor=%s", value,
					     slot_word(p, SLOT_HASH_FACTOR, 0));
			old_set(h->arena, p->slots[SLOT_HASH_FACTOR].line, OLD_CARRIED, NULL);
		}
	} else if (strncmp(name, "random", 6) == 0 && slot_ms(h, p, SLOT_HASH_FACTOR) > 100) {
		value = arena_printf(h->arena, "%s hash-balance-factor=%s", name,
				     slot_word(p, SLOT_HASH_FACTOR, 0));
		old_set(h->arena, p->slots[SLOT_HASH_FACTOR].line, OLD_CARRIED, NULL);
	} else if (strncmp(name, "rdp-cookie", 10) == 0) {
		old_set(h->arena, line, OLD_DIFFERENT,
			"weir reads the cookie for 'persist = rdp' only; new clients go round robin");
		value = "roundrobin";
	} else if (strncmp(name, "${", 2) == 0) {
		old_set(h->arena, line, OLD_DIFFERENT,
			"set the variable to what weir has: roundrobin, leastconn, random, first or source");
	} else if (strcmp(name, "roundrobin") != 0 && strcmp(name, "leastconn") != 0 &&
		   strcmp(name, "first") != 0 && strncmp(name, "random", 6) != 0) {
		old_set(h->arena, line, OLD_NO_EFFECT,
			"'balance %s' is for HTTP: HAProxy takes roundrobin in mode tcp, as weir does", name);
		return;
	}
	ini_add(h->ini, p->out, line, "balance", "%s", value);
}

/* Does the client's server come from a hash? */
static bool hashes(const struct proxy *p)
{
	static const char *const words[] = {"source", "hash", "rdp-cookie"};
	const char *name = slot_word(p, SLOT_BALANCE, 0);
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		found = found || strncmp(name, words[i], strlen(words[i])) == 0;
	return found;
}

/* `option redispatch N`: at every Nth retry, or if N is negative, at the Nth before the end; without it, at
 * the last. That is for a hash: other clients get another server at each retry. */
static void add_redispatch(struct haproxy *h, struct proxy *p)
{
	struct old_line *line = p->slots[SLOT_REDISPATCH].line;
	const char *number = slot_word(p, SLOT_REDISPATCH, 0);
	const long every = number[0] != '\0' ? strtol(number, NULL, 10) : -1;
	const long retries = slot_on(p, SLOT_RETRIES) ? strtol(slot_word(p, SLOT_RETRIES, 0), NULL, 10) : 3;
	const bool never = hashes(p) && (every == 0 || every > retries);

	if (line == NULL) {
		ini_add(h->ini, p->out, NULL, "redispatch", "off");
		return;
	}
	slot_add(h, p, SLOT_REDISPATCH, "redispatch", slot_on(p, SLOT_REDISPATCH) && !never ? "on" : "off");
	if (slot_on(p, SLOT_REDISPATCH) && never)
		old_set(h->arena, line, OLD_DIFFERENT,
			"no retry is one of these, so that HAProxy takes another server only once a check "
			"has failed: weir does not");
}

static void convert_back(struct haproxy *h, struct proxy *p)
{
	add_balance(h, p);
	haproxy_sticking(h, p);
	haproxy_order(h, p);
	haproxy_servers(h, p);
	if (slot_on(p, SLOT_RETRIES))
		slot_add(h, p, SLOT_RETRIES, "retries", slot_word(p, SLOT_RETRIES, 0));
	add_redispatch(h, p);
	if (slot_on(p, SLOT_ALLBACKUPS))
		slot_add(h, p, SLOT_ALLBACKUPS, "allbackups", "on");
}

static void convert_front(struct haproxy *h, struct proxy *p)
{
	haproxy_binds(h, p);
	if (slot_on(p, SLOT_MAXCONN) && strcmp(slot_word(p, SLOT_MAXCONN, 0), "0") != 0)
		slot_add(h, p, SLOT_MAXCONN, "maxconn", slot_word(p, SLOT_MAXCONN, 0));
	if (slot_on(p, SLOT_RATE))
		slot_add(h, p, SLOT_RATE, "rate-limit", slot_word(p, SLOT_RATE, 0));
	if (slot_on(p, SLOT_NULL))
		slot_add(h, p, SLOT_NULL, "log-empty", "off");
	if (slot_on(p, SLOT_NORMAL))
		slot_add(h, p, SLOT_NORMAL, "log-sample", "errors");
	haproxy_rules(h, p);
	haproxy_needless(h, p);
	haproxy_routes(h, p);
}

static void convert_section(struct haproxy *h, struct proxy *p)
{
	if (p->out == NULL)
		return;
	if (IS_FRONT(p))
		convert_front(h, p);
	else
		haproxy_rules(h, p);
	if (IS_BACK(p))
		convert_back(h, p);
	haproxy_times(h, p);
	haproxy_keepalive(h, p);
	haproxy_asks_by_rule(h, p);
	if (IS_FRONT(p) && slot_on(p, SLOT_TCPLOG)) {
		h->tcplog = true;
		old_set(h->arena, p->slots[SLOT_TCPLOG].line, OLD_CARRIED, NULL);
	}
	if (slot_on(p, SLOT_SPLICE))
		old_set(h->arena, p->slots[SLOT_SPLICE].line, OLD_NO_EFFECT, "weir splices by itself");
}

/* How weir differs from what the line says, whatever else the section says; NULL: the line is another one. */
static const char *difference(const struct old_line *line)
{
	static const struct {
		const char *word;
		const char *option; /* NULL = the word is no option */
		const char *how;
	} rows[] = {
	    {"load-server-state-from-file", NULL, HAPROXY_STATE_FILE},
	    {"server-state-file-name", NULL, HAPROXY_STATE_FILE},
	    {"log-tag", NULL, "syslog is told that the lines are weir's"},
	    {"log-format-sd", NULL, "weir's lines for syslog have no structured data"},
	    {"email-alert", NULL, "weir sends no mail: changes to a server are in its log"},
	    {"unique-id-format", NULL,
	     "weir's unique IDs have a form of their own: {unique_id} in a log format"},
	    {"option", "logasap", "a session is logged when it ends, however long it lasts"},
	    {"option", "log-separate-errors", "sessions that fail are logged at the level of all others"},
	    {"option", "independent-streams", "bytes in one direction keep both sides from their timeouts"},
	    {"option", "independant-streams", "bytes in one direction keep both sides from their timeouts"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(line->words[0], rows[i].word) == 0 &&
		    (rows[i].option == NULL || strcmp(old_word(line, 1), rows[i].option) == 0))
			return rows[i].how;
	return NULL;
}

/* What no section that is converted asked for. */
static void account_for_unused(struct haproxy *h, struct proxy *p)
{
	const bool is_defaults = p->kind == PROXY_DEFAULTS;

	for (size_t i = 0; is_defaults && i < ARRAY_LEN(handed_down); i++)
		for (size_t l = HANDED_DOWN_MAX; l < p->lists[handed_down[i]].count; l++)
			old_set(h->arena, p->lists[handed_down[i]].list[l], OLD_LOST,
				"more than %d lines of this kind in a defaults section", HANDED_DOWN_MAX);
	if (is_defaults && p->is_used)
		old_set(h->arena, p->head, OLD_CARRIED, NULL);
	else if (is_defaults)
		old_set(h->arena, p->head, OLD_NO_EFFECT, "no section that is converted uses it");
	for (size_t l = HANDED_DOWN_MAX; is_defaults && p->is_used && l < p->lists[LIST_RULE].count; l++)
		old_set(h->arena, p->lists[LIST_RULE].list[l], OLD_LOST,
			"more than %d rules in a defaults section", HANDED_DOWN_MAX);
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		if (line->fate != OLD_OPEN || p->kind == PROXY_GLOBAL || p->kind == PROXY_OTHER)
			continue;
		if (is_defaults && !p->is_used)
			old_set(h->arena, line, OLD_NO_EFFECT, "no section that is converted uses it");
		else if (difference(line) != NULL && strcmp(old_word(line, 1), "none") != 0)
			old_set(h->arena, line, OLD_DIFFERENT, "%s", difference(line));
		else if (strcmp(line->words[0], "monitor-uri") == 0)
			old_set(h->arena, line, OLD_NO_EFFECT, "HAProxy answers it in mode http only");
		else if (difference(line) != NULL || haproxy_knows(line))
			old_set(h->arena, line, OLD_NO_EFFECT, "nothing that is converted needs it");
	}
}

static void convert_others(struct haproxy *h, struct proxy *p)
{
	const char *kind = p->head->words[0], *why = NULL;
	enum old_fate fate = OLD_NO_EFFECT;

	if (strcmp(kind, "resolvers") == 0) {
		haproxy_resolvers(h, p);
		return;
	}
	if (p->head->fate != OLD_OPEN)
		return; /* a page took its users */
	if (strcmp(kind, "program") == 0)
		why = "weir starts no programs: let systemd run it";
	else if (strcmp(kind, "log-forward") == 0)
		why = "weir does not forward logs";
	if (why != NULL)
		fate = OLD_NOT_OURS;
	else
		why = arena_printf(h->arena, "weir has no '%s' sections", kind);
	old_set(h->arena, p->head, fate, "%s", why);
	for (size_t i = 0; i < p->all.count; i++)
		old_set(h->arena, p->all.list[i], fate, "%s", why);
}

void haproxy_convert(struct work *w)
{
	struct haproxy h = {.work = w, .arena = w->arena, .ini = &w->ini};

	ini_only(&w->ini, IN_GLOBAL);
	split(&h);
	haproxy_decide(&h);
	for (size_t i = 0; i < h.count; i++)
		if (h.proxies[i]->kind == PROXY_GLOBAL)
			haproxy_global(&h, h.proxies[i]);
	for (size_t i = 0; i < h.count; i++)
		make_section(&h, h.proxies[i]);
	for (size_t i = 0; i < h.count; i++)
		convert_section(&h, h.proxies[i]);
	for (size_t i = 0; i < h.count; i++)
		if (h.proxies[i]->is_page)
			haproxy_page(&h, h.proxies[i]);
	haproxy_log(&h);
	haproxy_admin_listen(&h);
	haproxy_notes(&h);
	haproxy_use_servers(&h);
	for (size_t i = 0; i < h.count; i++)
		if (h.proxies[i]->kind == PROXY_OTHER)
			convert_others(&h, h.proxies[i]);
	haproxy_say_who_asks_system(&h);
	for (size_t i = 0; i < h.count; i++) {
		account_for_others(&h, h.proxies[i]);
		account_for_unused(&h, h.proxies[i]);
	}
}
