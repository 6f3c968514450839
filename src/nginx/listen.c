/* SPDX-License-Identifier: MIT
 *
 * listen.c - where a server { } of stream listens, and who may connect.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "network.h"
#include "server.h"
#include "variable.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

struct old_line *serving_find(const struct serving *v, const char *name)
{
	return nginx_find(&v->block->inside, v->n->stream, name);
}

bool serving_is_on(const struct old_line *line)
{
	return line != NULL && strcmp(old_word(line, 1), "on") == 0;
}

const char *serving_time(const struct serving *v, const char *name, const char *otherwise)
{
	const struct old_line *line = serving_find(v, name);
	const char *time = line != NULL ? nginx_duration(v->n->arena, old_word(line, 1)) : NULL;

	return time != NULL ? time : otherwise;
}

#define DENIED_MAX 1000 /* networks; behind as many, what is allowed is not looked at */

/* ---- listen ---- */

static const char *bind_address(struct arena *a, struct old_line *line)
{
	const char *text = old_word(line, 1);

	/* nginx lets everybody connect. */
	if (strncmp(text, "unix:", 5) == 0)
		return text[5] == '@' ? text : arena_printf(a, "%s mode=666", text);
	if (text[0] == '[')
		return old_has_word(line, 2, "ipv6only=off") ? text : arena_printf(a, "%s v6only", text);
	if (strchr(text, ':') == NULL && is_digit(text[0]) && strchr(text, '.') == NULL)
		return arena_printf(a, "0.0.0.0:%s", text);
	if (strncmp(text, "localhost:", 10) == 0) {
		old_set(a, line, OLD_DIFFERENT,
			"127.0.0.1: nginx listens at each address that the system has for localhost, which "
			"often is ::1, too");
		return arena_printf(a, "127.0.0.1%s", text + 9);
	}
	return strncmp(text, "*:", 2) == 0 ? arena_printf(a, "0.0.0.0%s", text + 1) : text;
}

/* The lines of `allow` and `deny` that hold: those of the block, else those of stream. */
static const struct old_lines *access_lines(const struct serving *v)
{
	if (nginx_find(&v->block->inside, NULL, "allow") != NULL ||
	    nginx_find(&v->block->inside, NULL, "deny") != NULL)
		return &v->block->inside;
	return &v->n->loose;
}

/* Do these lines refuse the clients of a Unix socket? 'allow-from' and 'deny-from' are not about them. */
static bool refuses_unix(const struct old_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct old_line *line = lines->list[i];
		const bool deny = strcmp(line->words[0], "deny") == 0;

		if ((deny || strcmp(line->words[0], "allow") == 0) &&
		    (strcmp(old_word(line, 1), "all") == 0 || strcmp(old_word(line, 1), "unix:") == 0))
			return deny;
	}
	return false;
}

/* The text up to the next colon, as a duration; NULL: it has none. */
static const char *take_time(struct arena *a, const char **text)
{
	const size_t len = strcspn(*text, ":");
	const char *time = nginx_duration(a, arena_strndup(a, *text, len));

	*text += len + ((*text)[len] == ':');
	return time;
}

/* "IDLE:INTERVAL:COUNT", each of which may be missing, in our words. */
static const char *keepalive_times(struct arena *a, const char *value)
{
	const char *idle = take_time(a, &value), *interval = take_time(a, &value);
	const char *text = idle != NULL ? idle : "on";

	if (interval != NULL)
		text = arena_printf(a, "%s interval=%s", text, interval);
	return is_digit(value[0]) ? arena_printf(a, "%s count=%s", text, value) : text;
}

/* The words so_keepalive= of a listen line: the last one decides whether it is on, and times stay. */
static void add_keepalive(struct serving *v, struct old_line *line)
{
	struct arena *a = v->n->arena;
	const char *text = NULL, *times = "on";
	struct ini_line *known = ini_find(v->s, "client-keepalive");

	for (size_t i = 2; i < line->count; i++) {
		const char *value = line->words[i] + 13;

		if (strncmp(line->words[i], "so_keepalive=", 13) != 0)
			continue;
		if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
			times = keepalive_times(a, value);
		text = strcmp(value, "off") == 0 ? NULL : times;
	}
	if (text == NULL)
		return;
	if (known == NULL)
		ini_add(v->n->ini, v->s, NULL, "client-keepalive", "%s", text)->from = line;
	else if (strcmp(known->value, text) != 0)
		old_set(a, line, OLD_DIFFERENT,
			"'client-keepalive = %s' holds for all addresses of the section", known->value);
}

