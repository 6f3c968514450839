/* SPDX-License-Identifier: MIT
 *
 * bind.c - `bind` lines, and the address that old files have behind the name of a section.
 *
 * Main thread.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

/* ACT_TCP: a flag that Unix sockets do without. ACT_UNIX, ACT_OWNER: values that others do without. */
enum act { ACT_VALUE, ACT_FLAG, ACT_TCP, ACT_DROP, ACT_DROP_VALUE, ACT_UNIX, ACT_OWNER };

/* The words of a bind line. */
static const struct {
	const char *word;
	enum act act;
	const char *ours;
} words[] = {
	{"backlog", ACT_VALUE, "backlog"},
	{"interface", ACT_VALUE, "interface"},
	{"mode", ACT_UNIX, "mode"},
	{"user", ACT_OWNER, "user"},
	{"group", ACT_OWNER, "group"},
	{"uid", ACT_OWNER, "user"},
	{"gid", ACT_OWNER, "group"},
	{"accept-proxy", ACT_FLAG, "accept-proxy"},
	{"defer-accept", ACT_TCP, "defer-accept"},
	{"transparent", ACT_TCP, "transparent"},
	{"tfo", ACT_TCP, "tfo"},
	{"v6only", ACT_TCP, "v6only"},
	{"v4v6", ACT_DROP, NULL},
	{"nice", ACT_DROP_VALUE, NULL},
	{"id", ACT_DROP_VALUE, NULL},
	{"process", ACT_DROP_VALUE, NULL},
	{"thread", ACT_DROP_VALUE, NULL},
	{"shards", ACT_DROP_VALUE, NULL},
	{"level", ACT_DROP_VALUE, NULL},
	{"severity-output", ACT_DROP_VALUE, NULL},
	{"expose-fd", ACT_DROP_VALUE, NULL},
	{"alpn", ACT_DROP_VALUE, NULL},
	{"npn", ACT_DROP_VALUE, NULL},
};

struct bind {
	const char *options;
	const char *stand_in;
	const char *name;
	const char *maxconn; /* NULL = none */
	const char *unacked; /* tcp-ut; NULL = none */
	bool proxy;
};

static bool is_unix(struct haproxy *h, const struct old_line *line)
{
	return strncmp(haproxy_address(h->arena, old_word(line, 1), true), "unix:", 5) == 0;
}

/* Does HAProxy leave aside word number `n` of the table, for an address of this family? */
static bool is_for_others(struct haproxy *h, const struct old_line *line, size_t n, const char *value)
{
	const bool is_socket = is_unix(h, line);

	if (strcmp(words[n].word, "v6only") == 0 && strchr(old_word(line, 1), ',') == NULL)
		return haproxy_address(h->arena, old_word(line, 1), true)[0] != '[';
	if (strcmp(words[n].word, "backlog") == 0)
		return strcmp(value, "0") == 0;
	if (words[n].act == ACT_TCP)
		return is_socket;
	return (words[n].act == ACT_UNIX || words[n].act == ACT_OWNER) && !is_socket;
}

static size_t take_word(struct haproxy *h, struct old_line *line, size_t i, struct bind *b)
{
	const char *word = line->words[i], *value = old_word(line, i + 1);

	if (strcmp(word, "name") == 0) {
		b->name = haproxy_name(h->arena, value);
		return 2;
	}
	if (strcmp(word, "maxconn") == 0) {
		b->maxconn = strcmp(value, "0") != 0 ? value : NULL;
		return 2;
	}
	if (strcmp(word, "tcp-ut") == 0 && haproxy_duration(h->arena, value) != NULL) {
		b->unacked = haproxy_duration(h->arena, value);
		return 2;
	}
	for (size_t n = 0; n < ARRAY_LEN(words); n++) {
		const bool flag = words[n].act == ACT_FLAG || words[n].act == ACT_TCP;
		const char *text;

		if (strcmp(word, words[n].word) != 0)
			continue;
		if (is_for_others(h, line, n, value))
			return flag ? 1 : 2;
		b->proxy = b->proxy || strcmp(word, "accept-proxy") == 0;
		if (words[n].act == ACT_DROP || words[n].act == ACT_DROP_VALUE)
			return words[n].act == ACT_DROP ? 1 : 2;
		text = flag ? words[n].ours
			    : arena_printf(h->arena, "%s=%s", words[n].ours, value);
		b->options = ini_join(h->arena, b->options, text);
		if (words[n].act != ACT_OWNER)
			b->stand_in = ini_join(h->arena, b->stand_in, text);
		return flag ? 1 : 2;
	}
	if (!work_word_by_table(h->work, line, word))
		old_set(h->arena, line, OLD_LOST, "'%s' of bind", word);
	return 1;
}

