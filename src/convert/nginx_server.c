/* SPDX-License-Identifier: MIT
 *
 * nginx_server.c - a server { } of stream becomes a [listen], or a [frontend] with backends.
 *
 * Main thread.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "nginx.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

/* One server block. */
struct serving {
	struct nginx *n;
	struct old_line *block;
	struct ini_section *s;
	bool proxy; /* clients send a PROXY header */
	size_t binds;
};

static struct old_line *find(const struct serving *v, const char *name)
{
	return nginx_find(&v->block->inside, v->n->stream, name);
}

static bool is_on(const struct old_line *line)
{
	return line != NULL && strcmp(old_word(line, 1), "on") == 0;
}

/* The duration of a directive, or `otherwise`, which is nginx's default. */
static const char *time_of(const struct serving *v, const char *name, const char *otherwise)
{
	const struct old_line *line = find(v, name);
	const char *time = line != NULL ? nginx_duration(v->n->arena, old_word(line, 1)) : NULL;

	return time != NULL ? time : otherwise;
}

/* ---- listen ---- */

static bool has_word(const struct old_line *line, const char *word)
{
	for (size_t i = 2; i < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return true;
	return false;
}

static const char *bind_address(struct arena *a, const struct old_line *line)
{
	const char *text = old_word(line, 1);

	if (strncmp(text, "unix:", 5) == 0)
		return text;
	if (text[0] == '[')
		return has_word(line, "ipv6only=off") ? text : arena_printf(a, "%s v6only", text);
	if (strchr(text, ':') == NULL && is_digit(text[0]) && strchr(text, '.') == NULL)
		return arena_printf(a, "0.0.0.0:%s", text);
	return strncmp(text, "*:", 2) == 0 ? arena_printf(a, "0.0.0.0%s", text + 1) : text;
}

static void add_keepalive(struct serving *v, struct old_line *line, const char *value)
{
	unsigned idle = 0, interval = 0, count = 0;
	const char *text = "on";

	if (strcmp(value, "off") == 0 || ini_find(v->s, "client-keepalive") != NULL)
		return;
	if (strcmp(value, "on") != 0) {
		char *rest;

		idle = (unsigned)strtoul(value, &rest, 10);
		rest += strspn(rest, "ms");
		interval = *rest == ':' ? (unsigned)strtoul(rest + 1, &rest, 10) : 0;
		rest += strspn(rest, "ms");
		count = *rest == ':' ? (unsigned)strtoul(rest + 1, NULL, 10) : 0;
		if (idle == 0 || strpbrk(value, "mh") != NULL) {
			old_set(v->n->arena, line, OLD_LOST,
				"write client-keepalive = 60s interval=10s count=3");
			return;
		}
		text = arena_printf(v->n->arena, "%us", idle);
		if (interval > 0)
			text = arena_printf(v->n->arena, "%s interval=%us", text, interval);
		if (count > 0)
			text = arena_printf(v->n->arena, "%s count=%u", text, count);
	}
	ini_add(v->n->ini, v->s, NULL, "client-keepalive", "%s", text)->from = line;
}

static void add_bind(struct serving *v, struct old_line *line)
{
	static const char *const dropped[] = {"reuseport", "bind", "ipv6only=on", "ipv6only=off",
					      "default_server"};
	struct arena *a = v->n->arena;
	const char *text = bind_address(a, line);

	for (size_t i = 2; i < line->count; i++) {
		const char *word = line->words[i];
		bool known = false;

		for (size_t d = 0; d < ARRAY_LEN(dropped); d++)
			known = known || strcmp(word, dropped[d]) == 0;
		if (strcmp(word, "proxy_protocol") == 0) {
			text = ini_join(a, text, "accept-proxy");
			v->proxy = true;
		} else if (strncmp(word, "backlog=", 8) == 0) {
			text = ini_join(a, text, word);
		} else if (strncmp(word, "fastopen=", 9) == 0) {
			text = ini_join(a, text, "tfo");
		} else if (strncmp(word, "so_keepalive=", 13) == 0) {
			add_keepalive(v, line, word + 13);
		} else if (!known && strncmp(word, "rcvbuf=", 7) != 0 && strncmp(word, "sndbuf=", 7) != 0 &&
			   !work_word_by_table(v->n->work, line, word)) {
			old_set(a, line, OLD_LOST, "'%s' of listen", word);
		}
	}
	ini_add(v->n->ini, v->s, line, "bind", "%s", text);
	v->binds++;
}

static void add_binds(struct serving *v)
{
	for (size_t i = 0; i < v->block->inside.count; i++) {
		struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "listen") != 0)
			continue;
		if (has_word(line, "udp"))
			old_set(v->n->arena, line, OLD_NOT_OURS, "weir does not forward UDP");
		else if (has_word(line, "ssl"))
			old_set(v->n->arena, line, OLD_NOT_OURS,
				"weir does not terminate TLS, it passes it through");
		else
			add_bind(v, line);
	}
	ini_join_families(v->n->ini, v->s);
}

