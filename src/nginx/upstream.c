/* SPDX-License-Identifier: MIT
 *
 * upstream.c - upstream { } and addresses of proxy_pass become servers of a section.
 *
 * What a server block says about its servers (proxy_connect_timeout, proxy_protocol) belongs to the backend
 * in weir: an upstream that two blocks use in two ways becomes two backends. Main thread.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "variable.h"
#include "weight.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

#define SET_TRIES 4 /* weir's default */

/* What the servers of an upstream have in common. */
struct pool {
	struct nginx *n;
	struct ini_section *s;
	const struct nginx_sides *sides;
	const char *fails; /* max_fails of the first; "1" if it says nothing */
	const char *time;  /* fail_timeout */
	struct old_line *fails_from;
	size_t count; /* of servers */
	size_t backups;
	bool limited; /* a server has max_conns */
	struct nginx_weights weights;
	bool has_set; /* a server has 'resolve': it may be several */
	size_t lines;
	struct index names;	    /* of servers; "set NAME", and "numbered NAME" for NAME7 */
};

/* ---- one server ---- */

/* A set gives its servers the names NAME1, NAME2 and so on, which no other may have. */
static bool is_taken(const struct pool *p, const char *name, bool is_set)
{
	struct arena *a = p->n->arena;
	bool taken = index_find(&p->names, name) != NULL ||
		     (is_set && index_find(&p->names, arena_printf(a, "numbered %s", name)) != NULL);

	for (size_t len = strlen(name); len > 0 && is_digit(name[len - 1]) && !taken; len--)
		taken = index_find(&p->names, arena_printf(a, "set %.*s", (int)len - 1, name)) != NULL;
	return taken;
}

static void take_name(struct pool *p, const char *name, bool is_set)
{
	struct arena *a = p->n->arena;

	index_put(a, &p->names, name, p);
	if (is_set)
		index_put(a, &p->names, arena_printf(a, "set %s", name), p);
	for (size_t len = strlen(name); len > 0 && is_digit(name[len - 1]); len--)
		index_put(a, &p->names, arena_printf(a, "numbered %.*s", (int)len - 1, name), p);
}