/* The ports behind the host of an address: one, or a range. */
static bool ports_of(const char *address, size_t *host_len, unsigned long *first, unsigned long *last)
{
	const char *colon = strrchr(address, ':');
	char *end;

	if (colon == NULL || !is_digit(colon[1]))
		return false;
	*host_len = (size_t)(colon - address);
	*first = *last = strtoul(colon + 1, &end, 10);
	if (*end == '-')
		*last = strtoul(end + 1, &end, 10);
	return *end == '\0';
}

/* Does a line of the section have the address, with these options? HAProxy binds a second socket then. */
static bool is_bound(const struct ini_section *s, const char *address, const char *options)
{
	unsigned long first, last, from, to;
	size_t host, len;

	if (!ports_of(address, &host, &first, &last))
		return false;
	for (size_t i = 0; i < s->count; i++) {
		const char *value = s->lines[i].value, *more = value + strcspn(value, " ");
		char other[300]; /* the longest host name and its ports */

		if (strncmp(value, address, host) != 0 || (size_t)(more - value) >= sizeof(other))
			continue;
		memcpy(other, value, (size_t)(more - value));
		other[more - value] = '\0';
		if (strncmp(s->lines[i].key, "bind", 4) == 0 && ports_of(other, &len, &from, &to) &&
		    len == host && strncmp(address, other, len) == 0 && from <= first && last <= to &&
		    strcmp(more + (*more == ' '), options) == 0)
			return true;
	}
	return false;
}

/* Is it the name of a host, with a port behind it? */
static bool has_name(const char *address)
{
	bool letter = false;
	size_t len = 0;

	while (isalnum((unsigned char)address[len]) != 0 ||
	       (address[len] != '\0' && strchr(".-_", address[len]) != NULL))
		letter = isalpha((unsigned char)address[len++]) != 0 || letter;
	return letter && address[len] == ':' && (is_digit(address[len + 1]) || address[len + 1] == '$');
}

/* HAProxy looks a name up when it starts; ours takes addresses. */
static const char *address_of_name(struct haproxy *h, struct old_line *line, const char *address)
{
	const size_t len = strcspn(address, ":");
	const char *name = arena_strndup(h->arena, address, len);
	const char *variable = work_address_variable(h->work, name);

	old_set(h->arena, line, OLD_DIFFERENT,
		"'bind' takes no name: write the address of %s, or set %s to it in the environment of weir",
		name, variable);
	return arena_printf(h->arena, "${%s}%s", variable, address + len);
}

const char *haproxy_bind_address(struct haproxy *h, struct old_line *line, const char *address)
{
	const char *ours = haproxy_address(h->arena, address, true);

	if (strstr(address, "localhost:") != NULL && strncmp(ours, "127.0.0.1:", 10) == 0)
		old_set(h->arena, line, OLD_DIFFERENT,
			"127.0.0.1: HAProxy listens at the first address that the system has for localhost, "
			"which may be ::1");
	return has_name(ours) ? address_of_name(h, line, ours) : ours;
}

void haproxy_bind_stand_in(struct haproxy *h, struct ini_line *out, const char *ours, const char *options)
{
	const unsigned n = ++h->stand_ins;
	const char *address = ours;

	if (strstr(out->value, "${") == NULL)
		return;
	/* An address of the same family that no other line has. */
	if (strstr(ours, "${") != NULL && ours[0] == '[')
		address = arena_printf(h->arena, "[2001:db8::%x:%x]:1", n >> 16, n & 0xffff);
	else if (strstr(ours, "${") != NULL)
		address =
		    arena_printf(h->arena, "127.%u.%u.%u:1", 1 + (n >> 16), n >> 8 & 0xff, n & 0xff);
	out->stand_in = ini_join(h->arena, address, work_without_variables(h->arena, options, ""));
}

static void add_bind(struct haproxy *h, struct proxy *p, struct old_line *line, const char *address,
		     const struct bind *b, unsigned number)
{
	const char *key = b->name == NULL ? "bind"
			  : number == 0	  ? arena_printf(h->arena, "bind %s", b->name)
					  : arena_printf(h->arena, "bind %s-%u", b->name, number + 1);
	const char *ours = haproxy_bind_address(h, line, address);
	struct ini_line *out;

	if (is_bound(p->out, ours, b->options)) {
		old_set(h->arena, line, OLD_NO_EFFECT, "a bind line before it has '%s'", ours);
		return;
	}
	out = ini_add(h->ini, p->out, line, key, "%s", ini_join(h->arena, ours, b->options));
	if (strcmp(b->options, b->stand_in) != 0)
		out->stand_in = ini_join(h->arena, ours, b->stand_in);
	haproxy_bind_stand_in(h, out, ours, b->stand_in);
}