/* A word that add_keepalive() takes, or that has no effect here. */
static bool is_of_sockets(const char *word)
{
	return strncmp(word, "so_keepalive=", 13) == 0 || strncmp(word, "rcvbuf=", 7) == 0 ||
	       strncmp(word, "sndbuf=", 7) == 0;
}

static void add_bind(struct serving *v, struct old_line *line)
{
	static const char *const dropped[] = {"reuseport", "bind", "ipv6only=on", "ipv6only=off",
					      "default_server"};
	struct arena *a = v->n->arena;
	const char *text = bind_address(a, line);

	if (strchr(text, '$') != NULL) {
		old_set(a, line, OLD_LOST, NGINX_NO_VARIABLE, old_word(line, 1));
		return;
	}
	if (strncmp(text, "unix:", 5) == 0 && v->refuses_unix) {
		old_set(a, line, OLD_DIFFERENT,
			"'deny' refuses all clients of a Unix socket: weir does not listen there");
		return;
	}
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
		} else if (strcmp(word, "deferred") == 0 || strcmp(word, "multipath") == 0) {
			text = ini_join(a, text, word[0] == 'd' ? "defer-accept" : "mptcp");
		} else if (!known && !is_of_sockets(word) &&
			   !work_word_by_table(v->n->work, line, word)) {
			old_set(a, line, OLD_LOST, "'%s' of listen", word);
		}
	}
	add_keepalive(v, line);
	ini_add(v->n->ini, v->s, line, "bind", "%s", text);
}

void serving_add_binds(struct serving *v)
{
	v->refuses_unix = refuses_unix(access_lines(v));
	for (size_t i = 0; i < v->block->inside.count; i++) {
		struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "listen") != 0)
			continue;
		if (old_has_word(line, 2, "udp"))
			old_set(v->n->arena, line, OLD_NOT_OURS, "weir does not forward UDP");
		else if (old_has_word(line, 2, "ssl"))
			old_set(v->n->arena, line, OLD_NOT_OURS,
				"weir does not terminate TLS, it passes it through");
		else
			add_bind(v, line);
	}
	ini_join_families(v->n->ini, v->s);
}

bool nginx_takes_both_families(const struct old_line *block)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];

		if (strcmp(line->words[0], "listen") == 0 && old_word(line, 1)[0] == '[' &&
		    old_has_word(line, 2, "ipv6only=off"))
			return true;
	}
	return false;
}

/* ---- who may come ---- */

/* One that weir refuses would take those on its line along. */
static bool is_network(struct arena *a, const char *text)
{
	struct nginx_net net;

	return nginx_net_read(a, text, &net);
}

/* nginx takes the first line that fits a client, whereas deny-from wins over allow-from: a `deny` is without
 * what is allowed before it. Returns whether it refuses anybody. */
static bool add_denied(struct serving *v, struct old_line *line, const struct work_list *allowed,
		       struct work_list *denied)
{
	const char *network = nginx_network(v->n->arena, old_word(line, 1));
	struct work_list rest = {.count = 0};

	if (allowed->count == 0 || denied->count > DENIED_MAX ||
	    !nginx_network_without(v->n->arena, network, allowed, &rest)) {
		if (allowed->count > 0)
			old_set(v->n->arena, line, OLD_DIFFERENT,
				"deny-from wins over allow-from, wherever it is written");
		work_list_add(v->n->arena, denied, network);
		return true;
	}
	if (rest.count == 0)
		old_set(v->n->arena, line, OLD_NO_EFFECT, "an 'allow' before it lets these clients in");
	for (size_t i = 0; i < rest.count; i++)
		work_list_add(v->n->arena, denied, rest.items[i]);
	return rest.count > 0;
}