/* ---- who may come ---- */

/* The lines of `allow` and `deny` that hold: those of the block, else those of stream. */
static const struct old_lines *access_lines(const struct serving *v)
{
	if (nginx_find(&v->block->inside, NULL, "allow") != NULL ||
	    nginx_find(&v->block->inside, NULL, "deny") != NULL)
		return &v->block->inside;
	return v->n->stream;
}

static void add_access(struct serving *v)
{
	const struct old_lines *lines = access_lines(v);
	struct work_list allowed = {.count = 0}, denied = {.count = 0};
	struct arena *a = v->n->arena;
	struct old_line *allow_line = NULL, *deny_line = NULL;
	bool closed = false;

	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];
		const char *what = old_word(line, 1);
		const bool allow = strcmp(line->words[0], "allow") == 0;

		if (!allow && strcmp(line->words[0], "deny") != 0)
			continue;
		if (closed || strcmp(what, "unix:") == 0) {
			old_set(a, line, OLD_NO_EFFECT, "no TCP client gets this far");
			continue;
		}
		old_set(a, line, OLD_CARRIED, NULL);
		if (strcmp(what, "all") == 0) {
			closed = true;
			if (allow)
				allowed.count = 0;
			else if (allowed.count == 0)
				old_set(a, line, OLD_LOST, "it refuses every client");
		} else if (allow) {
			work_list_add(a, &allowed, what);
			allow_line = line;
		} else {
			if (allowed.count > 0)
				old_set(a, line, OLD_DIFFERENT,
					"deny-from wins over allow-from, wherever it is written");
			work_list_add(a, &denied, what);
			deny_line = line;
		}
	}
	work_add_list(v->n->ini, v->s, deny_line, "deny-from", &denied, true);
	if (closed)
		work_add_list(v->n->ini, v->s, allow_line, "allow-from", &allowed, true);
	else if (allowed.count > 0)
		old_set(a, allow_line, OLD_NO_EFFECT, "nobody is refused after it");
}

static void add_limits(struct serving *v)
{
	struct old_line *limit = find(v, "limit_conn"), *zone = find(v, "limit_conn_zone");
	struct work_list trusted = {.count = 0};

	if (limit != NULL && zone != NULL && strstr(old_word(zone, 1), "remote_addr") != NULL) {
		ini_add(v->n->ini, v->s, limit, "maxconn-per-source", "%s", old_word(limit, 2));
		old_set(v->n->arena, zone, OLD_CARRIED, NULL);
	} else if (limit != NULL) {
		old_set(v->n->arena, limit, OLD_LOST,
			"weir limits per client address (maxconn-per-source) and per frontend (maxconn)");
	}
	for (size_t up = 0; up < 2 && trusted.count == 0; up++) {
		const struct old_lines *lines = up ? v->n->stream : &v->block->inside;

		for (size_t i = 0; i < lines->count; i++) {
			struct old_line *line = lines->list[i];

			if (strcmp(line->words[0], "set_real_ip_from") != 0 ||
			    strcmp(old_word(line, 1), "unix:") == 0)
				continue;
			work_list_add(v->n->arena, &trusted, old_word(line, 1));
			old_set(v->n->arena, line, v->proxy ? OLD_CARRIED : OLD_NO_EFFECT,
				v->proxy ? NULL : "no listen of the block has proxy_protocol");
		}
	}
	if (v->proxy)
		work_add_list(v->n->ini, v->s, NULL, "trusted", &trusted, true);
	if (v->proxy)
		ini_add(v->n->ini, v->s, find(v, "proxy_protocol_timeout"), "timeout-handshake", "%s",
			time_of(v, "proxy_protocol_timeout", "30s"));
}

