/* SPDX-License-Identifier: MIT
 *
 * validate_options.c - validates the options of one section together.
 *
 * Warns about a line that has no effect although it sets something; rejects options that would let anybody
 * claim an address. Values from [defaults] get no warning, because they are meant for other sections too. Nor
 * do lines that state the default, as -T prints them. Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "build.h"
#include "setting.h"

/* The value of an option as -T prints it; the caller frees it. NULL = it has none; or, with `*no_memory` set,
 * memory ran out. */
static char *value_text(const struct option *o, const struct config_proxy *set, bool *no_memory)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (!setting_is_set(o, set))
		return NULL;
	out = open_memstream(&text, &len);
	if (out != NULL) {
		setting_print(o, set, out);
		if (fclose(out) == 0)
			return text;
	}
	free(text);
	*no_memory = true;
	return NULL;
}

/* Is the value the built-in default? */
static bool is_built_in(const struct build *b, const struct proxy *p, const struct option *o)
{
	bool no_memory = false, same;
	char *value, *built_in;

	if (o->def == NULL)
		return false;
	value = value_text(o, &p->set, &no_memory);
	built_in = value_text(o, &b->built_in, &no_memory);
	same = value != NULL && built_in != NULL && strcmp(value, built_in) == 0;
	free(value);
	free(built_in);
	if (no_memory)
		arena_no_memory(b->diag->arena);
	return same;
}

/* Records that the section has this option from [defaults], without effect, if that is so. */
static void note_idle(struct build *b, struct proxy *p, size_t option)
{
	const struct config_origins *d = &b->defaults_origins;
	struct config_origins *own = &p->origins;

	for (size_t i = 0; i < d->count; i++) {
		if (d->list[i].option != option)
			continue;
		own->list = arena_grow(b->diag->arena, own->list, own->count, sizeof(*own->list));
		own->list[own->count] = d->list[i];
		own->list[own->count++].idle = true;
	}
}

/* Option `key` has no effect in this section: warns if the section's own line sets it. */
static void no_effect(struct build *b, struct proxy *p, const char *key, const char *why, const char *hint)
{
	const struct option *o = option_find(p->section->kind, key).option;
	const struct entry *line;

	check(o != NULL);
	line = p->from[o - options];
	if (line == NULL) {
		note_idle(b, p, (size_t)(o - options));
	} else if (!is_built_in(b, p, o)) {
		diag_warning(b->diag, DIAG_NO_EFFECT, line->key_at, "'%s' has no effect: %s", key, why);
		diag_hint(b->diag, "%s", hint);
	}
}

static bool any_unix_bind(const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		/* An inherited socket may be anything. */
		if (p->binds[i].addr.kind == ADDR_UNIX || p->binds[i].addr.kind == ADDR_FD)
			return true;
	}
	return false;
}

static bool any_proxy_bind(const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		if (p->binds[i].accept_proxy != CONFIG_ACCEPT_PROXY_OFF)
			return true;
	}
	return false;
}

/* Without a list of trusted clients, "a header or none" means "any address you like". */
static void validate_optional(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++) {
		const struct words *words = &p->bind_words[i];
		const struct word *w = setting_find_word(b->diag->arena, words, IN_BIND, "accept-proxy");

		if (p->binds[i].accept_proxy != CONFIG_ACCEPT_PROXY_OPTIONAL ||
		    config_has_networks(&p->set.trusted))
			continue;
		diag_error(b->diag, DIAG_MISSING, w->at,
			   "'accept-proxy=optional' without 'trusted': anybody could claim an address");
		diag_hint(b->diag, "add a line such as: trusted = 10.0.0.0/8");
	}
}

static void validate_front(struct build *b, struct proxy *p)
{
	/* A failed bind line may have had the word. */
	bool binds_known = (p->section->bad & SECTION_BAD_BIND) == 0 && p->bind_count > 0;

	validate_optional(b, p);
	build_validate_trust(b, p);
	build_validate_routes(b, p);
	if (binds_known && !any_proxy_bind(p))
		no_effect(b, p, "trusted", "no bind line has 'accept-proxy'",
			  "write for example: bind = :443 accept-proxy");
	if (p->set.sniff.kind == CONFIG_SNIFF_RDP && !p->set.sniff.required && b->diag->errors == 0 &&
	    !build_leads_to_persist(b, p))
		no_effect(b, p, "sniff", "no backend of this frontend has 'persist = rdp'",
			  "add that to the backend; or 'required', which closes what is not RDP");
	if (p->set.maxconn_per_source == 0 && p->set.source_rate.count == 0 &&
	    (p->section->bad & SECTION_BAD_SOURCE) == 0)
		no_effect(b, p, "limit-exempt", "the section has no limit per source",
			  "add 'maxconn-per-source = N' or 'rate-limit-per-source = N/TIME'");
	if (binds_known && !any_unix_bind(p))
		no_effect(b, p, "allow-uid", "no bind line is a Unix socket",
			  "over TCP the user is unknown: see 'allow-from'");
}

