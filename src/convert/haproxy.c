/* SPDX-License-Identifier: MIT
 *
 * haproxy.c - HAProxy's sections become ours.
 *
 * Each section is a copy of its defaults with its own lines on top, as in HAProxy. What all sections then
 * share goes to our [defaults] (ini.c), so several defaults sections need nothing else. Main thread.
 */
#include "haproxy.h"

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

struct proxy *haproxy_find(const struct haproxy *h, unsigned kinds, const char *name)
{
	for (size_t i = h->count; i > 0; i--)
		if ((BIT(h->proxies[i - 1]->kind) & kinds) != 0 && strcmp(h->proxies[i - 1]->name, name) == 0)
			return h->proxies[i - 1];
	return NULL;
}

/* The defaults section that a new section is based on. */
static struct proxy *defaults_of(struct haproxy *h, const struct old_line *head)
{
	for (size_t i = 1; i + 1 < head->count; i++)
		if (strcmp(head->words[i], "from") == 0)
			return haproxy_find(h, BIT(PROXY_DEFAULTS), head->words[i + 1]);
	for (size_t i = h->count; i > 0 && head->words[0][0] != 'd'; i--)
		if (h->proxies[i - 1]->kind == PROXY_DEFAULTS)
			return h->proxies[i - 1];
	return NULL;
}

static struct proxy *add_proxy(struct haproxy *h, enum proxy_kind kind, struct old_line *head)
{
	struct proxy *p = arena_alloc(h->arena, sizeof(*p));

	p->kind = kind;
	p->head = head;
	p->name = strcmp(old_word(head, 1), "from") == 0 ? "" : old_word(head, 1);
	if (kind != PROXY_GLOBAL && kind != PROXY_OTHER)
		p->from = defaults_of(h, head);
	if (p->from != NULL) {
		static const enum list handed_down[] = {LIST_DEFAULT_SERVER, LIST_CHECK, LIST_LOG};

		memcpy(p->slots, p->from->slots, sizeof(p->slots));
		for (size_t i = 0; i < ARRAY_LEN(handed_down); i++) {
			const struct old_lines *from = &p->from->lists[handed_down[i]];

			for (size_t l = 0; l < from->count; l++) {
				struct old_lines *to = &p->lists[handed_down[i]];

				to->list =
				    arena_grow(h->arena, to->list, to->count, sizeof(struct old_line *));
				to->list[to->count++] = from->list[l];
			}
		}
	}
	h->proxies = arena_grow(h->arena, h->proxies, h->count, sizeof(struct proxy *));
	h->proxies[h->count++] = p;
	return p;
}

static void split(struct haproxy *h)
{
	const struct old_lines *every = &h->work->reading->every;
	struct proxy *p = NULL;

	for (size_t i = 0; i < every->count; i++) {
		struct old_line *line = every->list[i];
		enum proxy_kind kind;

		if (begins_section(line, &kind)) {
			p = add_proxy(h, kind, line);
			continue;
		}
		if (p == NULL)
			continue; /* the table says what it is */
		p->all.list = arena_grow(h->arena, p->all.list, p->all.count, sizeof(struct old_line *));
		p->all.list[p->all.count++] = line;
		if (p->kind != PROXY_GLOBAL && p->kind != PROXY_OTHER)
			haproxy_take(h, p, line);
	}
}

/* ---- which sections are ours ---- */

