/* SPDX-License-Identifier: MIT
 *
 * server_words.c - the words of `server`, `server-template` and `default-server` lines.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "weir/base/check.h"

#define PLACES_MAX 256 /* of a template */

enum act {
	ACT_VALUE,
	ACT_TIME,
	ACT_COUNT, /* of checks */
	ACT_FLAG,
	ACT_DROP,
	ACT_DROP_VALUE,
	ACT_FIXED, /* the word has a value of its own: `ours=fixed` */
	ACT_CLEAR, /* the word takes back `ours` */
	ACT_LOST,  /* it has a value, and `fixed` is what to do */
};

static const struct word {
	const char *word;
	enum act act;
	const char *ours;
	const char *fixed;
} words[] = {
	{"weight", ACT_VALUE, "weight", NULL},
	{"maxconn", ACT_VALUE, "maxconn", NULL},
	{"minconn", ACT_VALUE, ".minconn", NULL},
	{"maxqueue", ACT_VALUE, "maxqueue", NULL},
	{"slowstart", ACT_TIME, "slowstart", NULL},
	{"backup", ACT_FLAG, "backup", NULL},
	{"disabled", ACT_FLAG, "disabled", NULL},
	{"check", ACT_FLAG, "check", NULL},
	{"inter", ACT_TIME, "check-interval", NULL},
	{"fastinter", ACT_TIME, "check-fast", NULL},
	{"downinter", ACT_TIME, "check-down", NULL},
	{"rise", ACT_COUNT, "check-rise", NULL},
	{"fall", ACT_COUNT, "check-fall", NULL},
	{"port", ACT_VALUE, "check-port", NULL},
	{"addr", ACT_VALUE, "check-addr", NULL},
	{"agent-port", ACT_VALUE, "check-agent", NULL},
	{"agent-inter", ACT_TIME, "check-agent-interval", NULL},
	{"agent-check", ACT_FLAG, ".agent", NULL},
	{"agent-addr", ACT_VALUE, ".agent-addr", NULL},
	{"agent-send", ACT_VALUE, "check-agent-send", NULL},
	{"send-proxy", ACT_FIXED, "send-proxy", "v1"},
	{"send-proxy-v2", ACT_FIXED, "send-proxy", "v2"},
	{"send-proxy-v2-ssl", ACT_FIXED, "send-proxy", "v2"},
	{"send-proxy-v2-ssl-cn", ACT_FIXED, "send-proxy", "v2"},
	{"proxy-v2-options", ACT_VALUE, "proxy-v2-options", NULL},
	{"source", ACT_VALUE, "source", NULL},
	{"usesrc", ACT_VALUE, ".usesrc", NULL},
	{"check-send-proxy", ACT_FLAG, ".check-send-proxy", NULL},
	{"check-ssl", ACT_FLAG, ".check-ssl", NULL},
	{"check-sni", ACT_VALUE, ".check-sni", NULL},
	{"check-alpn", ACT_VALUE, ".check-alpn", NULL},
	{"verify", ACT_VALUE, ".verify", NULL},
	{"ca-file", ACT_VALUE, ".ca-file", NULL},
	{"crt", ACT_VALUE, SERVER_CRT, NULL},
	{"sni", ACT_DROP_VALUE, NULL, NULL}, /* of sessions over TLS: checks have check-sni */
	{"observe", ACT_VALUE, ".observe", NULL},
	{"on-error", ACT_VALUE, ".on-error", NULL},
	{"error-limit", ACT_VALUE, ".error-limit", NULL},
	{"on-marked-down", ACT_VALUE, ".on-marked-down", NULL},
	{"resolve-prefer", ACT_VALUE, ".resolve-prefer", NULL},
	{"tcp-ut", ACT_TIME, ".tcp-ut", NULL},
	{"track", ACT_VALUE, ".track", NULL},
	{"cookie", ACT_DROP_VALUE, NULL, NULL},
	{"id", ACT_DROP_VALUE, NULL, NULL},
	{"init-addr", ACT_DROP_VALUE, NULL, NULL},
	{"resolvers", ACT_VALUE, SERVER_RESOLVERS, NULL},
	{"resolve-opts", ACT_DROP_VALUE, NULL, NULL},
	{"enabled", ACT_CLEAR, "disabled", NULL},
	{"stick", ACT_DROP, NULL, NULL},
	{"interface", ACT_LOST, NULL, "write source=ADDRESS, with an address of that interface"},
	{"resolve-net", ACT_LOST, NULL, "weir takes every address that DNS gives: write the addresses"},
	{"ssl", ACT_DROP, NULL, NULL}, /* see tls_after() */
	{"no-ssl", ACT_DROP, NULL, NULL},
};

const struct pair *server_pair(const struct server *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->pairs[i].key, key) == 0)
			return &s->pairs[i];
	return NULL;
}