/* ---- the server's side ---- */

static void add_side(struct nginx_sides *sides, const char *key, const char *value, struct old_line *from)
{
	if (sides->count < ARRAY_LEN(sides->list))
		sides->list[sides->count++] = (struct nginx_side){key, value, from};
}

static void read_sides(struct serving *v, struct nginx_sides *sides)
{
	struct old_line *bind = find(v, "proxy_bind"), *tries = find(v, "proxy_next_upstream_tries");
	struct old_line *next = find(v, "proxy_next_upstream");

	*sides = (struct nginx_sides){.count = 0};
	add_side(sides, "timeout-connect", time_of(v, "proxy_connect_timeout", "60s"),
		 find(v, "proxy_connect_timeout"));
	add_side(sides, "timeout-server", time_of(v, "proxy_timeout", "10m"), find(v, "proxy_timeout"));
	if (is_on(find(v, "proxy_protocol")))
		add_side(sides, "send-proxy", "v1", find(v, "proxy_protocol"));
	if (is_on(find(v, "proxy_socket_keepalive")))
		add_side(sides, "server-keepalive", "on", find(v, "proxy_socket_keepalive"));
	if (bind != NULL && strcmp(old_word(bind, 1), "off") != 0) {
		sides->source = old_word(bind, 1)[0] == '$' ? "client" : old_word(bind, 1);
		old_set(v->n->arena, bind, OLD_CARRIED, NULL);
	}
	if (next != NULL) {
		sides->one_try = strcmp(old_word(next, 1), "off") == 0;
		sides->tries_from = next;
		old_set(v->n->arena, next, OLD_CARRIED, NULL);
	}
	if (tries != NULL) {
		sides->tries = (unsigned)strtoul(old_word(tries, 1), NULL, 10);
		sides->tries_from = tries;
	}
}

/* How many server blocks pass to this target. */
static unsigned users_of(const struct nginx *n, const char *target)
{
	unsigned users = 0;

	for (size_t i = 0; i < n->stream->count; i++) {
		const struct old_line *line = n->stream->list[i];

		for (size_t k = 0; k < line->inside.count; k++)
			users += strcmp(line->inside.list[k]->words[0], "server") != 0 &&
				 strcmp(old_word(line->inside.list[k], 1), target) == 0;
	}
	return users;
}

static const char *section_name(struct serving *v, const struct old_line *pass, bool is_listen)
{
	const char *target = old_word(pass, 1), *port = NULL, *digits;

	if (is_listen && nginx_block(v->n, "upstream", target) != NULL)
		return nginx_name(v->n, target);
	for (size_t i = 0; i < v->block->inside.count && port == NULL; i++)
		if (strcmp(v->block->inside.list[i]->words[0], "listen") == 0)
			port = old_word(v->block->inside.list[i], 1);
	digits = port != NULL && strrchr(port, ':') != NULL ? strrchr(port, ':') + 1 : port;
	/* An upstream keeps its name. */
	if (target[0] == '$' && target[1] != '\0' && strchr(target, ':') == NULL &&
	    nginx_block(v->n, "upstream", target + 1) == NULL)
		return nginx_name(v->n, target + 1);
	if (digits != NULL && is_digit(digits[0]))
		return nginx_name(v->n, arena_printf(v->n->arena, "port-%s", digits));
	return nginx_name(v->n, digits != NULL ? digits : "stream");
}

static bool passes_by_map(const char *target)
{
	return target[0] == '$' && strncmp(target, "$ssl_preread_server_name", 24) != 0;
}