static bool has_word(const struct old_line *line, size_t from, const char *word)
{
	for (size_t i = from; i < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return true;
	return false;
}

/* A section that only shows statistics. */
static bool is_page(const struct proxy *p)
{
	bool shows = false;

	if (!IS_FRONT(p) || p->lists[LIST_SERVER].count > 0 || p->lists[LIST_ROUTE].count > 0)
		return false;
	for (size_t i = 0; i < p->lists[LIST_STATS].count; i++)
		shows = true;
	for (size_t i = 0; i < p->all.count; i++)
		shows = shows || has_word(p->all.list[i], 1, "prometheus-exporter");
	return shows;
}

static bool terminates_tls(const struct proxy *p)
{
	size_t tls = 0;

	for (size_t i = 0; i < p->lists[LIST_BIND].count; i++)
		tls += has_word(p->lists[LIST_BIND].list[i], 2, "ssl");
	return tls > 0 && tls == p->lists[LIST_BIND].count;
}

static bool only_tls_servers(const struct proxy *p)
{
	bool tls = p->lists[LIST_SERVER].count > 0;

	for (size_t i = 0; i < p->lists[LIST_SERVER].count; i++)
		tls = tls && has_word(p->lists[LIST_SERVER].list[i], 3, "ssl");
	return tls;
}

static bool has_listener(const struct proxy *p)
{
	return p->lists[LIST_BIND].count > 0 || strchr(old_word(p->head, 2), ':') != NULL;
}

static void decide(struct haproxy *h, struct proxy *p)
{
	const char *mode = slot_word(p, SLOT_MODE, 0);

	if (!IS_FRONT(p) && !IS_BACK(p))
		return;
	if (is_page(p))
		p->is_page = true;
	else if (mode[0] != '\0' && strcmp(mode, "tcp") != 0)
		p->why_not = arena_printf(h->arena, "mode %s: weir forwards TCP and reads no HTTP", mode);
	else if (terminates_tls(p))
		p->why_not = "weir does not terminate TLS, it passes it through";
	else if (IS_BACK(p) && only_tls_servers(p))
		p->why_not = "weir does not speak TLS to servers, it passes it through";
	else if (slot_on(p, SLOT_DISABLED))
		p->why_not = "the section is disabled";
	else if (IS_BACK(p) && p->kind == PROXY_BACKEND && p->lists[LIST_SERVER].count == 0)
		p->why_not = "a backend without servers";
	else if (p->kind == PROXY_LISTEN && !has_listener(p))
		p->why_not = "a section without an address to listen on";
}

/* The name of a backend that this frontend sends clients to; NULL after the last. */
static const char *target_of(const struct proxy *p, size_t i)
{
	const struct old_lines *routes = &p->lists[LIST_ROUTE];

	if (i < routes->count)
		return old_word(routes->list[i], 1);
	return i == routes->count && slot_on(p, SLOT_BACKEND) ? slot_word(p, SLOT_BACKEND, 0) : NULL;
}

/* A frontend whose backends are all left out is left out as well. */
static void decide_by_backends(struct haproxy *h, struct proxy *p)
{
	const struct proxy *to = NULL;
	const char *name;

	if (p->kind != PROXY_FRONTEND || p->why_not != NULL || p->is_page)
		return;
	for (size_t i = 0; (name = target_of(p, i)) != NULL; i++) {
		const struct proxy *found = haproxy_find(h, BIT(PROXY_BACKEND) | BIT(PROXY_LISTEN), name);

		/* There is none, or HAProxy computes its name. */
		if (found == NULL || found->why_not == NULL)
			return;
		to = found;
	}
	if (to != NULL)
		p->why_not =
		    arena_printf(h->arena, "its backend '%s' is left out: %s", to->name, to->why_not);
}

static void make_section(struct haproxy *h, struct proxy *p)
{
	const unsigned kind = p->kind == PROXY_FRONTEND	 ? IN_FRONTEND
			      : p->kind == PROXY_BACKEND ? IN_BACKEND
							 : IN_LISTEN;

	if (p->why_not != NULL || p->is_page || (!IS_FRONT(p) && !IS_BACK(p)))
		return;
	/* HAProxy takes servers, and no address, as a backend. */
	p->out = ini_section(h->ini, kind, p->name, p->head);
	old_set(h->arena, p->head, OLD_CARRIED, NULL);
	if (p->from != NULL)
		p->from->is_used = true;
	if (p->slots[SLOT_MODE].line != NULL)
		old_set(h->arena, p->slots[SLOT_MODE].line, OLD_CARRIED, NULL);
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

static void add_time(struct haproxy *h, struct proxy *p, enum slot slot, const char *key, const char *name)
{
	const char *value = slot_on(p, slot) ? haproxy_duration(h->arena, slot_word(p, slot, 0)) : NULL;

	if (value != NULL) {
		slot_add(h, p, slot, key, value);
	} else if (p->slots[slot].line != NULL) {
		old_set(h->arena, p->slots[slot].line, OLD_LOST, "'%s' is not a duration",
			slot_word(p, slot, 0));
	} else if (name != NULL) {
		ini_add(h->ini, p->out, NULL, key, "0");
		work_note(h->work, "'%s' has no '%s', so HAProxy never ends an idle or slow one: %s = 0",
			  p->name, name, key);
	}
}

/* The first of the slots that was said. */
static enum slot first_of(const struct proxy *p, enum slot a, enum slot b, enum slot c)
{
	return slot_on(p, a) ? a : slot_on(p, b) ? b : c;
}

static void add_half_closed(struct haproxy *h, struct proxy *p)
{
	const enum slot front = first_of(p, SLOT_CLIENT_FIN, SLOT_TUNNEL, SLOT_CLIENT);
	const enum slot back = first_of(p, SLOT_SERVER_FIN, SLOT_TUNNEL, SLOT_SERVER);
	enum slot slot = IS_FRONT(p) ? front : back;

	if (p->kind == PROXY_LISTEN && slot_ms(h, p, back) > slot_ms(h, p, front))
		slot = back;
	if (p->kind == PROXY_LISTEN && slot_on(p, SLOT_CLIENT_FIN) && slot_on(p, SLOT_SERVER_FIN) &&
	    slot_ms(h, p, SLOT_CLIENT_FIN) != slot_ms(h, p, SLOT_SERVER_FIN))
		old_set(h->arena, p->slots[slot == front ? back : front].line, OLD_DIFFERENT,
			"one timeout-half-closed for both sides: the longer");
	else if (slot == SLOT_CLIENT_FIN && slot_on(p, SLOT_SERVER_FIN))
		old_set(h->arena, p->slots[SLOT_SERVER_FIN].line, OLD_CARRIED, NULL);
	else if (slot == SLOT_SERVER_FIN && slot_on(p, SLOT_CLIENT_FIN))
		old_set(h->arena, p->slots[SLOT_CLIENT_FIN].line, OLD_CARRIED, NULL);
	if (slot_on(p, slot))
		add_time(h, p, slot, "timeout-half-closed", NULL);
	else
		ini_add(h->ini, p->out, NULL, "timeout-half-closed", "0");
}

static void add_timeouts(struct haproxy *h, struct proxy *p)
{
	const bool tunnel = slot_on(p, SLOT_TUNNEL);

	if (IS_BACK(p))
		add_time(h, p, SLOT_CONNECT, "timeout-connect", "timeout connect");
	if (IS_FRONT(p))
		add_time(h, p, tunnel ? SLOT_TUNNEL : SLOT_CLIENT, "timeout-client", "timeout client");
	if (IS_BACK(p))
		add_time(h, p, tunnel ? SLOT_TUNNEL : SLOT_SERVER, "timeout-server", "timeout server");
	if (tunnel)
		for (enum slot s = SLOT_CLIENT; s <= SLOT_SERVER; s++)
			if (p->slots[s].line != NULL && p->slots[s].line->fate == OLD_OPEN)
				old_set(
				    h->arena, p->slots[s].line, OLD_DIFFERENT,
				    "timeout tunnel holds from the start, not only after the first bytes");
	if (IS_BACK(p) && slot_on(p, SLOT_QUEUE))
		add_time(h, p, SLOT_QUEUE, "timeout-queue", NULL);
	add_half_closed(h, p);
}

static void add_keepalive(struct haproxy *h, struct proxy *p)
{
	const bool both = slot_on(p, SLOT_TCPKA);

	if (both && p->kind == PROXY_LISTEN) {
		slot_add(h, p, SLOT_TCPKA, "tcp-keepalive", "on");
		return;
	}
	if (IS_FRONT(p) && (both || slot_on(p, SLOT_CLITCPKA)))
		slot_add(h, p, both ? SLOT_TCPKA : SLOT_CLITCPKA, "client-keepalive", "on");
	if (IS_BACK(p) && (both || slot_on(p, SLOT_SRVTCPKA)))
		slot_add(h, p, both ? SLOT_TCPKA : SLOT_SRVTCPKA, "server-keepalive", "on");
}

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
	} else if (strncmp(name, "rdp-cookie", 10) == 0) {
		old_set(h->arena, line, OLD_DIFFERENT,
			"weir reads the cookie for 'persist = rdp' only; new clients go round robin");
		value = "roundrobin";
	} else if (strcmp(name, "roundrobin") != 0 && strcmp(name, "leastconn") != 0 &&
		   strcmp(name, "first") != 0 && strncmp(name, "random", 6) != 0) {
		work_by_table(h->work, line, 0);
		old_set(h->arena, line, OLD_LOST, "'balance %s' is of HTTP; weir takes roundrobin", name);
		return;
	}
	ini_add(h->ini, p->out, line, "balance", "%s", value);
}

