/* SPDX-License-Identifier: MIT
 *
 * server.c - the servers of a section.
 *
 * What all servers of a section share becomes a key of the section where there is one, or `server-defaults`.
 * A key that begins with a dot is one that only sections have. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/haproxy_time.h"
#include "weir/config/options.h"

/* Is the pair the same for all? */
static bool shared(const struct server *list, size_t count, const struct pair *pair)
{
	for (size_t i = 0; i < count; i++) {
		const struct pair *other = server_pair(&list[i], pair->key);

		if (other == NULL || (other->value == NULL) != (pair->value == NULL) ||
		    (pair->value != NULL && strcmp(other->value, pair->value) != 0))
			return false;
	}
	return true;
}

static void drop_everywhere(struct server *list, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		server_drop(&list[i], key);
}

/* Adds a key of the section; comments stay with the server. */
static struct ini_line *add_key(struct haproxy *h, struct proxy *p, struct old_line *from, const char *key,
				const char *value)
{
	struct ini_line *line = ini_add(h->ini, p->out, NULL, key, "%s", value);

	line->from = from;
	if (strstr(value, "${") != NULL)
		line->stand_in = strchr(value, '"') != NULL ? work_without_variables(h->arena, value, "x")
							    : "";
	return line;
}

/* The first server that says this; NULL = none does. */
static const struct server *first_with(const struct server *list, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (server_pair(&list[i], key) != NULL)
			return &list[i];
	return NULL;
}

/* The server whose word becomes that of the section; NULL = the word means nothing on server `s`. */
static const struct server *source_of(const struct proxy *p, const struct server *list, size_t count,
				      const struct server *s, const char *key)
{
	const bool by_tls = server_pair(s, ".check-ssl") != NULL || p->lists[LIST_CHECK].count > 0;

	if (strcmp(key, SERVER_CRT) == 0 || strcmp(key, SERVER_RESOLVERS) == 0)
		return NULL;
	if (strcmp(key, ".on-error") == 0 || strcmp(key, ".error-limit") == 0)
		return first_with(list, count, ".observe");
	if (strncmp(key, ".check-", 7) != 0 && strcmp(key, ".verify") != 0 && strcmp(key, ".ca-file") != 0)
		return first_with(list, count, key);
	if (server_pair(s, "check") == NULL || (!by_tls && strcmp(key, ".check-send-proxy") != 0))
		return NULL;
	return first_with(list, count, "check");
}

/* Reports words of servers that become keys of the section, where not all say the same. */
static void compare_section_words(struct haproxy *h, const struct proxy *p, const struct server *list,
				  size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n < list[i].count; n++) {
			const struct pair *pair = &list[i].pairs[n];
			const struct server *source;
			const char *theirs;

			if (pair->key[0] != '.' || shared(list, count, pair))
				continue;
			source = source_of(p, list, count, &list[i], pair->key);
			if (source == NULL)
				continue;
			theirs = server_value(source, pair->key);
			if (theirs != NULL && strcmp(theirs, server_value(&list[i], pair->key)) == 0)
				old_set(h->arena, list[i].line, OLD_DIFFERENT,
					"'%s' holds for all servers of the section", pair->key + 1);
			else
				old_set(h->arena, list[i].line, OLD_LOST,
					"'%s' is one for all servers: that of server '%s' counts",
					pair->key + 1, source->name);
		}
}

static void add_observe(struct haproxy *h, struct proxy *p, const struct server *s)
{
	const char *limit = server_value(s, ".error-limit"), *error = server_value(s, ".on-error");
	const char *text = "connect";

	if (strcmp(server_value(s, ".observe"), "layer4") != 0)
		return;
	if (limit != NULL)
		text = arena_printf(h->arena, "%s limit=%s", text, limit);
	if (error != NULL && strcmp(error, "mark-down") == 0)
		text = arena_printf(h->arena, "%s on-error=mark-down", text);
	else if (error != NULL && strcmp(error, "fail-check") != 0)
		old_set(h->arena, s->line, OLD_DIFFERENT, "'on-error %s': it counts as a failed check",
			error);
	add_key(h, p, s->line, "observe", text);
}