void serving_add_access(struct serving *v)
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
		if (strcmp(what, "all") != 0 && !is_network(a, nginx_network(a, what))) {
			old_set(a, line, OLD_LOST, "not a network");
			continue;
		}
		old_set(a, line, OLD_CARRIED, NULL);
		if (strcmp(what, "all") == 0) {
			closed = true;
			if (allow)
				allowed.count = 0;
			else if (allowed.count == 0)
				work_list_add(a, &denied, "0.0.0.0/0 ::/0");
			deny_line = allow ? deny_line : line;
		} else if (allow) {
			work_list_add(a, &allowed, nginx_network(a, what));
			allow_line = line;
		} else if (add_denied(v, line, &allowed, &denied)) {
			deny_line = line;
		}
	}
	work_add_list(v->n->ini, v->s, deny_line, "deny-from", &denied, true);
	if (closed)
		work_add_list(v->n->ini, v->s, allow_line, "allow-from", &allowed, true);
	else if (allowed.count > 0)
		old_set(a, allow_line, OLD_NO_EFFECT, "nobody is refused after it");
}

/* Whose address it is that a PROXY header carries on. */
static void add_headers(struct serving *v, bool trusts)
{
	for (size_t i = 0; i < v->block->inside.count && v->proxy && !trusts; i++) {
		struct old_line *line = v->block->inside.list[i];

		if (strcmp(line->words[0], "listen") == 0 && old_has_word(line, 2, "proxy_protocol"))
			old_set(v->n->arena, line, OLD_DIFFERENT,
				"without set_real_ip_from, nginx takes the address in the header for no "
				"rule: weir does for all");
	}
	if (v->proxy && serving_is_on(serving_find(v, "proxy_protocol")))
		work_note(v->n->work,
			  "where clients send a PROXY header, nginx sends its own address to the server as "
			  "the destination: weir sends the one in their header");
}

/* The limit_conn_zone of this name. */
static struct old_line *find_zone(const struct serving *v, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < v->n->loose.count; i++) {
		struct old_line *line = v->n->loose.list[i];
		const char *zone = old_word(line, 2);

		if (strcmp(line->words[0], "limit_conn_zone") == 0 && strncmp(zone, "zone=", 5) == 0 &&
		    strncmp(zone + 5, name, len) == 0 && (zone[5 + len] == ':' || zone[5 + len] == '\0'))
			return line;
	}
	return NULL;
}

/* Do clients come with an IPv6 address, too? */
static bool has_ipv6(const struct serving *v)
{
	for (size_t i = 0; i < v->s->count; i++)
		if (strcmp(v->s->lines[i].key, "bind") == 0 &&
		    (v->s->lines[i].value[0] == '[' || v->s->lines[i].value[0] == ':'))
			return true;
	return false;
}

/* Is the key of a zone the same for all clients of a server block? */
static bool is_of_server(const char *key)
{
	static const char *const words[] = {"$server_name", "$server_port", "$server_addr", "$protocol"};
	bool found = strchr(key, '$') == NULL;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		found = found || strcmp(key, words[i]) == 0;
	return found;
}

/* Has the key a variable that is another one at each listener of the block? */
static bool differs_by_listener(struct serving *v, const char *key)
{
	const char *port = NULL;

	if (strstr(key, "$server_addr") != NULL &&
	    strchr(nginx_fold(v->n, v->block, "$server_addr"), '$') != NULL)
		return true;
	for (size_t i = 0; i < v->block->inside.count && strstr(key, "$server_port") != NULL; i++) {
		const struct old_line *line = v->block->inside.list[i];
		const char *text = old_word(line, 1), *colon = strrchr(text, ':');

		if (strcmp(line->words[0], "listen") != 0 || line->fate == OLD_NOT_OURS)
			continue;
		text = colon != NULL ? colon + 1 : text;
		if (strchr(text, '-') != NULL || (port != NULL && strcmp(port, text) != 0))
			return true;
		port = text;
	}
	return false;
}

