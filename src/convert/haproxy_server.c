/* SPDX-License-Identifier: MIT
 *
 * haproxy_server.c - `server`, `server-template` and `default-server` lines.
 *
 * What all servers of a section share becomes a key of the section where there is one, or `server-defaults`.
 * A key that begins with a dot is one that only sections have. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/haproxy_time.h"
#include "weir/config/options.h"

#define PAIRS_MAX 48

enum act {
	ACT_VALUE,
	ACT_TIME,
	ACT_FLAG,
	ACT_DROP,
	ACT_DROP_VALUE,
	ACT_FIXED, /* the word has a value of its own: `ours=fixed` */
};

static const struct word {
	const char *word;
	enum act act;
	const char *ours;
	const char *fixed;
} words[] = {
	{"weight", ACT_VALUE, "weight", NULL},
	{"maxconn", ACT_VALUE, "maxconn", NULL},
	{"maxqueue", ACT_VALUE, "maxqueue", NULL},
	{"slowstart", ACT_TIME, "slowstart", NULL},
	{"backup", ACT_FLAG, "backup", NULL},
	{"disabled", ACT_FLAG, "disabled", NULL},
	{"check", ACT_FLAG, "check", NULL},
	{"inter", ACT_TIME, "check-interval", NULL},
	{"fastinter", ACT_TIME, "check-fast", NULL},
	{"downinter", ACT_TIME, "check-down", NULL},
	{"rise", ACT_VALUE, "check-rise", NULL},
	{"fall", ACT_VALUE, "check-fall", NULL},
	{"port", ACT_VALUE, "check-port", NULL},
	{"addr", ACT_VALUE, "check-addr", NULL},
	{"agent-port", ACT_VALUE, "check-agent", NULL},
	{"agent-inter", ACT_TIME, "check-agent-interval", NULL},
	{"agent-check", ACT_FLAG, ".agent", NULL},
	{"agent-addr", ACT_VALUE, ".agent-addr", NULL},
	{"agent-send", ACT_VALUE, "check-agent-send", NULL},
	{"send-proxy", ACT_FIXED, "send-proxy", "v1"},
	{"send-proxy-v2", ACT_FIXED, "send-proxy", "v2"},
	{"proxy-v2-options", ACT_VALUE, "proxy-v2-options", NULL},
	{"source", ACT_VALUE, "source", NULL},
	{"usesrc", ACT_VALUE, ".usesrc", NULL},
	{"check-send-proxy", ACT_FLAG, ".check-send-proxy", NULL},
	{"check-ssl", ACT_FLAG, ".check-ssl", NULL},
	{"check-sni", ACT_VALUE, ".check-sni", NULL},
	{"check-alpn", ACT_VALUE, ".check-alpn", NULL},
	{"verify", ACT_VALUE, ".verify", NULL},
	{"ca-file", ACT_VALUE, ".ca-file", NULL},
	{"observe", ACT_VALUE, ".observe", NULL},
	{"on-error", ACT_VALUE, ".on-error", NULL},
	{"error-limit", ACT_VALUE, ".error-limit", NULL},
	{"on-marked-down", ACT_VALUE, ".on-marked-down", NULL},
	{"resolve-prefer", ACT_VALUE, ".resolve-prefer", NULL},
	{"tcp-ut", ACT_TIME, ".tcp-ut", NULL},
	{"cookie", ACT_DROP_VALUE, NULL, NULL},
	{"id", ACT_DROP_VALUE, NULL, NULL},
	{"init-addr", ACT_DROP_VALUE, NULL, NULL},
	{"resolvers", ACT_DROP_VALUE, NULL, NULL},
	{"resolve-opts", ACT_DROP_VALUE, NULL, NULL},
	{"enabled", ACT_DROP, NULL, NULL},
	{"stick", ACT_DROP, NULL, NULL},
	{"no-ssl", ACT_DROP, NULL, NULL},
};

struct pair {
	const char *key;
	const char *value; /* NULL = a flag */
};

struct server {
	struct old_line *line;
	const char *name;
	const char *address;
	struct pair pairs[PAIRS_MAX];
	size_t count;
	bool is_set;
	const char *max;
	bool left_out;
};

static const struct pair *find_pair(const struct server *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->pairs[i].key, key) == 0)
			return &s->pairs[i];
	return NULL;
}

static void drop_pair(struct server *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->pairs[i].key, key) != 0)
			continue;
		memmove(&s->pairs[i], &s->pairs[i + 1], (s->count - i - 1) * sizeof(s->pairs[0]));
		s->count--;
		return;
	}
}