/* Warns about a word of a server line that works only together with another one. */
static void warn_word(struct build *b, const struct proxy *p, size_t i, const char *key, const char *why,
		      const char *hint)
{
	const struct word *w = setting_find_word(b->diag->arena, &p->server_words[i], IN_SERVER, key);

	if (w == NULL)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, w->at, "'%s' has no effect: %s", key, why);
	diag_hint(b->diag, "%s", hint);
}

static void validate_no_agent(struct build *b, const struct proxy *p, size_t i)
{
	static const char *const keys[] = {"check-agent-interval", "check-agent-send"};

	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		warn_word(b, p, i, keys[k], "this server has no agent", "add check-agent=PORT");
}

static void refuse_agent_of_unix(struct build *b, const struct proxy *p, size_t i)
{
	diag_error(b->diag, DIAG_CONFLICT, p->server_at[i],
		   "the agent of '%s' has no address: the server is a Unix socket", p->servers[i].name);
	diag_hint(b->diag, "add check-agent=IP:PORT, or check-agent=off, to this server");
}

/* A Unix socket has no port that its checks could go to elsewhere. */
static void validate_check_addr(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];

	if (!s->check || s->check_addr.len == 0 || s->addr.kind != ADDR_UNIX || s->check_port != 0 ||
	    p->set.check.port != 0)
		return;
	diag_error(b->diag, DIAG_CONFLICT, p->server_at[i],
		   "the health checks of '%s' have no port: the server is a Unix socket", s->name);
	diag_hint(b->diag, "add check-port=PORT, or leave out check-addr");
}

/* The checks of a server cannot leave from an address of another family. */
static void validate_check_source(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];

	for (size_t k = 0; k < s->source.count && s->check && s->check_addr.len != 0; k++) {
		if (s->source.list[k].sa.sa_family == s->check_addr.sa.sa_family)
			continue;
		diag_error(b->diag, DIAG_CONFLICT, p->server_at[i],
			   "check-addr and source of '%s' are of different families", s->name);
		return;
	}
}

static void validate_server(struct build *b, const struct proxy *p, size_t i)
{
	static const char *const check_keys[] = {"check-addr", "check-port", "check-fast",
						 "check-down", "check-rise", "check-fall"};
	const struct config_server *s = &p->servers[i];

	validate_check_addr(b, p, i);
	validate_check_source(b, p, i);
	if (s->maxqueue > 0 && s->maxconn == 0)
		warn_word(b, p, i, "maxqueue", "without 'maxconn' no client waits",
			  "add maxconn=N to this server");
	if (s->check_agent.port == 0)
		validate_no_agent(b, p, i);
	else if (s->addr.kind == ADDR_UNIX && s->check_agent.addr.len == 0)
		refuse_agent_of_unix(b, p, i);
	if (s->check_agent.port == 0 && !s->check)
		warn_word(b, p, i, "check-interval", "this server is not health-checked",
			  "add the word check");
	for (size_t k = 0; k < ARRAY_LEN(check_keys) && !s->check; k++)
		warn_word(b, p, i, check_keys[k], "this server is not health-checked", "add the word check");
	if (s->send_proxy != CONFIG_SEND_PROXY_V2)
		warn_word(b, p, i, "proxy-v2-options", "this server gets no version 2 header",
			  "add send-proxy=v2");
}

/* The first server without a limit takes every connection: the servers after it get none. */
static void validate_first(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++) {
		const struct config_server *s = &p->servers[i];
		bool others = s->set != CONFIG_SET_NONE; /* its own members */

		for (size_t k = i + 1; k < p->server_count; k++)
			others = others || p->servers[k].backup == s->backup;
		if (s->maxconn > 0 || !others)
			continue;
		diag_warning(b->diag, DIAG_NO_EFFECT, p->server_at[i],
			     "'balance = first' never goes past '%s', which has no 'maxconn'", s->name);
		diag_hint(b->diag, "add maxconn=N to this server");
		return;
	}
}

static bool any_agent(const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++)
		if (p->servers[i].check_agent.port != 0)
			return true;
	return false;
}

static void validate_agents(struct build *b, struct proxy *p)
{
	static const char *const keys[] = {"check-agent-interval", "check-agent-send"};

	for (size_t i = 0; i < ARRAY_LEN(keys) && !any_agent(p); i++)
		no_effect(b, p, keys[i], "no server has an agent", "add a line such as: check-agent = 9000");
}

/* The words of server-defaults about health checks, in a section in which no server has them. */
static void validate_check_defaults(struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->own_defaults; i++) {
		const struct word *w = &p->server_defaults.list[i];
		const char *key = arena_strndup(b->diag->arena, w->text, strcspn(w->text, "="));

		if (strncmp(key, "check-", strlen("check-")) != 0 || any_agent(p))
			continue;
		diag_warning(b->diag, DIAG_NO_EFFECT, w->at,
			     "'%s' has no effect: no server is health-checked", key);
		diag_hint(b->diag, "add the word check");
	}
}