void server_drop(struct server *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->pairs[i].key, key) != 0)
			continue;
		memmove(&s->pairs[i], &s->pairs[i + 1], (s->count - i - 1) * sizeof(s->pairs[0]));
		s->count--;
		return;
	}
}

void server_set(struct server *s, const char *key, const char *value)
{
	server_drop(s, key);
	if (s->count < PAIRS_MAX)
		s->pairs[s->count++] = (struct pair){key, value};
}

const char *server_value(const struct server *s, const char *key)
{
	const struct pair *p = server_pair(s, key);

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
	const size_t digits = strspn(value, "0123456789"), len = digits + strspn(value + digits, "usmhd");

	/* "1s[": HAProxy warns, and takes what is before it. */
	if (time == NULL && digits > 0)
		time = haproxy_duration(h->arena, arena_strndup(h->arena, value, len));
	if (time != NULL && strcmp(time, "0") == 0 && strcmp(w->word, "slowstart") == 0)
		server_drop(s, w->ours);
	else if (time == NULL || strcmp(time, "0") == 0)
		old_set(h->arena, line, OLD_LOST, "'%s %s' is not a duration that weir has", w->word, value);
	else
		server_set(s, w->ours, time);
	haproxy_say_duration(h, line, value);
}

/* "rise 99999999": until a person enables the server again. */
static void take_count(struct haproxy *h, struct old_line *line, struct server *s, const struct word *w,
		       const char *value)
{
	const bool is_count = strspn(value, "0123456789") == strlen(value);
	const bool is_more = is_count && strtoul(value, NULL, 10) > 100000;

	if (is_more)
		old_set(h->arena, line, OLD_DIFFERENT, "'%s' is 100000 at most", w->ours);
	server_set(s, w->ours, is_more ? "100000" : value);
}