/* What only sections have. */
static void add_section_words(struct haproxy *h, struct proxy *p, const struct server *list, size_t count)
{
	static const struct {
		const char *word;
		const char *key;
	} same[] = {{".resolve-prefer", "resolve-family"}, {".tcp-ut", "tcp-user-timeout"}};
	const struct server *observer = first_with(list, count, ".observe");
	const struct server *down = first_with(list, count, ".on-marked-down");

	if (observer != NULL)
		add_observe(h, p, observer);
	if (down != NULL && strcmp(server_value(down, ".on-marked-down"), "shutdown-sessions") == 0)
		add_key(h, p, down->line, "on-marked-down", "close-sessions");
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		const struct server *s = first_with(list, count, same[i].word);

		if (s != NULL)
			add_key(h, p, s->line, same[i].key, server_value(s, same[i].word));
	}
}

/* The agent of a server, from three words. */
static void settle_agent(struct haproxy *h, struct server *s)
{
	const char *addr = server_value(s, ".agent-addr"), *port = server_value(s, "check-agent");

	if (server_pair(s, ".agent") == NULL)
		server_drop(s, "check-agent");
	else if (addr != NULL && port != NULL)
		server_set(s, "check-agent", arena_printf(h->arena, "%s:%s", addr, port));
	server_drop(s, ".agent");
	server_drop(s, ".agent-addr");
	if (server_value(s, "check-agent-send") != NULL &&
	    old_secret(server_value(s, "check-agent-send")) != NULL) {
		old_set(h->arena, s->line, OLD_LOST, "agent-send: a password would be in the file");
		server_drop(s, "check-agent-send");
	}
	if (server_value(s, "check-agent-send") != NULL)
		server_set(s, "check-agent-send",
			 ini_quote(h->arena, server_value(s, "check-agent-send"),
				   strlen(server_value(s, "check-agent-send"))));
}

/* HAProxy asks an agent every 2s, whatever the interval of checks. */
static void settle_agent_interval(struct server *s)
{
	const char *inter = server_value(s, "check-interval");

	if (server_value(s, "check-agent") != NULL && server_value(s, "check-agent-interval") == NULL &&
	    inter != NULL && strcmp(inter, "2s") != 0)
		server_set(s, "check-agent-interval", "2s");
}

/* HAProxy observes only a server that it checks. */
static void settle_observe(struct server *s)
{
	static const char *const keys[] = {".observe", ".on-error", ".error-limit"};

	for (size_t i = 0; i < ARRAY_LEN(keys) && server_pair(s, "check") == NULL; i++)
		server_drop(s, keys[i]);
}

/* The limit at little load; alone, it is the limit. */
static void settle_limit(struct haproxy *h, struct server *s)
{
	const char *least = server_value(s, ".minconn"), *most = server_value(s, "maxconn");

	if (least != NULL && most == NULL)
		server_set(s, "maxconn", least);
	else if (least != NULL && strcmp(least, most) != 0)
		old_set(h->arena, s->line, OLD_DIFFERENT,
			"the limit is maxconn, however few clients there are: weir has no minconn");
	server_drop(s, ".minconn");
}

/* The address without a range of ports behind it. */
static const char *without_ports(struct haproxy *h, struct proxy *p, const struct server *s, const char *text)
{
	const char *colon = strrchr(text, ':');

	if (colon == NULL || !is_digit(colon[1]) || strchr(colon, '-') == NULL)
		return text;
	old_set(h->arena, server_value(s, "source") == NULL && slot_on(p, SLOT_SOURCE)
			      ? p->slots[SLOT_SOURCE].line : s->line,
		OLD_DIFFERENT, "the kernel takes the ports, from net.ipv4.ip_local_port_range");
	return arena_strndup(h->arena, text, (size_t)(colon - text));
}

/* "0.0.0.0", "*", "::" and no host at all, with or without a port. */
static bool is_any(struct haproxy *h, const char *address)
{
	const char *ours = haproxy_address(h->arena, address, false);

	return strncmp(ours, "0.0.0.0:", 8) == 0 || strncmp(ours, "[::]:", 5) == 0;
}