static void convert_back(struct haproxy *h, struct proxy *p)
{
	add_balance(h, p);
	haproxy_sticking(h, p);
	haproxy_servers(h, p);
	if (slot_on(p, SLOT_RETRIES))
		slot_add(h, p, SLOT_RETRIES, "retries", slot_word(p, SLOT_RETRIES, 0));
	if (p->slots[SLOT_REDISPATCH].line != NULL)
		slot_add(h, p, SLOT_REDISPATCH, "redispatch", slot_on(p, SLOT_REDISPATCH) ? "on" : "off");
	else
		ini_add(h->ini, p->out, NULL, "redispatch", "off");
	if (slot_on(p, SLOT_ALLBACKUPS))
		slot_add(h, p, SLOT_ALLBACKUPS, "allbackups", "on");
}

static void convert_front(struct haproxy *h, struct proxy *p)
{
	haproxy_binds(h, p);
	if (slot_on(p, SLOT_MAXCONN))
		slot_add(h, p, SLOT_MAXCONN, "maxconn", slot_word(p, SLOT_MAXCONN, 0));
	if (slot_on(p, SLOT_RATE))
		slot_add(h, p, SLOT_RATE, "rate-limit", slot_word(p, SLOT_RATE, 0));
	if (slot_on(p, SLOT_NULL))
		slot_add(h, p, SLOT_NULL, "log-empty", "off");
	if (slot_on(p, SLOT_NORMAL))
		slot_add(h, p, SLOT_NORMAL, "log-sample", "errors");
	haproxy_rules(h, p);
	haproxy_routes(h, p);
}