static void add_limit(struct serving *v, struct old_line *line)
{
	struct old_line *zone = find_zone(v, old_word(line, 1));
	const char *key = zone != NULL ? old_word(zone, 1) : "", *ours = NULL;

	if (strstr(key, "remote_addr") != NULL ||
	    (v->proxy && strcmp(key, "$proxy_protocol_addr") == 0))
		ours = "maxconn-per-source";
	else if (zone != NULL && is_of_server(key))
		ours = "maxconn";
	if (ours == NULL || ini_find(v->s, ours) != NULL) {
		old_set(v->n->arena, line, OLD_LOST,
			"weir limits per client address (maxconn-per-source) and per frontend (maxconn)");
		return;
	}
	ini_add(v->n->ini, v->s, line, ours, "%s", old_word(line, 2));
	if (zone->fate != OLD_OPEN && strstr(key, "$server_port") == NULL)
		old_set(v->n->arena, zone, OLD_DIFFERENT,
			"nginx counts over all server blocks that use the zone, weir in each frontend");
	else
		old_set(v->n->arena, zone, OLD_CARRIED, NULL);
	if (differs_by_listener(v, key))
		old_set(v->n->arena, line, OLD_DIFFERENT,
			"weir counts the connections of all listeners of the section together: nginx by '%s'",
			key);
	if (strcmp(ours, "maxconn-per-source") == 0 && strrchr(key, '$') != key &&
	    strstr(key, "$server_") == NULL)
		old_set(v->n->arena, line, OLD_DIFFERENT,
			"weir counts the connections of a client address together: nginx by '%s'", key);
	else if (strcmp(ours, "maxconn-per-source") == 0 && has_ipv6(v))
		old_set(v->n->arena, line, OLD_DIFFERENT,
			"weir counts the connections of an IPv6 /64 network together: nginx those of each "
			"address");
	if (strcmp(ours, "maxconn") == 0)
		old_set(v->n->arena, line, OLD_DIFFERENT, "further clients wait: nginx closes them");
}

/* The lines of limit_conn that hold: those of the block, else those of stream. */
static void add_conn_limits(struct serving *v)
{
	const struct old_lines *lines =
	    nginx_find(&v->block->inside, NULL, "limit_conn") != NULL ? &v->block->inside : &v->n->loose;
	struct old_line *dry = serving_find(v, "limit_conn_dry_run");

	if (dry != NULL && !serving_is_on(dry))
		old_set(v->n->arena, dry, OLD_NO_EFFECT, "it is off");
	else if (dry != NULL)
		old_set(v->n->arena, dry, OLD_DIFFERENT,
			"nginx logs the clients that it would refuse: weir has no limit for them here");
	for (size_t i = 0; i < lines->count; i++) {
		if (strcmp(lines->list[i]->words[0], "limit_conn") != 0)
			continue;
		if (serving_is_on(dry))
			old_set(v->n->arena, lines->list[i], OLD_NO_EFFECT, "limit_conn_dry_run is on");
		else
			add_limit(v, lines->list[i]);
	}
}

/* nginx looks a name up when it starts; ours takes networks. Without them, anyone might send a header. */
static const char *network_of_name(struct serving *v, struct old_line *line, const char *name)
{
	const char *variable = work_address_variable(v->n->work, name);

	old_set(v->n->arena, line, OLD_DIFFERENT,
		"'trusted' takes no name: write the addresses of %s, or set %s to them in the environment of "
		"weir",
		name, variable);
	return arena_printf(v->n->arena, "${%s}", variable);
}

/* Whose PROXY headers are taken. */
static void add_trusted(struct serving *v)
{
	struct work_list trusted = {.count = 0};
	bool named = false;

	for (size_t up = 0; up < 2 && trusted.count == 0; up++) {
		const struct old_lines *lines = up ? &v->n->loose : &v->block->inside;

		for (size_t i = 0; i < lines->count; i++) {
			struct old_line *line = lines->list[i];
			const char *text = nginx_network(v->n->arena, old_word(line, 1));

			if (strcmp(line->words[0], "set_real_ip_from") != 0 || strcmp(text, "unix:") == 0)
				continue;
			if (v->proxy)
				old_set(v->n->arena, line, OLD_CARRIED, NULL);
			else if (!up)
				old_set(v->n->arena, line, OLD_NO_EFFECT,
					"no listen of the block has proxy_protocol");
			if (v->proxy && !is_network(v->n->arena, text)) {
				text = network_of_name(v, line, text);
				named = true;
			}
			work_list_add(v->n->arena, &trusted, text);
		}
	}
	add_headers(v, trusted.count > 0);
	if (v->proxy && trusted.count > 0)
		work_note(v->n->work,
			  "nginx serves clients that send a PROXY header from outside of set_real_ip_from, "
			  "by their own address: weir refuses them (trusted)");
	if (v->proxy)
		work_add_list(v->n->ini, v->s, NULL, "trusted", &trusted, !named);
}

void serving_add_limits(struct serving *v)
{
	add_conn_limits(v);
	add_trusted(v);
	if (v->proxy)
		ini_add(v->n->ini, v->s, serving_find(v, "proxy_protocol_timeout"), "timeout-handshake", "%s",
			serving_time(v, "proxy_protocol_timeout", "30s"));
}