static void set_pair(struct server *s, const char *key, const char *value)
{
	drop_pair(s, key);
	if (s->count < PAIRS_MAX)
		s->pairs[s->count++] = (struct pair){key, value};
}

static const char *value_of(const struct server *s, const char *key)
{
	const struct pair *p = find_pair(s, key);

	return p == NULL ? NULL : p->value != NULL ? p->value : "";
}

static const struct word *find_word(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].word, text) == 0)
			return &words[i];
	return NULL;
}

static void take_time(struct haproxy *h, struct old_line *line, struct server *s, const struct word *w,
		      const char *value)
{
	const char *time = haproxy_duration(h->arena, value);

	if (time == NULL || strcmp(time, "0") == 0)
		old_set(h->arena, line, OLD_LOST, "'%s %s' is not a duration that weir has", w->word, value);
	else
		set_pair(s, w->ours, time);
}

/* Words that the table here lacks, and that have a value. */
static bool has_value(const char *word)
{
	static const char *const words_with[] = {"track",
						 "redir",
						 "crt",
						 "alpn",
						 "ws",
						 "proto",
						 "log-proto",
						 "pool-max-conn",
						 "pool-purge-delay",
						 "max-reuse",
						 "namespace",
						 "socks4",
						 "on-marked-up",
						 "shard",
						 "guid",
						 "crl-file",
						 "ciphers",
						 "ciphersuites",
						 "pool-low-conn",
						 "set-proxy-v2-tlv-fmt"};

	for (size_t i = 0; i < ARRAY_LEN(words_with); i++)
		if (strcmp(word, words_with[i]) == 0)
			return true;
	return false;
}

/* A word that the table here lacks. Returns how many words it takes. */
static size_t take_unknown(struct haproxy *h, struct old_line *line, size_t i)
{
	const char *word = line->words[i];

	if (!work_word_by_table(h->work, line, word))
		old_set(h->arena, line, OLD_LOST, "'%s' of server", word);
	return has_value(word) ? 2 : 1;
}

static void take_words(struct haproxy *h, struct old_line *line, size_t i, struct server *s)
{
	while (i < line->count) {
		const char *text = line->words[i], *value = old_word(line, i + 1);
		const struct word *w = find_word(text);

		if (w == NULL && strncmp(text, "no-", 3) == 0 && find_word(text + 3) != NULL) {
			w = find_word(text + 3);
			if (w->ours != NULL)
				drop_pair(s, w->ours);
			i++;
			continue;
		}
		if (w == NULL) {
			i += take_unknown(h, line, i);
			continue;
		}
		if (strcmp(text, "minconn") == 0)
			old_set(h->arena, line, OLD_DIFFERENT,
				"the limit is maxconn, however few clients there are");
		if (w->act == ACT_VALUE)
			set_pair(s, w->ours, value);
		else if (w->act == ACT_TIME)
			take_time(h, line, s, w, value);
		else if (w->act == ACT_FLAG || w->act == ACT_FIXED)
			set_pair(s, w->ours, w->fixed);
		i += w->act == ACT_VALUE || w->act == ACT_TIME || w->act == ACT_DROP_VALUE ? 2 : 1;
	}
}

/* "1-50" or "50" servers of a template. */
static const char *highest(struct haproxy *h, const char *range)
{
	const char *minus = strchr(range, '-');

	return arena_printf(h->arena, "%s", minus != NULL ? minus + 1 : range);
}

static void read_server(struct haproxy *h, const struct proxy *p, struct old_line *line, struct server *s)
{
	size_t from = 3;

	*s = (struct server){.line = line, .name = old_word(line, 1), .address = old_word(line, 2)};
	for (size_t i = 0; i < p->lists[LIST_DEFAULT_SERVER].count; i++)
		take_words(h, p->lists[LIST_DEFAULT_SERVER].list[i], 1, s);
	if (strcmp(line->words[0], "dispatch") == 0) {
		s->name = "dispatch";
		s->address = old_word(line, 1);
		from = line->count;
	} else if (strcmp(line->words[0], "server-template") == 0) {
		s->is_set = true;
		s->max = highest(h, old_word(line, 2));
		s->address = old_word(line, 3);
		from = 4;
	}
	for (size_t i = from; i < line->count; i++)
		if (strcmp(line->words[i], "ssl") == 0) {
			old_set(h->arena, line, OLD_NOT_OURS,
				"weir does not speak TLS to servers, it passes it through");
			s->left_out = true;
		}
	if (!s->left_out)
		take_words(h, line, from, s);
}

/* Is the pair the same for all? */
static bool shared(const struct server *list, size_t count, const struct pair *pair)
{
	for (size_t i = 0; i < count; i++) {
		const struct pair *other = find_pair(&list[i], pair->key);

		if (other == NULL || (other->value == NULL) != (pair->value == NULL) ||
		    (pair->value != NULL && strcmp(other->value, pair->value) != 0))
			return false;
	}
	return true;
}