/* Marks what the sections have no line for. */
static void finish(struct serving *v)
{
	static const char *const carried[] = {
	    "listen",	   "proxy_pass",      "proxy_timeout", "proxy_connect_timeout",
	    "ssl_preread", "preread_timeout", "access_log",    "error_log",
	    "resolver"};

	for (size_t i = 0; i < v->block->inside.count; i++) {
		struct old_line *line = v->block->inside.list[i];

		for (size_t c = 0; line->fate == OLD_OPEN && c < ARRAY_LEN(carried); c++)
			if (strcmp(line->words[0], carried[c]) == 0)
				old_set(v->n->arena, line, OLD_CARRIED, NULL);
	}
	for (size_t i = 0; i < v->n->stream->count; i++) {
		struct old_line *line = v->n->stream->list[i];

		if (line->fate == OLD_OPEN &&
		    (strncmp(line->words[0], "proxy_", 6) == 0 ||
		     strncmp(line->words[0], "preread_timeout", 15) == 0) &&
		    !line->block)
			for (size_t c = 0; c < ARRAY_LEN(carried); c++)
				if (strcmp(line->words[0], carried[c]) == 0)
					old_set(v->n->arena, line, OLD_CARRIED, NULL);
	}
}

static void leave_out(struct serving *v)
{
	v->s->left_out = true;
	old_set(v->n->arena, v->block, OLD_LOST, "it has no server that is converted");
}

/* Why a server block is not ours; NULL: it is. */
static const char *not_ours(const struct serving *v, struct old_line *pass)
{
	size_t ours = 0, listens = 0;

	for (size_t i = 0; i < v->block->inside.count; i++) {
		const struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "listen") != 0)
			continue;
		listens++;
		ours += !has_word(line, "udp") && !has_word(line, "ssl");
	}
	if (listens > 0 && ours == 0)
		return "weir neither forwards UDP nor terminates TLS";
	if (is_on(find(v, "proxy_ssl")))
		return "weir does not speak TLS to servers, it passes it through";
	if (pass == NULL)
		return "no proxy_pass: weir forwards and does not answer";
	return NULL;
}

static void add_target(struct serving *v, struct old_line *pass, bool is_listen,
		       const struct nginx_sides *sides)
{
	const char *timeout = time_of(v, "preread_timeout", "30s"), *target = old_word(pass, 1), *name;

	if (passes_by_map(target)) {
		if (!nginx_routes(v->n, v->s, pass, timeout, sides))
			leave_out(v);
		return;
	}
	if (strncmp(target, "$ssl_preread_server_name", 24) == 0)
		ini_add(v->n->ini, v->s, find(v, "ssl_preread"), "sniff", "tls timeout=%s required", timeout);
	if (is_listen) {
		if (!nginx_servers(v->n, v->s, pass, target, sides))
			leave_out(v);
		return;
	}
	name = nginx_backend(v->n, pass, target, sides);
	if (name == NULL)
		leave_out(v);
	else
		ini_add(v->n->ini, v->s, pass, "default-backend", "%s", name);
}

void nginx_server(struct nginx *n, struct old_line *block)
{
	struct serving v = {.n = n, .block = block};
	struct old_line *pass = nginx_find(&block->inside, NULL, "proxy_pass");
	const char *why = not_ours(&v, pass);
	struct nginx_sides sides;
	bool is_listen;

	if (why != NULL) {
		nginx_mark(n, block, OLD_NOT_OURS, why);
		return;
	}
	old_set(n->arena, block, OLD_CARRIED, NULL);
	is_listen = !passes_by_map(old_word(pass, 1)) && users_of(n, old_word(pass, 1)) == 1;
	v.s = ini_section(n->ini, is_listen ? IN_LISTEN : IN_FRONTEND, section_name(&v, pass, is_listen),
			  block);
	if (is_listen && v.s->above_count == 0 && nginx_block(n, "upstream", old_word(pass, 1)) != NULL) {
		struct old_line *upstream = nginx_block(n, "upstream", old_word(pass, 1));

		v.s->above = upstream->above;
		v.s->above_count = upstream->above_count;
	}
	add_binds(&v);
	add_access(&v);
	add_limits(&v);
	ini_add(n->ini, v.s, NULL, "timeout-client", "%s", time_of(&v, "proxy_timeout", "10m"));
	read_sides(&v, &sides);
	add_target(&v, pass, is_listen, &sides);
	for (size_t i = 0; i < block->inside.count; i++)
		if (strcmp(block->inside.list[i]->words[0], "access_log") == 0)
			old_set(n->arena, block->inside.list[i], OLD_DIFFERENT,
				"weir logs all sessions to the targets of [global]");
	finish(&v);
}