static void convert_section(struct haproxy *h, struct proxy *p)
{
	if (p->out == NULL)
		return;
	if (IS_FRONT(p))
		convert_front(h, p);
	else if (p->lists[LIST_RULE].count > 0)
		haproxy_rules(h, p);
	if (IS_BACK(p))
		convert_back(h, p);
	add_timeouts(h, p);
	add_keepalive(h, p);
	if (slot_on(p, SLOT_TCPLOG)) {
		h->tcplog = true;
		old_set(h->arena, p->slots[SLOT_TCPLOG].line, OLD_CARRIED, NULL);
	}
	if (slot_on(p, SLOT_SPLICE))
		old_set(h->arena, p->slots[SLOT_SPLICE].line, OLD_NO_EFFECT, "weir splices by itself");
}

/* What no section that is converted asked for. */
static void account_for_unused(struct haproxy *h, struct proxy *p)
{
	const bool is_defaults = p->kind == PROXY_DEFAULTS;

	if (is_defaults && p->is_used)
		old_set(h->arena, p->head, OLD_CARRIED, NULL);
	else if (is_defaults)
		old_set(h->arena, p->head, OLD_NO_EFFECT, "no section that is converted uses it");
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		if (line->fate != OLD_OPEN || p->kind == PROXY_GLOBAL || p->kind == PROXY_OTHER)
			continue;
		if (is_defaults && !p->is_used)
			old_set(h->arena, line, OLD_NO_EFFECT, "no section that is converted uses it");
		else if (haproxy_knows(line))
			old_set(h->arena, line, OLD_NO_EFFECT, "nothing that is converted needs it");
	}
}

static void convert_others(struct haproxy *h, struct proxy *p)
{
	const char *kind = p->head->words[0];

	if (strcmp(kind, "resolvers") == 0) {
		haproxy_resolvers(h, p);
		return;
	}
	if (p->head->fate != OLD_OPEN)
		return; /* a page took its users */
	old_set(h->arena, p->head, OLD_NO_EFFECT, "weir has no '%s' sections", kind);
	for (size_t i = 0; i < p->all.count; i++)
		old_set(h->arena, p->all.list[i], OLD_NO_EFFECT, "weir has no '%s' sections", kind);
}

/* Defaults of HAProxy's that a person would not want to keep, and that are therefore not written. */
static void add_notes(struct haproxy *h)
{
	const struct ini_section *global = ini_only(h->ini, IN_GLOBAL);

	if (ini_find(global, "log") == NULL)
		work_note(h->work,
			  "HAProxy logs nothing without 'log': weir logs to the journal, or to stderr; log = "
			  "off for nothing");
	if (ini_find(global, "hard-stop-after") == NULL)
		work_note(h->work,
			  "HAProxy ends connections at once on SIGTERM, and never on SIGUSR1, without "
			  "'hard-stop-after': weir waits for 30s");
}

void convert_haproxy(struct work *w)
{
	struct haproxy h = {.work = w, .arena = w->arena, .ini = &w->ini};

	ini_only(&w->ini, IN_GLOBAL);
	split(&h);
	for (size_t i = 0; i < h.count; i++)
		decide(&h, h.proxies[i]);
	for (size_t i = 0; i < h.count; i++)
		decide_by_backends(&h, h.proxies[i]);
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
	add_notes(&h);
	for (size_t i = 0; i < h.count; i++) {
		account_for_others(&h, h.proxies[i]);
		if (h.proxies[i]->kind == PROXY_OTHER)
			convert_others(&h, h.proxies[i]);
		account_for_unused(&h, h.proxies[i]);
	}
}
