/* SPDX-License-Identifier: MIT
 *
 * nginx_upstream.c - upstream { } and addresses of proxy_pass become servers of a section.
 *
 * What a server block says about its servers (proxy_connect_timeout, proxy_protocol) belongs to the backend
 * in weir: an upstream that two blocks use in two ways becomes two backends. Main thread.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "nginx.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

/* What the servers of an upstream have in common. */
struct pool {
	struct nginx *n;
	struct ini_section *s;
	const struct nginx_sides *sides;
	const char *fails; /* max_fails of the first; "1" if it says nothing */
	const char *time;  /* fail_timeout */
	struct old_line *fails_from;
	size_t count; /* of servers */
	size_t lines;
};

/* ---- one server ---- */

static const char *server_name(struct pool *p, const char *address)
{
	const size_t len = strcspn(address, ":");
	char *name = arena_strndup(p->n->arena, address, len);
	const char *key;

	for (char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.' && *c != '-')
			*c = '-';
	key = arena_printf(p->n->arena, "server %s", name);
	if (len == 0 || is_digit(name[0]) || address[0] == '[' || strcmp(name, "unix") == 0 || len > 60 ||
	    ini_find(p->s, key) != NULL)
		return arena_printf(p->n->arena, "s%zu", p->count + 1);
	return name;
}

/* nginx's port is 80 in http only: in stream it must be there. Returns our address. */
static const char *our_address(struct pool *p, const char *address)
{
	struct arena *a = p->n->arena;
	const char *port = strstr(address, ":$server_port");

	if (strncmp(address, "unix:", 5) == 0)
		return arena_strndup(a, address, strlen(address));
	if (port != NULL)
		return arena_printf(a, "%.*s:*", (int)(port - address), address);
	return address;
}

static void take_fails(struct pool *p, struct old_line *line, const char *fails, const char *time)
{
	if (p->lines++ == 0) {
		p->fails = fails;
		p->time = time;
		p->fails_from = line;
	} else if (strcmp(p->fails, fails) != 0 || strcmp(p->time, time) != 0) {
		old_set(p->n->arena, line, OLD_DIFFERENT,
			"max_fails and fail_timeout of the first server hold for all: observe = connect");
	}
}

static const char *take_word(struct pool *p, struct old_line *line, const char *word, const char *text)
{
	struct arena *a = p->n->arena;
	const char *value = strchr(word, '=') != NULL ? strchr(word, '=') + 1 : "", *time;

	if (strncmp(word, "weight=", 7) == 0)
		return strcmp(value, "1") == 0 ? text : arena_printf(a, "%s weight=%s", text, value);
	if (strncmp(word, "max_conns=", 10) == 0)
		return strcmp(value, "0") == 0 ? text : arena_printf(a, "%s maxconn=%s", text, value);
	if (strcmp(word, "backup") == 0)
		return arena_printf(a, "%s backup", text);
	if (strcmp(word, "down") == 0)
		return arena_printf(a, "%s disabled", text);
	if (strncmp(word, "slow_start=", 11) == 0) {
		time = nginx_duration(a, value);
		return time == NULL ? text : arena_printf(a, "%s slowstart=%s", text, time);
	}
	if (strncmp(word, "max_fails=", 10) != 0 && strncmp(word, "fail_timeout=", 13) != 0 &&
	    strcmp(word, "resolve") != 0 && strncmp(word, "service=", 8) != 0 &&
	    !work_word_by_table(p->n->work, line, word))
		old_set(a, line, OLD_LOST, "'%s' of server", word);
	return text;
}

static const char *value_in(struct arena *a, const struct old_line *line, const char *name,
			    const char *otherwise)
{
	const size_t len = strlen(name);

	(void)a;
	for (size_t i = 2; i < line->count; i++)
		if (strncmp(line->words[i], name, len) == 0)
			return line->words[i] + len;
	return otherwise;
}

static bool has_word(const struct old_line *line, const char *word)
{
	for (size_t i = 2; i < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return true;
	return false;
}

/* A server of an upstream. */
static void add_member(struct pool *p, struct old_line *line)
{
	struct arena *a = p->n->arena;
	const char *address = old_word(line, 1), *service = value_in(a, line, "service=", NULL);
	const char *text = our_address(p, address), *kind = "server";
	const char *time = nginx_duration(a, value_in(a, line, "fail_timeout=", "10"));

	if (has_word(line, "resolve")) {
		kind = "servers";
		text = service != NULL ? arena_printf(a, "srv://_%s._tcp.%s", service, address)
				       : arena_printf(a, "dns://%s", text);
	}
	for (size_t i = 2; i < line->count; i++)
		text = take_word(p, line, line->words[i], text);
	if (p->sides->source != NULL)
		text = arena_printf(a, "%s source=%s", text, p->sides->source);
	ini_add(p->n->ini, p->s, line, arena_printf(a, "%s %s", kind, server_name(p, address)), "%s", text);
	p->count++;
	take_fails(p, line, value_in(a, line, "max_fails=", "1"), time != NULL ? time : "10s");
}

/* ---- the algorithm ---- */

static void take_method(struct pool *p, struct old_line *line)
{
	const char *word = line->words[0], *key = old_word(line, 1), *value = NULL;

	if (strcmp(word, "least_conn") == 0)
		value = "leastconn";
	else if (strcmp(word, "random") == 0)
		value = "random";
	else if (strcmp(word, "hash") == 0 &&
		 (strcmp(key, "$remote_addr") == 0 || strcmp(key, "$binary_remote_addr") == 0))
		value = strcmp(old_word(line, 2), "consistent") == 0 ? "source hash=consistent" : "source";
	if (value != NULL)
		ini_add(p->n->ini, p->s, line, "balance", "%s", value);
	else if (strcmp(word, "hash") == 0)
		old_set(p->n->arena, line, OLD_LOST,
			"weir hashes the client's address only: balance = source");
	else
		work_by_table(p->n->work, line, 0);
}

static void add_observing(struct pool *p)
{
	struct ini_line *line;
	const char *text = "connect";

	if (p->count < 2 || strcmp(p->fails, "0") == 0)
		return;
	if (strcmp(p->fails, "1") != 0)
		text = arena_printf(p->n->arena, "%s limit=%s", text, p->fails);
	if (strcmp(p->time, "10s") != 0)
		text = arena_printf(p->n->arena, "%s down=%s", text, p->time);
	line = ini_add(p->n->ini, p->s, NULL, "observe", "%s", text);
	line->from = p->fails_from;
}

/* nginx tries each server once. */
static void add_retries(struct pool *p)
{
	const unsigned tries = p->sides->one_try ? 1 : p->sides->tries;
	const size_t most = tries > 0 && tries < p->count ? tries : p->count;

	ini_add(p->n->ini, p->s, p->sides->tries_from, "retries", "%zu", most > 0 ? most - 1 : 0);
}

static void add_sides(struct pool *p)
{
	for (size_t i = 0; i < p->sides->count; i++) {
		const struct nginx_side *side = &p->sides->list[i];

		ini_add(p->n->ini, p->s, side->from, side->key, "%s", side->value);
	}
	add_retries(p);
}

static bool add_upstream(struct pool *p, struct old_line *block)
{
	if (block->fate == OLD_OPEN)
		old_set(p->n->arena, block, OLD_CARRIED, NULL);
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];

		if (strcmp(line->words[0], "server") == 0)
			add_member(p, line);
		else
			take_method(p, line);
	}
	add_observing(p);
	return p->count > 0;
}