static const char *server_name(struct pool *p, const char *address, bool is_set)
{
	struct arena *a = p->n->arena;
	const size_t len = strcspn(address, ":");
	const char *text;
	char *name = arena_strndup(a, address, len);

	for (char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.' && *c != '-')
			*c = '-';
	text = name;
	if (len == 0 || is_digit(name[0]) || address[0] == '[' || strcmp(name, "unix") == 0 || len > 60 ||
	    is_taken(p, name, is_set))
		text = arena_printf(a, is_set ? "s%zu-" : index_find(&p->names, "set s") ? "s-%zu" : "s%zu",
				    p->count + 1);
	take_name(p, text, is_set);
	return text;
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

	if (strcmp(word, "weight=1") == 0)
		return text;
	if (strncmp(word, "weight=", 7) == 0)
		return arena_printf(a, "%s weight=%s", text, nginx_weight(a, &p->weights, line, value));
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

/* nginx counts connections in each worker process where the upstream has no shared memory. */
static bool counts_by_worker(const struct pool *p, const struct old_line *upstream)
{
	const struct old_line *workers = nginx_find(&p->n->work->reading->lines, NULL, "worker_processes");

	return nginx_find(&upstream->inside, NULL, "zone") == NULL && workers != NULL &&
	       strcmp(old_word(workers, 1), "1") != 0;
}

/* A server of an upstream. */
static void add_member(struct pool *p, struct old_line *line, bool by_worker)
{
	struct arena *a = p->n->arena;
	const char *address = old_word(line, 1), *service = nginx_parameter(line, "service=", NULL);
	const char *text = our_address(p, address), *kind = "server";
	const bool is_set = old_has_word(line, 2, "resolve");
	const char *key;
	const char *time = nginx_duration(a, nginx_parameter(line, "fail_timeout=", "10"));

	if (strchr(address, '$') != NULL) {
		old_set(a, line, OLD_LOST, NGINX_NO_VARIABLE, address);
		return;
	}
	p->has_set = p->has_set || is_set;
	if (is_set) {
		kind = "servers";
		text = service != NULL ? arena_printf(a, "srv://_%s._tcp.%s", service, address)
				       : arena_printf(a, "dns://%s", text);
	}
	for (size_t i = 2; i < line->count; i++)
		text = take_word(p, line, line->words[i], text);
	if (p->sides->source != NULL)
		text = arena_printf(a, "%s source=%s", text, p->sides->source);
	key = arena_printf(a, "%s %s", kind, server_name(p, address, is_set));
	ini_add(p->n->ini, p->s, line, key, "%s", text);
	p->count++;
	p->backups += old_has_word(line, 2, "backup");
	if (strcmp(nginx_parameter(line, "max_conns=", "0"), "0") != 0) {
		p->limited = true;
		if (by_worker)
			old_set(a, line, OLD_DIFFERENT,
				"without 'zone', nginx lets each worker process have max_conns connections: "
				"weir counts them together");
	}
	if (!old_has_word(line, 2, "down"))
		take_fails(p, line, nginx_parameter(line, "max_fails=", "1"),
			   time != NULL ? time : "10s");
}

/* ---- what all of them have ---- */

static void add_observing(struct pool *p)
{
	struct ini_line *line;
	const char *text = "connect";
	const bool never = strcmp(p->time, "0") == 0 || strcmp(p->fails, "0") == 0;

	if ((p->count < 2 && !p->has_set) || (never && p->backups == 0))
		return;
	if (never) {
		old_set(p->n->arena, p->fails_from, OLD_DIFFERENT,
			"weir leaves a server out after one failed connect, or no client would get the "
			"backup");
		p->fails = "1";
		p->time = strcmp(p->time, "0") == 0 ? "10s" : p->time;
	}
	if (strcmp(p->fails, "1") != 0)
		work_note(p->n->work,
			  "nginx counts the failures of a server within fail_timeout (max_fails): weir those "
			  "in a row");
	if (strcmp(p->fails, "1") != 0)
		text = arena_printf(p->n->arena, "%s limit=%s", text, p->fails);
	if (strcmp(p->time, "10s") != 0)
		text = arena_printf(p->n->arena, "%s down=%s", text, p->time);
	line = ini_add(p->n->ini, p->s, NULL, "observe", "%s", text);
	line->from = p->fails_from;
}

/* nginx tries each server once. Where weir has to leave servers out before it asks a backup, more tries are
 * needed; the last is for news that come too late. */
static size_t most_tries(const struct pool *p)
{
	const size_t fails = (size_t)strtoul(p->fails, NULL, 10);
	size_t most = p->count;

	if (p->sides->one_try)
		return 1;
	if (p->sides->tries > 0 && (p->sides->tries < p->count || p->has_set))
		return p->sides->tries;
	if (p->backups > 0 && p->count > p->backups)
		most = (p->count - p->backups) * fails + 2;
	return p->has_set && most < SET_TRIES ? SET_TRIES : most;
}

static void add_retries(struct pool *p)
{
	const size_t most = most_tries(p);

	ini_add(p->n->ini, p->s, p->sides->tries_from, "retries", "%zu", most > 0 ? most - 1 : 0);
}

/* Has the section a server whose address is a name? */
static bool has_names(const struct ini_section *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (strncmp(s->lines[i].key, "server", 6) == 0 && s->lines[i].key[6] != '-' &&
		    isalpha((unsigned char)s->lines[i].value[0]) &&
		    strncmp(s->lines[i].value, "unix:", 5) != 0)
			return true;
	return false;
}

/* A name may have several addresses. */
static void note_names(const struct pool *p)
{
	for (size_t i = 0; i < p->s->count; i++) {
		const struct ini_line *line = &p->s->lines[i];

		if (strncmp(line->key, "server ", 7) == 0 && isalpha((unsigned char)line->value[0]) &&
		    strncmp(line->value, "unix:", 5) != 0 && strncmp(line->value, "sni@", 4) != 0)
			work_note(p->n->work,
				  "nginx takes each address of a server's name for a server: weir connects "
				  "to one of them, and to the next when it fails; servers NAME = "
				  "dns://HOST:PORT makes a server of each");
	}
}

/* `own`: the resolver of the upstream itself, NULL = none. */
static void add_sides(struct pool *p, struct old_line *own)
{
	const char *family = nginx_resolve_family(own);
	const char *interval = nginx_resolve_interval(p->n->arena, own);
	const bool named = has_names(p->s);

	if (family != NULL)
		ini_add(p->n->ini, p->s, own, "resolve-family", "%s", family);
	if (interval != NULL)
		ini_add(p->n->ini, p->s, own, "resolve-interval", "%s", interval);
	for (size_t i = 0; i < p->sides->count; i++) {
		const struct nginx_side *side = &p->sides->list[i];

		if (strncmp(side->key, "resolve-", 8) == 0 && (own != NULL || !named))
			continue;
		ini_add(p->n->ini, p->s, side->from, side->key, "%s", side->value);
	}
	add_retries(p);
}

/* Says of the servers that have a limit what is so for all of them. */
static void differ_by_limit(struct nginx *n, const struct old_line *block, const char *why)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];

		if (strcmp(line->words[0], "server") == 0 &&
		    strcmp(nginx_parameter(line, "max_conns=", "0"), "0") != 0)
			old_set(n->arena, line, OLD_DIFFERENT, "%s", why);
	}
}

/* nginx uses all its backups, and ends a client when every server is full. */
static void add_habits(struct pool *p, const struct old_line *block)
{
	const struct ini_line *balance = ini_find(p->s, "balance");

	if (p->limited && p->count > 1 && balance != NULL && strncmp(balance->value, "source", 6) == 0)
		differ_by_limit(p->n, block,
				"nginx gives the clients of a full server to another one: weir ends them, as "
				"their hash has no other server");
	if (p->limited && p->backups > 0)
		differ_by_limit(p->n, block,
				"nginx gives a client to a backup while all other servers are full: weir "
				"ends it, as a backup is for servers that are down");
	if (p->backups > 1)
		ini_add(p->n->ini, p->s, NULL, "allbackups", "on");
	if (p->limited)
		ini_add(p->n->ini, p->s, NULL, "timeout-queue", "1ms");
	if (p->has_set && !p->sides->one_try && p->sides->tries == 0)
		work_note(p->n->work,
			  "nginx tries each address of a name with 'resolve' once: weir makes %d attempts, "
			  "or one for each server of the file if these are more",
			  SET_TRIES);
	if (p->backups > 0)
		work_note(p->n->work,
			  "nginx gives a client that all other servers have refused to a backup at once: "
			  "weir once they are left out (observe), so it may pause a second for each try");
}