static void drop_everywhere(struct server *list, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		drop_pair(&list[i], key);
}

/* Adds a key of the section; comments stay with the server. */
static struct ini_line *add_key(struct haproxy *h, struct proxy *p, struct old_line *from, const char *key,
				const char *value)
{
	struct ini_line *line = ini_add(h->ini, p->out, NULL, key, "%s", value);

	line->from = from;
	return line;
}

/* What only sections have. */
static void add_section_words(struct haproxy *h, struct proxy *p, struct server *list, size_t count)
{
	const struct server *first = &list[0];
	const char *observe = value_of(first, ".observe"), *down = value_of(first, ".on-marked-down");
	const char *prefer = value_of(first, ".resolve-prefer");
	const char *limit = value_of(first, ".error-limit"), *error = value_of(first, ".on-error");

	if (observe != NULL && strcmp(observe, "layer4") == 0) {
		const char *text = "connect";

		if (limit != NULL)
			text = arena_printf(h->arena, "%s limit=%s", text, limit);
		if (error != NULL && strcmp(error, "mark-down") == 0)
			text = arena_printf(h->arena, "%s on-error=mark-down", text);
		add_key(h, p, first->line, "observe", text);
	}
	if (down != NULL && strcmp(down, "shutdown-sessions") == 0)
		add_key(h, p, first->line, "on-marked-down", "close-sessions");
	if (prefer != NULL)
		add_key(h, p, first->line, "resolve-family", prefer);
	if (value_of(first, ".tcp-ut") != NULL)
		add_key(h, p, first->line, "tcp-user-timeout", value_of(first, ".tcp-ut"));
	for (size_t i = 0; i < count; i++) {
		for (size_t n = 0; n < list[i].count; n++) {
			const struct pair *pair = &list[i].pairs[n];

			if (pair->key[0] == '.' && !shared(list, count, pair))
				old_set(h->arena, list[i].line, OLD_DIFFERENT,
					"'%s' holds for all servers of the section", pair->key + 1);
		}
	}
}

/* The agent of a server, from three words. */
static void settle_agent(struct haproxy *h, struct server *s)
{
	const char *addr = value_of(s, ".agent-addr"), *port = value_of(s, "check-agent");

	if (find_pair(s, ".agent") == NULL)
		drop_pair(s, "check-agent");
	else if (addr != NULL && port != NULL)
		set_pair(s, "check-agent", arena_printf(h->arena, "%s:%s", addr, port));
	drop_pair(s, ".agent");
	drop_pair(s, ".agent-addr");
	if (value_of(s, "check-agent-send") != NULL && old_secret(value_of(s, "check-agent-send")) != NULL) {
		old_set(h->arena, s->line, OLD_LOST, "agent-send: a password would be in the file");
		drop_pair(s, "check-agent-send");
	}
	if (value_of(s, "check-agent-send") != NULL)
		set_pair(s, "check-agent-send",
			 ini_quote(h->arena, value_of(s, "check-agent-send"),
				   strlen(value_of(s, "check-agent-send"))));
}

static void settle_source(struct haproxy *h, struct proxy *p, struct server *s)
{
	const char *text = value_of(s, "source"), *use = value_of(s, ".usesrc");

	if (text == NULL && slot_on(p, SLOT_SOURCE)) {
		text = slot_word(p, SLOT_SOURCE, 0);
		use =
		    strcmp(slot_word(p, SLOT_SOURCE, 1), "usesrc") == 0 ? slot_word(p, SLOT_SOURCE, 2) : NULL;
		old_set(h->arena, p->slots[SLOT_SOURCE].line, OLD_CARRIED, NULL);
	}
	drop_pair(s, ".usesrc");
	if (text == NULL)
		return;
	if (use != NULL && strncmp(use, "client", 6) == 0)
		text = "client";
	else if (use != NULL)
		old_set(h->arena, s->line, OLD_LOST, "'usesrc %s': weir can use the client's own address",
			use);
	drop_pair(s, "source");
	if (strcmp(text, "0.0.0.0") != 0 &&
	    strncmp(haproxy_address(h->arena, s->address, false), "unix:", 5) != 0)
		set_pair(s, "source", text);
}