static void settle_source(struct haproxy *h, struct proxy *p, struct server *s)
{
	const char *text = server_value(s, "source"), *use = server_value(s, ".usesrc");

	if (text == NULL && slot_on(p, SLOT_SOURCE)) {
		text = slot_word(p, SLOT_SOURCE, 0);
		use =
		    strcmp(slot_word(p, SLOT_SOURCE, 1), "usesrc") == 0 ? slot_word(p, SLOT_SOURCE, 2) : NULL;
		old_set(h->arena, p->slots[SLOT_SOURCE].line, OLD_CARRIED, NULL);
		if (old_has_word(p->slots[SLOT_SOURCE].line, 2, "interface"))
			old_set(h->arena, p->slots[SLOT_SOURCE].line, OLD_LOST,
				"'interface': write source=ADDRESS, with an address of that interface");
	}
	server_drop(s, ".usesrc");
	if (text == NULL)
		return;
	if (use != NULL && strncmp(use, "client", 6) == 0)
		text = "client";
	else if (use != NULL)
		old_set(h->arena, s->line, OLD_LOST, "'usesrc %s': weir can use the client's own address",
			use);
	text = without_ports(h, p, s, text);
	server_drop(s, "source");
	if (!is_any(h, text) &&
	    strncmp(haproxy_address(h->arena, s->address, false), "unix:", 5) != 0)
		server_set(s, "source", text);
}

/* Checks over TLS show none: a server that asks for one would be down. */
static void lose_certificates(struct haproxy *h, const struct server *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (server_pair(&list[i], SERVER_CRT) != NULL && server_pair(&list[i], "check") != NULL)
			old_set(h->arena, list[i].line, OLD_LOST,
				"'crt': a check of weir shows its server no certificate");
}

static void add_checks(struct haproxy *h, struct proxy *p, struct server *list, size_t count)
{
	struct checking c = {.line = NULL};
	size_t checked = 0;
	const char *stray;
	int64_t inter;

	for (size_t i = 0; i < count; i++) {
		const struct server *s = &list[i];
		const char *version = server_value(s, "send-proxy");

		if (server_pair(s, "check") == NULL)
			continue;
		if (checked++ > 0)
			continue;
		c.line = s->line;
		if (server_value(s, "check-interval") == NULL ||
		    haproxy_time(server_value(s, "check-interval"), &inter, &stray) != HAPROXY_TIME_FINE)
			inter = 2000;
		c.interval_ms = inter;
		c.tls = server_pair(s, ".check-ssl") != NULL ? "tls" : NULL;
		c.verify =
			server_value(s, ".verify") != NULL && strcmp(server_value(s, ".verify"), "none") == 0
			       ? "none"
			       : server_value(s, ".ca-file");
		c.sni = server_value(s, ".check-sni");
		c.alpn = server_value(s, ".check-alpn");
		c.version = version;
		if (server_pair(s, ".check-send-proxy") != NULL)
			c.proxy = version != NULL ? version : "v1";
	}
	if (checked == 0)
		return;
	haproxy_check(h, p, &c);
	if (c.over_tls)
		lose_certificates(h, list, count);
	/* The port of a connect line is before that of a server; in weir, it is the other way round. */
	if (c.has_port)
		drop_everywhere(list, count, "check-port");
	if (checked == count) {
		drop_everywhere(list, count, "check");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (server_pair(&list[i], "check") == NULL)
			server_set(&list[i], "check", "off");
		else
			server_drop(&list[i], "check");
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
		    arena_printf(h->arena, "%s %s", s->is_set ? "servers" : "server",
				 haproxy_server_name(h, p, s->line, s->name)),
		    "%s", text);
	if (strstr(text, "${") != NULL)
		line->stand_in = work_without_variables(
			h->arena, text, s->is_set ? "dns://name.invalid:1" : "192.0.2.1:1");
}

/* The port that every client of the section connects to, 0 = there are several. */
static unsigned long port_of_clients(struct haproxy *h, struct proxy *p)
{
	const struct proxy *front;
	unsigned long port = 0;

	for (size_t i = 0; (front = haproxy_leader(h, p, i)) != NULL; i++) {
		for (size_t b = 0; b < front->lists[LIST_BIND].count; b++) {
			const char *address = old_word(front->lists[LIST_BIND].list[b], 1);
			const char *colon = strrchr(address, ':');
			const unsigned long n = colon != NULL ? strtoul(colon + 1, NULL, 10) : 0;

			if (n == 0 || strpbrk(colon, ",-}") != NULL || (port != 0 && n != port))
				return 0;
			port = n;
		}
	}
	return port;
}

