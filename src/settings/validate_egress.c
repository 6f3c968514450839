/* SPDX-License-Identifier: MIT
 *
 * validate_egress.c - validates servers that are where clients ask to go (sni@): what can go with them, and
 * the frontends that lead there.
 *
 * The client chooses such a server, so nothing that weighs, checks or remembers servers has a meaning for it.
 * Main thread.
 */
#include "build.h"

static const struct config_server *find_sni(const struct proxy *p, size_t *at)
{
	for (size_t i = 0; i < p->server_count; i++) {
		if (p->servers[i].addr.kind != ADDR_SNI)
			continue;
		*at = i;
		return &p->servers[i];
	}
	return NULL;
}

static bool is_egress(const struct proxy *p)
{
	size_t at;

	return p != NULL && build_is_backend(p) && find_sni(p, &at) != NULL;
}

/* The section's own line of this option; else, as for what [defaults] set, `at`. */
static struct at line_at(const struct proxy *p, const char *key, struct at at)
{
	const struct entry *line = build_line_of(p, key);

	return line != NULL ? line->key_at : at;
}

static void refuse(struct build *b, struct at at, const char *what, const char *why)
{
	diag_error(b->diag, DIAG_CONFLICT, at, "%s cannot go with a server sni@", what);
	diag_hint(b->diag, "%s", why);
}

/* ---- words and lines ---- */

static void validate_words(struct build *b, const struct proxy *p, size_t i)
{
	const struct config_server *s = &p->servers[i];
	const struct at at = p->server_at[i];

	if (s->check)
		refuse(b, at, "a health check", "there is no server to check before a client names it: leave "
					       "'check' out, or write check=off");
	if (s->check_agent.port != 0)
		refuse(b, at, "check-agent",
		       "there is no server to ask before a client names it: leave it out");
	if (s->source.client)
		refuse(b, at, "source=client", "list local addresses, or leave 'source' out");
	if (s->backup)
		refuse(b, at, "'backup'", "it is the only server of its section: leave it out");
	if (s->send_proxy != CONFIG_SEND_PROXY_OFF)
		refuse(b, at, "send-proxy", "any server of the Internet would be told the client's address: "
					    "leave it out, or write send-proxy=off");
	if (s->slowstart_ns > 0)
		refuse(b, at, "slowstart", "such a server never comes up: leave it out");
}

static void validate_lines(struct build *b, const struct proxy *p, struct at at)
{
	const enum config_balance how = p->set.balance.algorithm;

	if (how == CONFIG_BALANCE_SOURCE || how == CONFIG_BALANCE_MAGLEV)
		refuse(b, line_at(p, "balance", at), "hashing",
		       "the client chooses the server: leave 'balance' out");
	if (p->set.sticky.by != CONFIG_STICKY_OFF)
		refuse(b, line_at(p, "sticky", at), "'sticky'",
		       "the client chooses the server: leave 'sticky' out");
	if (p->set.observe.what != CONFIG_OBSERVE_OFF)
		refuse(b, line_at(p, "observe", at), "'observe'",
		       "a client that asks for a dead server would take it out for all: leave it out");
	if (p->fallback != NULL)
		refuse(b, line_at(p, "fallback-backend", at), "'fallback-backend'",
		       "such a server is always up: leave it out");
	if (p->server_count > 1)
		refuse(b, at, "another server",
		       "give the other servers a backend of their own, and choose it by use-backend lines");
}

static bool covers_all(const struct config_networks *n)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->list[i].bits == 0)
			return true;
	return false;
}

static void validate_lists(struct build *b, const struct proxy *p, struct at at)
{
	const struct config_names *names = &p->set.allow_sni;

	if (!names->any && !config_lists_names(names) && (p->section->bad & SECTION_BAD_NAMES) == 0) {
		diag_error(b->diag, DIAG_MISSING, at,
			   "a server sni@ without 'allow-sni': clients could ask for any name");
		diag_hint(b->diag, "add a line such as: allow-sni = .example.com");
	}
	if (names->any) {
		diag_warning(b->diag, DIAG_CONFLICT, line_at(p, "allow-sni", at),
			     "'allow-sni = *' lets clients ask for any name: weir is an open proxy for those "
			     "who reach it");
		diag_hint(b->diag, "list the names, or at least limit who may connect with 'allow-from'");
	}
	if (covers_all(&p->set.allow_to)) {
		diag_warning(b->diag, DIAG_CONFLICT, line_at(p, "allow-to", at),
			     "'allow-to' has every address: names may lead to this machine and to all "
			     "private networks");
		diag_hint(b->diag, "list the networks that clients need");
	}
}

/* ---- who leads there ---- */

static void validate_front(struct build *b, const struct proxy *front, const struct proxy *back, struct at at)
{
	const char *name = front->section->name;

	if (!is_egress(back))
		return;
	if (!config_sniffs_tls(&front->set.sniff) && front->section->bad == 0) {
		diag_error(b->diag, DIAG_MISSING, at,
			   "'%s' does not read which name TLS clients ask for, and a server of '%s' needs it "
			   "(sni@)", name, back->section->name);
		diag_hint(b->diag, "add a line to '%s': sniff = tls", name);
	}
	if (front->set.maxconn_per_source == 0 && (front->section->bad & SECTION_BAD_SOURCE) == 0) {
		diag_warning(b->diag, DIAG_CONFLICT, at,
			     "'%s' has no 'maxconn-per-source': one client can use up the connections to "
			     "where clients ask to go (sni@)", name);
		diag_hint(b->diag, "add a line to '%s' such as: maxconn-per-source = 64", name);
	}
}

static void validate_fronts(struct build *b, const struct proxy *p)
{
	const struct at header = p->section->at;

	if (p->target != NULL && !p->routes_only)
		validate_front(b, p, p->target, p->target == p ? header : p->backend_at);
	for (size_t i = 0; i < p->route_count; i++)
		validate_front(b, p, p->routes[i].target, p->routes[i].at);
}

static void warn_without(struct build *b, const struct proxy *p, const char *key)
{
	const struct entry *line = build_line_of(p, key);

	if (line == NULL || (p->section->bad & SECTION_BAD_SERVER) != 0)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, line->key_at,
		     "'%s' has no effect: no server is where clients ask to go", key);
	diag_hint(b->diag, "write for example: server any = sni@443");
}

void build_validate_egress(struct build *b, const struct proxy *p)
{
	size_t i = 0;
	const bool is_back = build_is_backend(p);
	const struct config_server *s = is_back ? find_sni(p, &i) : NULL;

	if (s != NULL) {
		validate_words(b, p, i);
		validate_lines(b, p, p->server_at[i]);
		validate_lists(b, p, p->server_at[i]);
	} else if (p->section->kind != IN_FRONTEND) {
		warn_without(b, p, "allow-sni");
		warn_without(b, p, "allow-to");
	}
	if (is_back && is_egress(p->fallback))
		refuse(b, line_at(p, "fallback-backend", p->section->at), "being a fallback",
		       "send clients to it by 'default-backend' or 'use-backend'");
	if (p->section->kind != IN_BACKEND)
		validate_fronts(b, p);
}