/* A name that clients choose: nginx connects to what they ask for. */
static bool add_open_proxy(struct pool *p, struct old_line *line, const char *target)
{
	const char *port = strrchr(target, ':');
	struct ini_line *out;

	out = ini_add(p->n->ini, p->s, line, "server any", "sni@%s",
		      port == NULL || strcmp(port, ":$server_port") == 0 ? "*" : port + 1);
	out->stand_in = "192.0.2.1:1";
	ini_add(p->n->ini, p->s, NULL, "allow-sni", "*");
	p->count = 1;
	old_set(
	    p->n->arena, line, OLD_DIFFERENT,
	    "weir refuses addresses of this machine and of private networks unless allow-to names them; name "
	    "what clients need in allow-sni");
	return true;
}

bool nginx_servers(struct nginx *n, struct ini_section *s, struct old_line *line, const char *target,
		   const struct nginx_sides *sides)
{
	struct pool p = {.n = n, .s = s, .sides = sides, .fails = "1", .time = "10s"};
	struct old_line *block = nginx_block(n, "upstream", target);
	bool fine = true;

	if (block != NULL) {
		fine = add_upstream(&p, block);
	} else if (strncmp(target, "$ssl_preread_server_name", 24) == 0 ||
		   strncmp(target, "$ssl_preread_server_name:", 25) == 0) {
		fine = add_open_proxy(&p, line, target);
	} else if (strchr(target, '$') != NULL && strstr(target, ":$server_port") == NULL) {
		old_set(n->arena, line, OLD_LOST, "weir does not compute addresses");
		return false;
	} else if (strchr(target, ':') == NULL && target[0] != '/') {
		old_set(n->arena, line, OLD_LOST, "there is no upstream '%s'", target);
		return false;
	} else {
		const char *text = our_address(&p, target);

		if (sides->source != NULL)
			text = arena_printf(n->arena, "%s source=%s", text, sides->source);
		ini_add(n->ini, s, line, arena_printf(n->arena, "server %s", server_name(&p, target)), "%s",
			text);
		p.count = 1;
	}
	add_sides(&p);
	return fine;
}

static const char *signature_of(struct nginx *n, const struct nginx_sides *sides)
{
	const char *text = arena_printf(n->arena, "%s %d %u", sides->source != NULL ? sides->source : "",
					sides->one_try, sides->tries);

	for (size_t i = 0; i < sides->count; i++)
		text = arena_printf(n->arena, "%s %s=%s", text, sides->list[i].key, sides->list[i].value);
	return text;
}

const char *nginx_backend(struct nginx *n, struct old_line *line, const char *target,
			  const struct nginx_sides *sides)
{
	const char *signature = signature_of(n, sides);
	struct old_line *block = nginx_block(n, "upstream", target);
	struct ini_section *s;
	const char *name;

	for (size_t i = 0; i < n->backend_count; i++)
		if (strcmp(n->backends[i].target, target) == 0 &&
		    strcmp(n->backends[i].signature, signature) == 0)
			return n->backends[i].name;
	name = nginx_name(n, target);
	s = ini_section(n->ini, IN_BACKEND, name, block);
	if (!nginx_servers(n, s, line, target, sides)) {
		s->left_out = true;
		if (line->fate < OLD_LOST)
			old_set(n->arena, line, OLD_LOST, "'%s' has no server", target);
		return NULL;
	}
	n->backends = arena_grow(n->arena, n->backends, n->backend_count, sizeof(*n->backends));
	n->backends[n->backend_count++] = (struct nginx_backend){target, signature, name};
	return name;
}
