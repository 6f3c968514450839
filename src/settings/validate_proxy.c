/* SPDX-License-Identifier: MIT
 *
 * validate_proxy.c - warns about PROXY headers that anybody may send, and about options that would believe
 * them.
 *
 * Warns once per frontend, and names each option that relies on the content of a header: addresses, ports,
 * TLVs. Unix sockets are exempt: their mode and allow-uid determine who may connect. Logging alone is no
 * reason to warn. Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "build.h"
#include "setting.h"

/* The sentence being built: "'deny-from' (line 4), 'send-proxy' (line 9 and 2 more)". */
struct believers {
	struct build *b; /* borrows */
	struct at at;    /* place of the warning: lines in the same file need no file name */
	const char *text;
	bool passes; /* a server gets TLVs from clients */
	/* The option being added: all of one kind come in a row. */
	const char *key;
	struct config_place first;
	unsigned count;
};

/* Adds the counted lines to the sentence. */
static void flush(struct believers *all)
{
	struct arena *a = all->b->diag->arena;
	const char *file = "", *more = "";

	if (all->count == 0)
		return;
	if (strcmp(all->first.file, all->at.source->name) != 0)
		file = arena_printf(a, " of %s", all->first.file);
	if (all->count > 1)
		more = arena_printf(a, " and %u more", all->count - 1);
	all->text = arena_printf(a, "%s%s'%s' (line %u%s%s)", all->text, all->text[0] != '\0' ? ", " : "",
				 all->key, all->first.line, file, more);
	all->count = 0;
}

static void add_believer(struct believers *all, const char *key, struct config_place place)
{
	if (all->count > 0 && strcmp(all->key, key) != 0)
		flush(all);
	if (all->count++ > 0)
		return;
	all->key = key;
	all->first = place;
}

/* The line that gave `p` this option: its own, or one of [defaults]. */
static void add_option(struct believers *all, const struct proxy *p, const char *key)
{
	const struct option *o = option_find(p->section->kind, key).option;
	const struct config_origins *d = &all->b->defaults_origins;
	const struct entry *own;

	check(o != NULL);
	own = p->from[o - options];
	if (own != NULL) {
		add_believer(all, key, build_place(own->key_at));
		return;
	}
	for (size_t i = 0; i < d->count; i++)
		if (d->list[i].option == (size_t)(o - options))
			add_believer(all, key, d->list[i].place);
}

/* ---- options that believe a header ---- */

static void look_at_servers(struct believers *all, const struct proxy *back)
{
	for (size_t i = 0; i < back->server_count; i++)
		if (back->servers[i].source.client)
			add_believer(all, "source=client", back->servers[i].place);
	for (size_t i = 0; i < back->server_count; i++)
		if (back->servers[i].send_proxy != CONFIG_SEND_PROXY_OFF)
			add_believer(all, "send-proxy", back->servers[i].place);
	for (size_t i = 0; i < back->server_count; i++) {
		if (back->servers[i].send_proxy != CONFIG_SEND_PROXY_V2 || !back->servers[i].proxy_pass)
			continue;
		add_believer(all, "proxy-v2-options=pass", back->servers[i].place);
		all->passes = true;
	}
}

static void look_at_backend(struct believers *all, const struct proxy *back)
{
	const enum config_balance how = back->set.balance.algorithm;

	if (how == CONFIG_BALANCE_SOURCE || how == CONFIG_BALANCE_MAGLEV)
		add_option(all, back, "balance");
	look_at_servers(all, back);
}

/* Each backend once, with the fallbacks behind it. */
static void look_at_backends(struct believers *all, const struct proxy *p)
{
	const struct proxy *back = p->target;

	for (unsigned n = 0; back != NULL && n <= CONFIG_FALLBACK_MAX; n++, back = back->fallback)
		look_at_backend(all, back);
	for (size_t i = 0; i < p->route_count; i++) {
		back = p->routes[i].target;
		for (unsigned n = 0; back != NULL && n <= CONFIG_FALLBACK_MAX; n++, back = back->fallback)
			if (!build_leads_to(p, i, back))
				look_at_backend(all, back);
	}
}

static void look_at_frontend(struct believers *all, const struct proxy *p)
{
	if (config_has_networks(&p->set.allow))
		add_option(all, p, "allow-from");
	if (config_has_networks(&p->set.deny))
		add_option(all, p, "deny-from");
	if (p->set.maxconn_per_source > 0)
		add_option(all, p, "maxconn-per-source");
	if (p->set.source_rate.count > 0)
		add_option(all, p, "rate-limit-per-source");
	if (config_has_networks(&p->set.exempt))
		add_option(all, p, "limit-exempt");
	for (size_t i = 0; i < p->route_count; i++)
		if (config_has_networks(&p->routes[i].route.src) || p->routes[i].route.ports.count > 0)
			add_believer(all, "use-backend", p->routes[i].place);
}

/* ---- clients that are believed ---- */

/* The first bind line where anybody may send a header; NULL = none. An inherited socket may be TCP. */
static const struct word *find_open_bind(const struct build *b, const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++)
		if (p->binds[i].accept_proxy == CONFIG_ACCEPT_PROXY_ALWAYS &&
		    p->binds[i].addr.kind != ADDR_UNIX)
			return setting_find_word(b->diag->arena, &p->bind_words[i], IN_BIND, "accept-proxy");
	return NULL;
}

/* Is there a `trusted` line, even a wrong or misspelt one? An unknown line may be meant as one. */
static bool names_trusted(const struct proxy *p)
{
	const unsigned kind = p->section->kind;

	if ((p->section->bad & SECTION_BAD_LINE) == SECTION_BAD_LINE)
		return true;
	for (const struct entry *e = p->section->first; e != NULL; e = e->next) {
		const struct option *o = option_find(kind, e->key).option;

		if (o == NULL)
			o = option_suggest(kind, e->key);
		if (o != NULL && strcmp(o->key, "trusted") == 0)
			return true;
	}
	return config_has_networks(&p->set.trusted);
}

void build_validate_trust(struct build *b, const struct proxy *p)
{
	const struct word *w = names_trusted(p) ? NULL : find_open_bind(b, p);
	struct believers all = {.b = b, .text = ""};

	if (w == NULL)
		return;
	all.at = w->at;
	look_at_frontend(&all, p);
	look_at_backends(&all, p);
	flush(&all);
	if (all.text[0] == '\0')
		return;
	diag_warning(b->diag, DIAG_MISSING, w->at,
		     "'accept-proxy' without 'trusted': any client can forge its header, and these rely on "
		     "it: %s",
		     all.text);
	diag_hint(b->diag, "add a line such as: trusted = 10.0.0.0/8 (the addresses of the load balancer)%s",
		  all.passes ? "; without it no TLVs are passed on" : "");
}
