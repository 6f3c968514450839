/* SPDX-License-Identifier: MIT
 *
 * validate_routes.c - warns about use-backend lines that never match, and names that never match on them.
 *
 * Lines are tried in order, so an earlier line takes the clients of a later one that it covers, however
 * specific the later one is. Finds what single earlier lines cover. Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/host_pattern.h"
#include "weir/net/host_set.h"
#include "weir/net/list_file.h"
#include "build.h"

/* The lines of one frontend. */
struct reader {
	struct build *b;
	const struct proxy *proxy;
	struct host_pattern **patterns; /* per line: its names */
};

/* ---- does each client that meets `narrow` meet `wide`? ---- */

static bool prefix_covers(const struct net_prefix *wide, const struct net_prefix *narrow)
{
	const unsigned bytes = wide->bits / 8, bits = wide->bits % 8;

	if (wide->family != narrow->family || wide->bits > narrow->bits ||
	    memcmp(wide->ip, narrow->ip, bytes) != 0)
		return false;
	return bits == 0 || (wide->ip[bytes] ^ narrow->ip[bytes]) >> (8 - bits) == 0;
}

/* Does each file of `narrow` occur in `wide`? Files are not compared entry by entry. */
static bool covers_files(const struct config_list *wide, size_t wide_count, const struct config_list *narrow,
			 size_t narrow_count)
{
	for (size_t i = 0; i < narrow_count; i++) {
		bool found = false;

		for (size_t k = 0; k < wide_count && !found; k++)
			found = wide[k].list == narrow[i].list;
		if (!found)
			return false;
	}
	return true;
}

static bool covers_sources(const struct config_networks *wide, const struct config_networks *narrow)
{
	const bool asks = config_has_networks(wide);

	for (size_t i = 0; i < narrow->count; i++) {
		bool found = false;

		for (size_t k = 0; k < wide->count && !found; k++)
			found = prefix_covers(&wide->list[k], &narrow->list[i]);
		if (!found && asks)
			return false;
	}
	return !asks || (config_has_networks(narrow) &&
			 covers_files(wide->files, wide->file_count, narrow->files, narrow->file_count));
}

static bool covers_ports(const struct route_ports *wide, const struct route_ports *narrow)
{
	for (size_t i = 0; i < narrow->count; i++) {
		bool found = false;

		for (size_t k = 0; k < wide->count && !found; k++)
			found = wide->list[k].first <= narrow->list[i].first &&
				wide->list[k].last >= narrow->list[i].last;
		if (!found && wide->count > 0)
			return false;
	}
	return wide->count == 0 || narrow->count > 0;
}

static bool covers_protocols(const struct route_protocols *wide, const struct route_protocols *narrow)
{
	for (size_t i = 0; i < narrow->count; i++) {
		bool found = false;

		for (size_t k = 0; k < wide->count && !found; k++)
			found = strcmp(wide->list[k].text, narrow->list[i].text) == 0;
		if (!found && wide->count > 0)
			return false;
	}
	return wide->count == 0 || narrow->count > 0;
}

static bool has_names(const struct config_names *n)
{
	return n->any || n->none || config_lists_names(n);
}

/* What the names of a line cover of one name: a word for a message; NULL = nothing. */
static const char *covers_name(const struct reader *r, size_t wide, const struct host_pattern *name)
{
	const struct config_names *names = &r->proxy->routes[wide].route.sni;

	for (size_t i = 0; i < names->count; i++)
		if (host_pattern_covers(&r->patterns[wide][i], name))
			return names->list[i].text;
	for (size_t i = 0; i < names->file_count; i++) {
		struct host_pattern found;

		if (host_set_covers(list_file_names(names->files[i].list), name, &found))
			return arena_printf(r->b->diag->arena, "@%s", names->files[i].name);
	}
	return names->any ? "any" : NULL;
}

static bool covers_names(const struct reader *r, size_t wide, size_t narrow)
{
	const struct config_names *w = &r->proxy->routes[wide].route.sni;
	const struct config_names *n = &r->proxy->routes[narrow].route.sni;
	bool all = has_names(n) && (!n->any || w->any) && (!n->none || w->none);

	for (size_t i = 0; all && i < n->count; i++)
		all = covers_name(r, wide, &r->patterns[narrow][i]) != NULL;
	all = all && (w->any || covers_files(w->files, w->file_count, n->files, n->file_count));
	return all || !has_names(w);
}

/* Who names a server, or offers a protocol, speaks TLS. */
static bool covers_protos(unsigned wide, const struct route *narrow)
{
	unsigned protos = narrow->protos;

	if (has_names(&narrow->sni) || narrow->alpn.count > 0)
		protos = CONFIG_PROTO_TLS;
	return wide == 0 || (protos != 0 && (protos & ~wide) == 0);
}

/* Apart from names. */
static bool covers_rest(const struct reader *r, size_t wide, size_t narrow)
{
	const struct route *w = &r->proxy->routes[wide].route, *n = &r->proxy->routes[narrow].route;

	return covers_sources(&w->src, &n->src) && covers_ports(&w->ports, &n->ports) &&
	       covers_protocols(&w->alpn, &n->alpn) && covers_protos(w->protos, n);
}

/* ---- lines ---- */

/* The first line that takes all clients of line `n`; NULL = none. */
static const struct route_line *find_line(const struct reader *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (covers_rest(r, i, n) && covers_names(r, i, n))
			return &r->proxy->routes[i];
	return NULL;
}