static void add_checks(struct haproxy *h, struct proxy *p, struct server *list, size_t count)
{
	struct checking c = {.line = NULL};
	size_t checked = 0;
	const char *stray;
	int64_t inter;

	for (size_t i = 0; i < count; i++) {
		const struct server *s = &list[i];
		const char *version = value_of(s, "send-proxy");

		if (find_pair(s, "check") == NULL)
			continue;
		if (checked++ > 0)
			continue;
		c.line = s->line;
		if (value_of(s, "check-interval") == NULL ||
		    haproxy_time(value_of(s, "check-interval"), &inter, &stray) != HAPROXY_TIME_FINE)
			inter = 2000;
		c.interval_ms = inter;
		c.tls = find_pair(s, ".check-ssl") != NULL ? "tls" : NULL;
		c.verify = value_of(s, ".verify") != NULL && strcmp(value_of(s, ".verify"), "none") == 0
			       ? "none"
			       : value_of(s, ".ca-file");
		c.sni = value_of(s, ".check-sni");
		c.alpn = value_of(s, ".check-alpn");
		if (find_pair(s, ".check-send-proxy") != NULL)
			c.proxy = version != NULL ? version : "v1";
	}
	if (checked == 0)
		return;
	haproxy_check(h, p, &c);
	if (checked == count) {
		drop_everywhere(list, count, "check");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (find_pair(&list[i], "check") == NULL)
			set_pair(&list[i], "check", "off");
		else
			drop_pair(&list[i], "check");
	}
}

/* Words that are keys of the section as well. */
static void add_shared(struct haproxy *h, struct proxy *p, struct server *list, size_t count)
{
	const struct old_lines *defaults = &p->lists[LIST_DEFAULT_SERVER];
	struct old_line *from = defaults->count > 0 ? defaults->list[0] : list[0].line;
	const char *text = "";

	for (size_t i = 0; i < list[0].count;) {
		const struct pair pair = list[0].pairs[i];
		const bool is_key =
		    option_find(IN_BACKEND, pair.key).option != NULL && strcmp(pair.key, "maxqueue") != 0;

		if (pair.key[0] == '.' || !shared(list, count, &pair) ||
		    (!is_key && (count < 2 || (count < 3 && defaults->count == 0)))) {
			i++;
			continue;
		}
		if (strcmp(pair.key, "weight") == 0 && strcmp(pair.value, "1") == 0)
			; /* our default */
		else if (is_key)
			add_key(h, p, from, pair.key, pair.value != NULL ? pair.value : "on");
		else
			text = ini_join(h->arena, text,
					pair.value == NULL
					    ? pair.key
					    : arena_printf(h->arena, "%s=%s", pair.key, pair.value));
		drop_everywhere(list, count, pair.key);
	}
	if (text[0] != '\0')
		add_key(h, p, from, "server-defaults", text);
	for (size_t i = 0; i < defaults->count; i++)
		old_set(h->arena, defaults->list[i], OLD_CARRIED, NULL);
}

static const char *set_address(struct haproxy *h, const struct server *s)
{
	return s->address[0] == '_'
		   ? arena_printf(h->arena, "srv://%s", s->address)
		   : arena_printf(h->arena, "dns://%s", haproxy_address(h->arena, s->address, false));
}

static void add_server(struct haproxy *h, struct proxy *p, struct server *s)
{
	const char *text = s->is_set ? set_address(h, s) : haproxy_address(h->arena, s->address, false);
	struct ini_line *line;

	if (s->is_set)
		text = arena_printf(h->arena, "%s max=%s", text, s->max);
	for (size_t i = 0; i < s->count; i++) {
		const struct pair *pair = &s->pairs[i];

		if (pair->key[0] == '.' ||
		    (strcmp(pair->key, "weight") == 0 && strcmp(pair->value, "1") == 0))
			continue;
		text = pair->value == NULL ? arena_printf(h->arena, "%s %s", text, pair->key)
					   : arena_printf(h->arena, "%s %s=%s", text, pair->key, pair->value);
	}
	line =
	    ini_add(h->ini, p->out, s->line,
		    arena_printf(h->arena, "%s %s", s->is_set ? "servers" : "server", s->name), "%s", text);
	if (strchr(text, '$') != NULL)
		line->stand_in = "192.0.2.1:1";
}

void haproxy_servers(struct haproxy *h, struct proxy *p)
{
	const struct old_lines *lines = &p->lists[LIST_SERVER];
	struct server *list = arena_alloc(h->arena, (lines->count + 1) * sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < lines->count; i++) {
		read_server(h, p, lines->list[i], &list[count]);
		if (list[count].left_out)
			continue;
		settle_agent(h, &list[count]);
		settle_source(h, p, &list[count]);
		count++;
	}
	if (count == 0)
		return;
	add_checks(h, p, list, count);
	add_section_words(h, p, list, count);
	add_shared(h, p, list, count);
	for (size_t i = 0; i < count; i++)
		add_server(h, p, &list[i]);
}