/* Options that control health checks or their consequences. */
static void validate_checks(struct build *b, struct proxy *p)
{
	static const char hint[] = "add a line such as: check = tcp";
	static const char *const keys[] = {"check-fast", "check-down", "check-rise", "check-fall",
					   "check-share"};
	/* An agent has a use for these. */
	static const char *const common[] = {"check-interval", "check-timeout"};
	/* And observing, too. */
	static const char *const states[] = {"on-marked-down", "panic"};
	const bool observes = p->set.observe.what != CONFIG_OBSERVE_OFF;

	if (p->set.check.kind != CONFIG_CHECK_OFF)
		return;
	validate_check_defaults(b, p);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		no_effect(b, p, keys[i], "no server is health-checked", hint);
	for (size_t i = 0; i < ARRAY_LEN(common) && !any_agent(p); i++)
		no_effect(b, p, common[i], "no server is health-checked", hint);
	for (size_t i = 0; i < ARRAY_LEN(states) && !any_agent(p) && !observes; i++)
		no_effect(b, p, states[i], "no server is health-checked", hint);
}

static void validate_panic(struct build *b, struct proxy *p)
{
	const bool can_go_down = p->set.check.kind != CONFIG_CHECK_OFF || any_agent(p) ||
				 p->set.observe.what != CONFIG_OBSERVE_OFF;

	if (p->fallback != NULL && can_go_down)
		no_effect(b, p, "panic", "clients go to the fallback-backend instead",
			  "write it in the last backend of the chain");
}

/* A word of the section's own `observe` line that is for servers with a health check, or without one, and
 * there is none. A value as by default says nothing: -T prints it. */
static void warn_observe_word(struct build *b, struct proxy *p, const char *key, const char *why,
			      const char *hint)
{
	const struct option *o = option_find(p->section->kind, "observe").option;
	const struct entry *line = p->from[o - options];
	struct words words;
	const struct word *w;

	if (line == NULL)
		note_idle(b, p, (size_t)(o - options));
	if (line == NULL || words_split(b->diag, line->value_at, line->value, &words) != 0)
		return;
	w = setting_find_word(b->diag->arena, &words, IN_OBSERVE, key);
	if (w == NULL)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, w->at, "'%s' has no effect: %s", key, why);
	diag_hint(b->diag, "%s", hint);
}

/* Which kinds of servers it is about; and nothing can leave whose place nobody takes. */
static void validate_observe(struct build *b, struct proxy *p)
{
	struct config_observing usual;
	size_t checked = 0;

	setting_defaults(b->diag->arena, IN_OBSERVE, &usual);
	for (size_t i = 0; i < p->server_count; i++)
		checked += p->servers[i].check;
	if (checked == p->server_count && p->set.observe.down_ns != usual.down_ns)
		warn_observe_word(b, p, "down", "every server is health-checked",
				  "leave it out: the next good check brings such a server back");
	if (checked == 0 && p->set.observe.on_error != usual.on_error)
		warn_observe_word(b, p, "on-error", "no server is health-checked",
				  "leave it out, or add a line such as: check = tcp");
	if (p->server_count == 1 && p->servers[0].set == CONFIG_SET_NONE && !p->servers[0].check)
		no_effect(b, p, "observe", "the last server of a section is never left out, and there is one",
			  "add a server, or a line such as: check = tcp");
}

/* May a connection wait in the queue of this backend? */
static bool has_queue(const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++)
		if (p->servers[i].maxconn > 0)
			return true;
	return p->waits;
}

static bool has_set(const struct proxy *p)
{
	for (size_t i = 0; i < p->server_count; i++)
		if (p->servers[i].set != CONFIG_SET_NONE)
			return true;
	return false;
}

static void validate_sticky(struct build *b, struct proxy *p)
{
	if (p->server_count == 1 && p->servers[0].set == CONFIG_SET_NONE)
		no_effect(b, p, "sticky", "there is one server, and all clients go there", "add a server");
}

static void validate_back(struct build *b, struct proxy *p)
{
	static const char *const queue_keys[] = {"maxqueue", "timeout-queue"};

	/* A failed line may have had the missing word. */
	if ((p->section->bad & SECTION_BAD_SERVER) != 0 || p->server_count == 0)
		return;
	for (size_t i = 0; i < p->server_count; i++)
		validate_server(b, p, i);
	if (p->set.balance.algorithm == CONFIG_BALANCE_FIRST)
		validate_first(b, p);
	validate_checks(b, p);
	validate_panic(b, p);
	validate_observe(b, p);
	validate_sticky(b, p);
	validate_agents(b, p);
	if (!has_set(p))
		no_effect(b, p, "on-empty", "no server comes from a set",
			  "write for example: servers pod = dns://app.example.com:80");
	for (size_t i = 0; i < ARRAY_LEN(queue_keys) && !has_queue(p); i++)
		no_effect(b, p, queue_keys[i], "no server has a 'maxconn' to wait for",
			  "add maxconn=N to the servers");
}

void build_validate_options(struct build *b, struct proxy *p)
{
	if (p->section->kind != IN_BACKEND)
		validate_front(b, p);
	if (build_is_backend(p))
		validate_back(b, p);
}
