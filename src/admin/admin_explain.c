/* SPDX-License-Identifier: MIT
 *
 * admin_explain.c - `explain`: what would happen to a client, step by step.
 *
 * Follows a client from the listener to a server, through the functions that decide (entry/rules.h,
 * balance/preview.h). Only reads: takes no slot, no place at a server, no turn. Main thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/fallback.h"
#include "weir/balance/preview.h"
#include "weir/base/clock.h"
#include "weir/entry/rules.h"
#include "weir/net/netset.h"
#include "admin_steps.h"
#include "explain_server.h"
#include "explain_words.h"
#include "hello_words.h"
#include "source_steps.h"

#define WORD_MAX   256
#define RESULT_MAX 512

/* The client in question. */
struct walker {
	const struct admin_call *c; /* borrows */
	struct frontend *fe;
	const struct endpoint *ep; /* NULL = the frontend has none */
	const struct config_frontend *rules; /* of the settings in effect */
	struct addr_brief client;
	struct addr_brief to; /* the address that it connects to; family 0 = not given */
	uint16_t port; /* that it connects to; 0 = none */
	bool port_given;
	struct hello_words hello;
	bool is_kept_waiting; /* a limit is reached: it is not accepted yet */
	const struct backend *backend;
};

/* The last step. A client that is kept waiting meets it later. */
__attribute__((format(printf, 3, 4))) static void end(const struct walker *w, const char *outcome,
						       const char *fmt, ...)
{
	char text[RESULT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* names are short; what is cut does not mislead */
	va_end(ap);
	if (w->is_kept_waiting)
		steps_end(w->c, "backlog", "the client waits in the kernel's queue to be accepted; as things "
			  "are now, then: %s", text);
	else
		steps_end(w->c, outcome, "%s", text);
}

/* ---- who may come in ---- */

/* Does the client connect to another port? A transparent listener takes any, and a PROXY header may name
 * any. */
static bool is_other_port(const struct walker *w)
{
	return w->port_given && !w->ep->config->transparent &&
	       w->ep->config->accept_proxy == CONFIG_ACCEPT_PROXY_OFF && addr_port(&w->ep->addr) != w->port;
}

static bool explain_listener(const struct walker *w)
{
	char text[ADDR_TEXT_MAX];

	if (w->ep == NULL) {
		end(w, "refused", "'%s' has no address: no client can come in", w->rules->name);
		return false;
	}
	(void)addr_format(&w->ep->addr, text);
	if (daemon_state_is_end(w->c->ctx->state)) {
		end(w, "refused", "the daemon is %s and takes no new clients",
		    daemon_state_word(w->c->ctx->state));
		return false;
	}
	if (w->fe->admin != FRONTEND_ADMIN_READY) {
		if (w->fe->admin == FRONTEND_ADMIN_SHUT)
			end(w, "refused", "frontend %s is shut down", w->rules->name);
		else
			end(w, "refused", "frontend %s is disabled; 'enable frontend %s' brings it back",
			    w->rules->name, w->rules->name);
		return false;
	}
	if (w->ep->stage != ENDPOINT_OPEN) {
		end(w, "refused", "%s does not listen at %s now%s", w->rules->name, text,
		    w->fe->is_away ? ": no server of it is up" : "");
		return false;
	}
	if (is_other_port(w)) {
		end(w, "refused", "%s listens at %s, not at port %u", w->rules->name, text, w->port);
		return false;
	}
	if (!explain_has_address(w->ep, &w->to)) {
		end(w, "refused", "%s listens at %s, not at the address in 'dst'", w->rules->name, text);
		return false;
	}
	steps_add(w->c, "listener", "%s listens at %s", w->rules->name, text);
	return true;
}

static void explain_rate(struct walker *w, struct rate *r, const char *whose)
{
	const uint32_t limit = rate_limit(r);
	const bool has_room = limit == 0 || rate_has_room(r, clock_mono_ns());

	if (limit == 0)
		return;
	steps_add(w->c, "rate-limit", "%u per second for clients of %s%s", limit, whose,
		  has_room ? "" : ": reached");
	w->is_kept_waiting |= !has_room;
}

/* Nothing is accepted while a limit is reached: the client waits, connected by the kernel. */
static void explain_room(struct walker *w)
{
	struct engine *e = w->c->ctx->engine;
	const int process = (int)atomic_load_explicit(&e->settings.maxconn, memory_order_relaxed);
	const int all = atomic_load_explicit(&e->sessions, memory_order_relaxed);
	const int limit = (int)frontend_limit(w->fe);
	const int own = atomic_load_explicit(&w->fe->sessions, memory_order_relaxed);

	w->is_kept_waiting = atomic_load(&e->is_accept_paused);
	if (w->is_kept_waiting)
		steps_add(w->c, "memory", "memory is short: no client is accepted");
	if (all >= process)
		steps_add(w->c, "maxconn", "%d of %d sessions of the process: reached", all, process);
	steps_add(w->c, "maxconn", "%d of %d sessions of %s%s", own, limit, w->rules->name,
		  own >= limit ? ": reached" : "");
	w->is_kept_waiting |= all >= process || own >= limit;
	explain_rate(w, &w->fe->rate, w->rules->name);
	explain_rate(w, &e->rate, "the process");
}

static void explain_header(const struct walker *w)
{
	switch (w->ep->config->accept_proxy) {
	case CONFIG_ACCEPT_PROXY_OFF:
		return;
	case CONFIG_ACCEPT_PROXY_ALWAYS:
		steps_add(w->c, "accept-proxy", "a PROXY header must come first; 'client' is taken for the "
			  "address in it");
		break;
	case CONFIG_ACCEPT_PROXY_OPTIONAL:
		steps_add(w->c, "accept-proxy", "a PROXY header may come first; 'client' is taken for the "
			  "address in it, or for the peer's own");
		break;
	}
	if (w->rules->trusted != NULL)
		steps_add(w->c, "trusted", "as a peer of its own, this address may%s send a header",
			  rules_trust(w->rules, &w->client) ? "" : " not");
}

static bool explain_rules(const struct walker *w)
{
	const bool by_unix = addr_is_unix(&w->ep->addr);

	switch (rules_judge(w->rules, by_unix, &w->client)) {
	case RULES_PASS:
		break;
	case RULES_DENIED:
		end(w, "denied", "'deny-from' of %s contains the address", w->rules->name);
		return false;
	case RULES_NOT_ALLOWED:
		end(w, "denied", "'allow-from' of %s does not contain the address", w->rules->name);
		return false;
	}
	if (w->rules->deny != NULL)
		steps_add(w->c, "deny-from", "does not contain the address");
	if (w->rules->allow != NULL)
		steps_add(w->c, "allow-from", "contains the address");
	if (by_unix && w->rules->allow_uid_count > 0)
		steps_add(w->c, "allow-uid", "lets in only users that it lists");
	return true;
}

static bool explain_source(const struct walker *w)
{
	char why[RESULT_MAX];

	if (source_steps_explain(w->c, w->fe, &w->client, why, sizeof(why)))
		return true;
	end(w, "denied", "%s", why);
	return false;
}

/* ---- where it goes ---- */

/* False if the client is closed because it does not speak TLS. */
static bool explain_hello(const struct walker *w)
{
	if (hello_words_explain(&w->hello, w->c, w->rules, w->ep))
		return true;
	end(w, "denied", "the client sends no TLS hello, which %s requires; with one, write sni=NAME",
	    w->rules->name);
	return false;
}

/* False if no rule takes the client, and there is no default. */
static bool explain_routes(struct walker *w)
{
	const struct frontend_settings *front = w->fe->settings;
	const struct rules_hello hello = hello_words_known(&w->hello, w->rules, w->ep);
	const size_t taken = rules_route(w->rules, &w->client, w->port, &hello);

	for (size_t i = 0; i <= taken && i < w->rules->route_count; i++) {
		const char *name = front->routes[i]->config->name;

		switch (rules_match(&w->rules->routes[i], &w->client, w->port, &hello)) {
		case RULES_MATCH:
			steps_add(w->c, "use-backend", "rule %zu, to %s: matches", i + 1, name);
			break;
		case RULES_MISS_PORT:
			steps_add(w->c, "use-backend", "rule %zu, to %s: not this port (%u)", i + 1, name,
				  w->port);
			break;
		case RULES_MISS_SRC:
			steps_add(w->c, "use-backend", "rule %zu, to %s: 'src' does not contain the address",
				  i + 1, name);
			break;
		case RULES_MISS_SNI:
			steps_add(w->c, "use-backend", "rule %zu, to %s: 'sni' does not cover the name",
				  i + 1, name);
			break;
		case RULES_MISS_ALPN:
			steps_add(w->c, "use-backend", "rule %zu, to %s: the client offers no protocol of "
				  "'alpn'", i + 1, name);
			break;
		case RULES_MISS_PROTO:
			steps_add(w->c, "use-backend", "rule %zu, to %s: the client does not speak what "
				  "'proto' lists", i + 1, name);
			break;
		}
	}
	if (taken == w->rules->route_count && w->rules->routes_only) {
		end(w, "no_route", "no rule matches, and %s has no default-backend: the client is %s",
		    w->rules->name,
		    w->rules->no_server == CONFIG_NO_SERVER_RESET ? "reset (no-server = reset)" : "closed");
		return false;
	}
	w->backend = taken < w->rules->route_count ? front->routes[taken] : front->backend;
	if (w->rules->route_count > 0 && taken == w->rules->route_count)
		steps_add(w->c, "use-backend", "no rule matches: the backend of %s", w->rules->name);
	return true;
}

static void end_queue_full(const struct walker *w)
{
	end(w, "queue_full", "the queue of %s is full: the client is reset (maxqueue)",
	    w->backend->config->name);
}

static void end_without_server(const struct walker *w)
{
	const char *name = w->backend->config->name;

	switch (w->rules->no_server) {
	case CONFIG_NO_SERVER_CLOSE:
		end(w, "no_server", "no server of %s is usable: the client is closed "
		    "(no-server = close)", name);
		break;
	case CONFIG_NO_SERVER_RESET:
		end(w, "no_server", "no server of %s is usable: the client is reset "
		    "(no-server = reset)", name);
		break;
	case CONFIG_NO_SERVER_QUEUE:
		if (queue_has_room(w->backend, NULL))
			end(w, "queue", "no server of %s is usable: the client waits for one "
			    "(no-server = queue)", name);
		else
			end_queue_full(w);
		break;
	}
}

/* Of a server sni@ the name decides; where that leads is known only when it is looked up. */
static void end_at_server(const struct walker *w, const struct server *s)
{
	const struct rules_hello hello = hello_words_known(&w->hello, w->rules, w->ep);
	const char *why = explain_name(s, &hello);

	if (why != NULL)
		end(w, "denied", "the client is closed: %s", why);
	else
		end(w, "server", "the client goes to %s/%s", w->backend->config->name, s->config->name);
}

static void end_with(const struct walker *w, const struct preview *p)
{
	const char *name = w->backend->config->name;

	if (p->pick == PICK_NONE)
		end_without_server(w);
	else if (p->refused)
		end_queue_full(w);
	else if (p->pick == PICK_SERVER && p->server != NULL)
		end_at_server(w, p->server);
	else if (p->pick == PICK_SERVER)
		end(w, "server", "the client goes to one of %zu servers of %s", p->candidates, name);
	else if (p->server != NULL)
		end(w, "queue", "the client waits in the queue of %s/%s", name,
		    p->server->config->name);
	else
		end(w, "queue", "the client waits in the queue of %s%s", name,
		    p->behind ? ", behind others" : ": all servers are full");
}

/* Why a backend without servers has none, as far as that can be said of all of them. */
static const char *why_none(const struct backend *b)
{
	size_t out = 0;

	for (size_t i = 0; i < b->server_count; i++)
		out += server_admin_now(b->servers[i]) != SERVER_ADMIN_READY;
	if (b->server_count == 0)
		return "it has no server";
	return out == b->server_count ? "all its servers are taken out" : "no server of it is up";
}

/* A client goes past backends without servers that have a fallback. */
static void explain_fallbacks(struct walker *w)
{
	const bool keeps = preview_stuck(w->backend, &w->client, &w->to) != NULL;
	const struct backend *to = keeps ? w->backend : backend_serving(w->backend);

	for (unsigned n = 0; w->backend != to && n < CONFIG_FALLBACK_MAX; n++) {
		const struct backend *next = backend_fallback(w->backend);

		steps_add(w->c, "fallback-backend", "%s: %s (of %zu): the client goes to %s",
			  w->backend->config->name, why_none(w->backend), w->backend->server_count,
			  next->config->name);
		w->backend = next;
	}
}

static void explain_backend(const struct walker *w)
{
	const struct backend *b = w->backend;
	struct preview p = preview_of(b, &w->client, &w->to), next = p;
	char algorithm[OPTION_WORD_MAX];

	steps_add(w->c, "backend", "%s, balance = %s, servers: %zu, clients queued: %d", b->config->name,
		  admin_algorithm(b, algorithm), b->server_count,
		  atomic_load_explicit(&b->queue.waiting, memory_order_relaxed));
	explain_sticky(w->c, &p, &w->to);
	for (size_t i = 0; i < b->server_count; i++)
		explain_server(w->c, b->servers[i], preview_next(&next, b->servers[i]));
	end_with(w, &p);
}

static void explain(struct walker *w)
{
	steps_begin(w->c);
	if (explain_listener(w)) {
		w->to = explain_destination(w->ep, &w->to);
		explain_room(w);
		explain_header(w);
		if (explain_rules(w) && explain_source(w) && explain_hello(w) && explain_routes(w)) {
			explain_fallbacks(w);
			explain_backend(w);
		}
	}
	steps_close(w->c);
}

/* ---- the question ---- */

static bool is_bound_to(const struct endpoint *ep, const char *word)
{
	char text[ADDR_TEXT_MAX];

	return strcmp(addr_format(&ep->addr, text), word) == 0;
}

/* The frontend with that name, or the one that is bound to that address. */
static bool find_listener(struct walker *w, const char *word)
{
	const struct engine *e = w->c->ctx->engine;
	char shown[WORD_MAX];

	w->fe = entries_find(&e->entries, word);
	if (w->fe != NULL)
		return true;
	entries_foreach_frontend(&e->entries, fe) {
		frontend_foreach_endpoint(fe, ep) {
			if (endpoint_belongs(ep) && is_bound_to(ep, word)) {
				w->fe = fe;
				w->ep = ep;
				return true;
			}
		}
	}
	log_escape(word, strlen(word), shown, sizeof(shown));
	admin_refuse(w->c, NULL, "no frontend '%s', and none listens at such an address; see 'show stat -1 "
		     "1 -1'", shown);
	return false;
}

/* The endpoint with the port that was given, or else a transparent one; otherwise the first. */
static void choose_endpoint(struct walker *w)
{
	if (w->ep != NULL)
		return; /* it was named by its address */
	frontend_foreach_endpoint(w->fe, ep) {
		if (!endpoint_belongs(ep))
			continue;
		if (w->port_given && addr_port(&ep->addr) == w->port) {
			w->ep = ep;
			return;
		}
		if (w->ep == NULL ||
		    (w->port_given && ep->config->transparent && !w->ep->config->transparent))
			w->ep = ep;
	}
}

/* False if the word was refused. */
static bool read_word(struct walker *w, const char *word, const char **listener, const char **client)
{
	char shown[WORD_MAX];

	if (strncmp(word, "listener=", 9) == 0) {
		*listener = word + 9;
		return true;
	}
	if (strncmp(word, "client=", 7) == 0) {
		*client = word + 7;
		return explain_read_client(w->c, *client, &w->client);
	}
	if (strncmp(word, "dst=", 4) == 0)
		return explain_read_destination(w->c, word + 4, &w->to);
	if (strncmp(word, "port=", 5) == 0) {
		w->port_given = true;
		return explain_read_port(w->c, word + 5, &w->port);
	}
	if (strncmp(word, "sni=", 4) == 0)
		return hello_words_read_name(&w->hello, w->c, word + 4);
	if (strncmp(word, "alpn=", 5) == 0) {
		hello_words_read_protocol(&w->hello, word + 5);
		return true;
	}
	if (strncmp(word, "proto=", 6) == 0)
		return hello_words_read_proto(&w->hello, w->c, word + 6);
	log_escape(word, strlen(word), shown, sizeof(shown));
	admin_refuse(w->c, NULL, "'%s' is none of listener=, client=, dst=, port=, sni=, alpn=, proto=",
		     shown);
	return false;
}

void admin_explain(const struct admin_call *c)
{
	const char *listener = NULL, *client = NULL;
	struct walker w = {.c = c};

	for (unsigned i = 0; i < c->arg_count; i++)
		if (!read_word(&w, c->args[i], &listener, &client))
			return;
	if (listener == NULL || client == NULL) {
		admin_refuse(c, NULL, "'%s' is missing; write explain listener=NAME client=ADDRESS",
			     listener == NULL ? "listener=" : "client=");
		return;
	}
	if (!find_listener(&w, listener))
		return;
	choose_endpoint(&w);
	if (!w.port_given && w.ep != NULL)
		w.port = addr_port(&w.ep->addr);
	w.rules = w.fe->settings->config;
	explain(&w);
}