static bool add_upstream(struct pool *p, struct old_line *block)
{
	const bool by_worker = counts_by_worker(p, block);

	if (block->fate == OLD_OPEN)
		old_set(p->n->arena, block, OLD_CARRIED, NULL);
	nginx_drop_methods(p->n, block);
	nginx_weights_read(&p->weights, block);
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];

		if (strcmp(line->words[0], "server") == 0)
			add_member(p, line, by_worker);
		else if (strcmp(line->words[0], "resolver") != 0)
			nginx_method(p->n, p->s, line, p->sides->proxy);
	}
	nginx_judge_ties(p->n, block);
	add_observing(p);
	add_habits(p, block);
	return p->count > 0;
}

/* Is it the name that clients ask for, with or without a port? */
static bool is_open(const char *target)
{
	return strncmp(target, "$ssl_preread_server_name", 24) == 0 &&
	       (target[24] == '\0' || target[24] == ':');
}

/* A name that clients choose: nginx connects to what they ask for. */
static bool add_open_proxy(struct pool *p, struct old_line *line, const char *target)
{
	const char *port = strrchr(target, ':');
	struct ini_line *out;

	out = ini_add(p->n->ini, p->s, line, "server any", "sni@%s%s%s",
		      port == NULL || strcmp(port, ":$server_port") == 0 ? "*" : port + 1,
		      p->sides->source != NULL ? " source=" : "",
		      p->sides->source != NULL ? p->sides->source : "");
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
	struct old_line *block = nginx_block(n, "upstream", target), *split = nginx_find_split(n, target);
	bool fine = true;

	nginx_judge_name(n, line, target, sides->resolver);
	if (split != NULL) {
		fine = nginx_split(n, s, split, target);
		p.count = 2;
	} else if (block != NULL) {
		fine = add_upstream(&p, block);
	} else if (is_open(target)) {
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
		ini_add(n->ini, s, line,
			arena_printf(n->arena, "server %s", server_name(&p, target, false)), "%s", text);
		p.count = 1;
	}
	note_names(&p);
	add_sides(&p, block != NULL && split == NULL ? nginx_find(&block->inside, NULL, "resolver") : NULL);
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

/* The lines of a block whose backend another block has made. */
static void share_sides(struct nginx *n, const struct nginx_sides *sides)
{
	for (size_t i = 0; i < sides->count; i++)
		if (sides->list[i].from != NULL)
			old_set(n->arena, sides->list[i].from, OLD_CARRIED, NULL);
	if (sides->tries_from != NULL)
		old_set(n->arena, sides->tries_from, OLD_CARRIED, NULL);
}

const char *nginx_backend(struct nginx *n, struct old_line *line, const char *target,
			  const struct nginx_sides *sides)
{
	const char *signature = signature_of(n, sides);
	struct old_line *block = nginx_block(n, "upstream", target);
	const char *key = block != NULL ? work_lower_case(n->arena, target) : target;
	struct ini_section *s;
	bool again = false;
	const char *name;

	for (size_t i = 0; i < n->backend_count; i++) {
		if (strcmp(n->backends[i].target, key) != 0)
			continue;
		again = true;
		if (strcmp(n->backends[i].signature, signature) == 0) {
			nginx_judge_name(n, line, target, sides->resolver);
			share_sides(n, sides);
			return n->backends[i].name;
		}
	}
	name = nginx_name(n, is_open(target) ? "any" : target);
	s = ini_section(n->ini, IN_BACKEND, name, block);
	if (!nginx_servers(n, s, line, target, sides)) {
		s->left_out = true;
		if (line->fate < OLD_LOST)
			old_set(n->arena, line, OLD_LOST, "'%s' has no server", target);
		return NULL;
	}
	if (again && block != NULL)
		work_note(n->work,
			  "server blocks use the upstream '%s' in several ways: weir has a backend for each, "
			  "which counts connections and failures by itself",
			  target);
	if (again && block != NULL)
		differ_by_limit(n, block,
				"server blocks use this upstream in several ways, each of which is a "
				"backend: nginx counts the connections of all together, weir in each");
	n->backends = arena_grow(n->arena, n->backends, n->backend_count, sizeof(*n->backends));
	n->backends[n->backend_count++] = (struct nginx_backend){key, signature, name};
	return name;
}

const char *nginx_closed(struct nginx *n)
{
	if (n->closed == NULL) {
		n->closed = nginx_name(n, "closed");
		work_add_closed(n->ini, n->closed);
	}
	return n->closed;
}