/* "ADDRESS:+1000": the port of the clients, and more. */
static void settle_offset(struct haproxy *h, struct proxy *p, struct server *s)
{
	const char *colon = strrchr(s->address, ':');
	const long port = (long)port_of_clients(h, p);
	long offset;

	if (colon == NULL || (colon[1] != '+' && colon[1] != '-') || strchr(colon, '}') != NULL)
		return;
	offset = strtol(colon + 1, NULL, 10);
	if (offset != 0 && port > 0 && port + offset > 0)
		s->address = arena_printf(h->arena, "%.*s:%ld", (int)(colon - s->address), s->address,
					  port + offset);
}

/* Does a client of the section come in for an address that need not be one of this machine? */
static bool takes_others(const struct haproxy *h, struct proxy *p)
{
	const struct proxy *front;

	for (size_t i = 0; (front = haproxy_leader(h, p, i)) != NULL; i++)
		for (size_t b = 0; b < front->lists[LIST_BIND].count; b++)
			if (old_has_word(front->lists[LIST_BIND].list[b], 2, "transparent") ||
			    old_has_word(front->lists[LIST_BIND].list[b], 2, "accept-proxy"))
				return true;
	return false;
}

/* To HAProxy, a server without an address is at the one that the client came to. False: it is left out. */
static bool settle_any(struct haproxy *h, struct proxy *p, const struct server *s)
{
	const char *colon = strrchr(s->address, ':');
	const bool any = is_any(h, s->address);

	if ((any && haproxy_moves(h, p, false)) ||
	    (colon == NULL && !s->is_set && haproxy_moves(h, p, true))) {
		old_set(h->arena, s->line, OLD_LOST,
			"a rule says where HAProxy connects: for names that clients ask for, write a server "
			"sni@PORT with 'allow-sni'");
		return false;
	}
	if (s->is_set || !any)
		return true;
	if (takes_others(h, p) || strchr(haproxy_address(h->arena, s->address, false), '*') != NULL) {
		old_set(h->arena, s->line, OLD_LOST,
			"HAProxy connects to the address that the client came to: write that of the server");
		return false;
	}
	old_set(h->arena, s->line, OLD_DIFFERENT,
		"port %s of this machine, at its loopback address: HAProxy connects to the address that the "
		"client came to", colon != NULL ? colon + 1 : "");
	return true;
}

/* False: it is left out. */
static bool settle_server(struct haproxy *h, struct proxy *p, struct index *asked, struct server *s)
{
	if (s->left_out)
		return false;
	settle_offset(h, p, s);
	if (!settle_any(h, p, s))
		return false;
	settle_agent(h, s);
	settle_agent_interval(s);
	settle_observe(s);
	settle_limit(h, s);
	server_settle_check_addr(h, s);
	server_settle_header(h, p, s);
	settle_source(h, p, s);
	haproxy_asks(h, asked, s->line, s->address, server_value(s, SERVER_RESOLVERS));
	return true;
}

void haproxy_servers(struct haproxy *h, struct proxy *p)
{
	const struct old_lines *lines = &p->lists[LIST_SERVER];
	struct server base = {.line = NULL}, *list = NULL;
	struct index asked = {0};
	size_t count = 0, used = 0;

	for (size_t i = 0; i < lines->count; i++) {
		struct server s;

		server_read_defaults(h, p, lines->list[i], &base);
		used = base.defaults > used ? base.defaults : used;
		server_read(h, lines->list[i], &base, &s);
		if (!settle_server(h, p, &asked, &s))
			continue;
		for (size_t n = 0; n == 0 || n < s.places; n++) {
			list = arena_grow(h->arena, list, count, sizeof(*list));
			list[count] = s;
			if (s.places > 0)
				list[count].name = arena_printf(h->arena, "%s%zu", s.name, s.first_place + n);
			count++;
		}
	}
	for (size_t i = used; lines->count > 0 && i < p->lists[LIST_DEFAULT_SERVER].count; i++)
		old_set(h->arena, p->lists[LIST_DEFAULT_SERVER].list[i], OLD_NO_EFFECT,
			"no server comes after it");
	if (count == 0)
		return;
	haproxy_track(h, p, list, count);
	compare_section_words(h, p, list, count);
	add_checks(h, p, list, count);
	add_section_words(h, p, list, count);
	add_shared(h, p, list, count);
	for (size_t i = 0; i < count; i++)
		add_server(h, p, &list[i]);
}