/* The first line that takes the clients of line `n` that name this server, by one of its names. */
static const struct route_line *find_name(const struct reader *r, size_t n,
					  const struct host_pattern *name, const char **by)
{
	for (size_t i = 0; i < n; i++) {
		*by = covers_rest(r, i, n) ? covers_name(r, i, name) : NULL;
		if (*by != NULL)
			return &r->proxy->routes[i];
	}
	return NULL;
}

static void warn_line(struct build *b, const struct route_line *line, const struct route_line *first)
{
	const char *where = diag_where(b->diag, line->at, first->at);

	diag_warning(b->diag, DIAG_NO_EFFECT, line->at,
		     "this line never matches: 'use-backend %s' on %s takes all its clients", first->name,
		     where);
	diag_hint(b->diag,
		  "lines are tried in order, however specific: move it above that line, or remove it");
}

static void warn_name(struct build *b, const struct route_line *line, const char *name,
		      const struct route_line *first, const char *by)
{
	const char *where = diag_where(b->diag, line->at, first->at);

	diag_warning(b->diag, DIAG_NO_EFFECT, line->at, "'%s' never matches here: '%s' on %s covers it",
		     name, by, where);
	diag_hint(b->diag, "lines are tried in order, however specific: move this line above that one");
}

static void validate_names(const struct reader *r, size_t n)
{
	const struct route_line *line = &r->proxy->routes[n];

	for (size_t i = 0; i < line->route.sni.count; i++) {
		const char *by = NULL;
		const struct route_line *first = find_name(r, n, &r->patterns[n][i], &by);

		if (first != NULL)
			warn_name(r->b, line, line->route.sni.list[i].text, first, by);
	}
}

/* ---- where names come from ---- */

/* May the TLVs of a PROXY header count? An inherited socket may be a Unix socket. */
static bool trusts_headers(const struct proxy *p)
{
	for (size_t i = 0; i < p->bind_count; i++)
		if (p->binds[i].accept_proxy != CONFIG_ACCEPT_PROXY_OFF &&
		    (config_has_networks(&p->set.trusted) || p->binds[i].addr.kind == ADDR_UNIX ||
		     p->binds[i].addr.kind == ADDR_FD))
			return true;
	return false;
}

/* Can the frontend know what this line asks for? `sni=none` is about a hello. */
static bool can_know(const struct proxy *p, const struct route *route)
{
	const bool asks = has_names(&route->sni) || route->alpn.count > 0;
	const bool only_hello = route->sni.none && !route->sni.any && !config_lists_names(&route->sni);

	/* A failed line may have been the missing one. */
	return !asks || config_sniffs_tls(&p->set.sniff) || p->section->bad != 0 ||
	       (!only_hello && trusts_headers(p));
}

/* Does it ask for an entry of files that have none? */
static bool is_empty(const struct route *route)
{
	const struct config_networks *src = &route->src;
	const struct config_names *sni = &route->sni;
	bool no_src = src->count == 0 && src->file_count > 0;
	bool no_name = sni->count == 0 && sni->file_count > 0 && !sni->any && !sni->none;

	for (size_t i = 0; i < src->file_count; i++)
		no_src = no_src && list_file_count(src->files[i].list) == 0;
	for (size_t i = 0; i < sni->file_count; i++)
		no_name = no_name && list_file_count(sni->files[i].list) == 0;
	return no_src || no_name;
}

static void validate_line(const struct reader *r, size_t n)
{
	const struct route_line *line = &r->proxy->routes[n];
	const struct config_names *names = &line->route.sni;
	const struct route_line *first = find_line(r, n);

	if (is_empty(&line->route)) {
		diag_warning(r->b->diag, DIAG_NO_EFFECT, line->at,
			     "this line never matches for now: its file is empty");
		return;
	}
	if (line->route.protos != 0 && r->proxy->set.sniff.kind != CONFIG_SNIFF_AUTO &&
	    r->proxy->section->bad == 0) {
		diag_warning(r->b->diag, DIAG_NO_EFFECT, line->at,
			     "this line never matches: '%s' does not read what clients speak",
			     r->proxy->section->name);
		diag_hint(r->b->diag, "add a line: sniff = auto");
		return;
	}
	if (!can_know(r->proxy, &line->route)) {
		diag_warning(r->b->diag, DIAG_NO_EFFECT, line->at,
			     "this line never matches: '%s' does not read what TLS clients ask for",
			     r->proxy->section->name);
		diag_hint(r->b->diag, "add a line: sniff = tls");
		return;
	}
	/* For a single name, the name that covers it says more. */
	if (first == NULL ||
	    (names->count == 1 && names->file_count == 0 && !names->any && !names->none &&
	     has_names(&first->route.sni)))
		validate_names(r, n);
	else
		warn_line(r->b, line, first);
}

static struct host_pattern *patterns_of(struct arena *a, const struct config_names *names)
{
	struct host_pattern *list = arena_alloc(a, names->count * sizeof(*list));

	for (size_t i = 0; i < names->count; i++) {
		const char *why = NULL;
		const int err = host_pattern_parse(names->list[i].text, &list[i], &why);

		check(err == 0); /* host_pattern_format() printed it */
	}
	return list;
}

void build_validate_routes(struct build *b, const struct proxy *p)
{
	struct arena *a = b->diag->arena;
	struct reader r = {b, p, arena_alloc(a, p->route_count * sizeof(struct host_pattern *))};

	for (size_t i = 0; i < p->route_count; i++)
		r.patterns[i] = patterns_of(a, &p->routes[i].route.sni);
	for (size_t i = 0; i < p->route_count; i++)
		validate_line(&r, i);
}