/* Words that the table here lacks, and that have a value. */
static bool has_value(const char *word)
{
	static const char *const words_with[] = {"redir",
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
						 "ssl-min-ver",
						 "ssl-max-ver",
						 "npn",
						 "check-proto",
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

/* Does the server send PROXY headers of another version than the word's? */
static bool is_other_version(const struct server *s, const struct word *w)
{
	const char *known = w->act == ACT_FIXED ? server_value(s, w->ours) : NULL;

	return known != NULL && strcmp(known, w->fixed) != 0;
}

/* Of two versions of PROXY headers, HAProxy sends the second, whichever is said last. */
static bool yields(const struct server *s, const struct word *w)
{
	return is_other_version(s, w) && strcmp(w->fixed, "v1") == 0;
}

static void take_words(struct haproxy *h, struct old_line *line, size_t i, struct server *s)
{
	while (i < line->count) {
		const char *text = line->words[i], *value = old_word(line, i + 1);
		const struct word *w = find_word(text);

		if (w == NULL && strncmp(text, "no-", 3) == 0 && find_word(text + 3) != NULL) {
			w = find_word(text + 3);
			if (w->ours != NULL && !is_other_version(s, w))
				server_drop(s, w->ours);
			i++;
			continue;
		}
		if (w == NULL) {
			i += take_unknown(h, line, i);
			continue;
		}
		if (w->act == ACT_VALUE)
			server_set(s, w->ours, strcmp(value, "localhost") == 0 ? "127.0.0.1" : value);
		else if (w->act == ACT_TIME)
			take_time(h, line, s, w, value);
		else if (w->act == ACT_COUNT)
			take_count(h, line, s, w, value);
		else if (w->act == ACT_FLAG || (w->act == ACT_FIXED && !yields(s, w)))
			server_set(s, w->ours, w->fixed);
		else if (w->act == ACT_CLEAR)
			server_drop(s, w->ours);
		else if (w->act == ACT_LOST)
			old_set(h->arena, line, OLD_LOST, "'%s': %s", text, w->fixed);
		i += w->act == ACT_VALUE || w->act == ACT_TIME || w->act == ACT_COUNT ||
			w->act == ACT_DROP_VALUE || w->act == ACT_LOST ? 2 : 1;
	}
}

/* "5-50" or "50" servers of a template: how many there are. */
static const char *count_of(struct haproxy *h, struct old_line *line, const char *name, const char *range)
{
	const unsigned long first = strtoul(range, NULL, 10);
	const char *minus = strchr(range, '-');
	const unsigned long last = minus != NULL ? strtoul(minus + 1, NULL, 10) : 0;

	if (minus == NULL || first <= 1 || last < first)
		return minus != NULL ? minus + 1 : range;
	old_set(h->arena, line, OLD_DIFFERENT, "their names begin with '%s1', not with '%s%lu'", name, name,
		first);
	return arena_printf(h->arena, "%lu", last - first + 1);
}

/* How many servers a template makes of an address; 0 = it has a name to look up, or too many. They are
 * numbered from `*first` on. */
static size_t count_places(const struct old_line *line, const char *address, size_t *first)
{
	const char *range = old_word(line, 2), *minus = strchr(range, '-');
	const unsigned long low = minus != NULL ? strtoul(range, NULL, 10) : 1;
	const unsigned long high = strtoul(minus != NULL ? minus + 1 : range, NULL, 10);

	if (address[0] != '[' && strspn(address, "0123456789.:") != strlen(address))
		return 0;
	*first = low;
	return high >= low && high - low < PLACES_MAX ? high - low + 1 : 0;
}

/* HAProxy looks for the path of a Unix socket below its chroot, because it connects later than it binds. */
static const char *below_chroot(struct haproxy *h, const char *address)
{
	const char *path = strncmp(address, "unix@", 5) == 0 ? address + 5 : address;

	if (h->chroot == NULL || path[0] != '/')
		return address;
	return arena_printf(h->arena, "%s%s", h->chroot, path);
}

/* The number of words that a server line begins with: those after them are options. */
static size_t options_of(const struct old_line *line)
{
	if (strcmp(line->words[0], "dispatch") == 0)
		return line->count;
	return strcmp(line->words[0], "server-template") == 0 ? 4 : 3;
}

/* The line that makes a server speak TLS, by the words from number `i` on; the last of them counts. */
static struct old_line *tls_after(struct old_line *line, size_t i, struct old_line *before)
{
	for (; i < line->count; i++)
		if (strcmp(line->words[i], "ssl") == 0)
			before = line;
		else if (strcmp(line->words[i], "no-ssl") == 0)
			before = NULL;
	return before;
}

/* Does a default-server line hold for a server? Lines of another file are those of a defaults section. */
static bool is_before(const struct old_line *line, const struct old_line *server)
{
	return line->line < server->line || strcmp(line->file, server->file) != 0;
}

bool haproxy_only_tls_servers(const struct proxy *p)
{
	const struct old_lines *list = &p->lists[LIST_SERVER], *defaults = &p->lists[LIST_DEFAULT_SERVER];
	struct old_line *tls = NULL;
	size_t at = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct old_line *line = list->list[i];

		for (; at < defaults->count && is_before(defaults->list[at], line); at++)
			tls = tls_after(defaults->list[at], 1, tls);
		if (strcmp(line->words[0], "dispatch") == 0 || tls_after(line, options_of(line), tls) == NULL)
			return false;
	}
	return list->count > 0;
}

void server_read_defaults(struct haproxy *h, const struct proxy *p, const struct old_line *line,
			  struct server *base)
{
	const struct old_lines *defaults = &p->lists[LIST_DEFAULT_SERVER];

	/* The servers of `balance first` are not in the order of their lines. */
	if (base->defaults > 0 && !is_before(defaults->list[base->defaults - 1], line))
		*base = (struct server){.line = NULL};
	for (; base->defaults < defaults->count; base->defaults++) {
		struct old_line *one = defaults->list[base->defaults];

		if (!is_before(one, line))
			return;
		take_words(h, one, 1, base);
		base->tls = tls_after(one, 1, base->tls);
		old_set(h->arena, one, OLD_CARRIED, NULL);
	}
}

void server_read(struct haproxy *h, struct old_line *line, const struct server *base, struct server *s)
{
	if (strcmp(line->words[0], "dispatch") == 0) {
		*s = (struct server){.line = line, .name = "dispatch", .address = old_word(line, 1)};
		return;
	}
	*s = *base;
	s->line = line;
	s->name = old_word(line, 1);
	s->address = below_chroot(h, old_word(line, 2));
	if (strcmp(line->words[0], "server-template") == 0) {
		s->address = old_word(line, 3);
		s->places = count_places(line, s->address, &s->first_place);
		s->is_set = s->places == 0;
		if (s->is_set)
			s->max = count_of(h, line, s->name, old_word(line, 2));
	}
	s->tls = tls_after(line, options_of(line), base->tls);
	if (s->tls == NULL) {
		take_words(h, line, options_of(line), s);
		return;
	}
	s->left_out = true;
	old_set(h->arena, line, OLD_NOT_OURS, "weir does not speak TLS to servers, it passes it through");
	if (s->tls != line)
		old_set(h->arena, s->tls, OLD_NOT_OURS,
			"weir does not speak TLS to servers, it passes it through");
}

/* HAProxy looks a name up when it starts; ours takes addresses. */
void server_settle_check_addr(struct haproxy *h, struct server *s)
{
	const char *addr = server_value(s, "check-addr"), *variable;

	if (addr == NULL || addr[0] == '[' || strpbrk(addr, ":@$") != NULL ||
	    strspn(addr, "0123456789.") == strlen(addr))
		return;
	variable = work_address_variable(h->work, addr);
	server_set(s, "check-addr", arena_printf(h->arena, "${%s}", variable));
	old_set(h->arena, s->line, OLD_DIFFERENT,
		"'check-addr' takes no name: write the address of %s, or set %s to it in the environment of "
		"weir", addr, variable);
}