/* Adds each address of a list. */
static void add_binds(struct haproxy *h, struct proxy *p, struct old_line *line, const char *list,
		      const struct bind *b)
{
	unsigned number = 0;

	while (*list != '\0') {
		const size_t len = strcspn(list, ",");

		if (len > 0)
			add_bind(h, p, line, arena_strndup(h->arena, list, len), b, number++);
		list += len + (list[len] == ',');
	}
}

static bool has_limit(const struct proxy *p)
{
	return slot_on(p, SLOT_MAXCONN) && strcmp(slot_word(p, SLOT_MAXCONN, 0), "0") != 0;
}

/* maxconn of a bind line is that of the section if it has no other address and no limit. */
static void add_maxconn(struct haproxy *h, struct proxy *p, struct old_line *line, const struct bind *b)
{
	if (b->maxconn == NULL)
		return;
	if (p->lists[LIST_BIND].count == 1 && !has_limit(p))
		ini_add(h->ini, p->out, line, "maxconn", "%s", b->maxconn);
	else
		old_set(h->arena, line, OLD_LOST,
			"a limit for one address: write maxconn for all of the section");
}

/* How long bytes may stay unacknowledged: for all connections of a section. */
static void add_unacked(struct haproxy *h, struct proxy *p, struct old_line *line, const struct bind *b)
{
	const struct ini_line *known = ini_find(p->out, "tcp-user-timeout");

	if (b->unacked == NULL)
		return;
	if (known == NULL)
		ini_add(h->ini, p->out, line, "tcp-user-timeout", "%s", b->unacked);
	else if (strcmp(known->value, b->unacked) != 0)
		old_set(h->arena, line, OLD_LOST, "'tcp-ut' is one for all addresses of the section");
	if (p->kind == PROXY_LISTEN || p->lists[LIST_BIND].count > 1)
		old_set(h->arena, line, OLD_DIFFERENT,
			"'tcp-ut' holds for all addresses%s of the section",
			p->kind == PROXY_LISTEN ? " and servers" : "");
}

/* That of the section, for a line that has none of its own. */
static void add_backlog(struct haproxy *h, struct proxy *p, struct bind *b)
{
	const char *text = arena_printf(h->arena, "backlog=%s", slot_word(p, SLOT_BACKLOG, 0));

	if (!slot_on(p, SLOT_BACKLOG) || strcmp(slot_word(p, SLOT_BACKLOG, 0), "0") == 0)
		return;
	old_set(h->arena, p->slots[SLOT_BACKLOG].line, OLD_CARRIED, NULL);
	if (strstr(b->options, "backlog=") != NULL)
		return;
	b->options = ini_join(h->arena, b->options, text);
	b->stand_in = ini_join(h->arena, b->stand_in, text);
}

static bool has_tls(const struct old_line *line)
{
	for (size_t i = 2; i < line->count; i++)
		if (strcmp(line->words[i], "ssl") == 0)
			return true;
	return false;
}

void haproxy_binds(struct haproxy *h, struct proxy *p)
{
	const struct bind none = {.options = "", .stand_in = ""};
	bool proxy = false;

	if (p->head->count > 2 && strchr(p->head->words[2], ':') != NULL)
		add_binds(h, p, p->head, p->head->words[2], &none);
	for (size_t i = 0; i < p->lists[LIST_BIND].count; i++) {
		struct old_line *line = p->lists[LIST_BIND].list[i];
		struct bind b = none;

		if (has_tls(line)) {
			old_set(h->arena, line, OLD_NOT_OURS,
				"weir does not terminate TLS, it passes it through");
			continue;
		}
		for (size_t w = 2; w < line->count;)
			w += take_word(h, line, w, &b);
		add_backlog(h, p, &b);
		add_binds(h, p, line, old_word(line, 1), &b);
		add_maxconn(h, p, line, &b);
		add_unacked(h, p, line, &b);
		proxy = proxy || b.proxy;
	}
	ini_join_families(h->ini, p->out);
	/* How long a client may take for its PROXY header. */
	if (proxy && slot_on(p, SLOT_CLIENT_HS))
		slot_add(h, p, SLOT_CLIENT_HS, "timeout-handshake",
			 slot_duration(h, p, SLOT_CLIENT_HS));
	else if (proxy && slot_on(p, SLOT_CLIENT))
		ini_add(h->ini, p->out, NULL, "timeout-handshake", "%s",
			slot_duration(h, p, SLOT_CLIENT));
}
