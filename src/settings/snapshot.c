/* SPDX-License-Identifier: MIT
 *
 * snapshot.c - assembles the tree that the daemon uses from the interpreted lines, and frees it.
 *
 * Everything that a snapshot points to is in an arena of its own, which it owns: nothing points into the
 * arena of the reading, and config_free() frees it in one go. Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/copy.h"
#include "weir/config/names.h"
#include "weir/net/netset.h"
#include "build.h"

static char *copy_text(struct arena *a, const char *text)
{
	return text == NULL ? NULL : arena_strndup(a, text, strlen(text));
}

static bool is_text(const struct option *o)
{
	return o->type == OPT_TEXT || o->type == OPT_USER_NAME || o->type == OPT_GROUP_NAME ||
	       o->type == OPT_BYTES_TEXT;
}

/* Copies the texts in `base` of the options of `sections`. */
static void keep_texts(struct arena *a, unsigned sections, void *base)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		char *text;

		if ((o->sections & sections) == 0 || !is_text(o))
			continue;
		check(o->offset != SIZE_MAX);
		memcpy(&text, (char *)base + o->offset, sizeof(text));
		text = copy_text(a, text);
		memcpy((char *)base + o->offset, &text, sizeof(text));
	}
}

/* The options of a section that `side` uses, with texts copied into the snapshot. */
static struct config_proxy side_of(struct arena *a, const struct proxy *p, unsigned side)
{
	struct config_proxy set = p->set;

	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if ((o->sections & IN_PROXIES) != 0 && (o->effect & side) == 0 && o->offset != SIZE_MAX)
			memset((char *)&set + o->offset, 0, o->size);
	}
	keep_texts(a, side, &set);
	return set;
}

/* A place whose file name is in the snapshot. -o arguments are not a file. */
static struct config_place place_in(const struct config *c, const char *file, unsigned line)
{
	for (size_t i = 0; i < c->file_count; i++) {
		if (strcmp(c->files[i], file) == 0)
			return (struct config_place){c->files[i], line};
	}
	return (struct config_place){"-o", line};
}

static struct config_origins copy_origins(struct arena *a, const struct config *c, struct config_origins from)
{
	struct config_origins o = {arena_alloc(a, from.count * sizeof(*o.list)), from.count};

	for (size_t i = 0; i < from.count; i++) {
		o.list[i].option = from.list[i].option;
		o.list[i].idle = from.list[i].idle;
		o.list[i].place = place_in(c, from.list[i].place.file, from.list[i].place.line);
	}
	return o;
}

static void *copy_bytes(struct arena *a, const void *from, size_t size)
{
	void *to = arena_alloc(a, size);

	if (size > 0)
		memcpy(to, from, size);
	return to;
}

/* A set that lives as long as the snapshot. */
struct set_owner {
	struct netset *set; /* owns */
};

static void release_set(void *bytes)
{
	struct set_owner *o = bytes;

	netset_free(o->set);
	o->set = NULL;
}

static struct config_list *copy_lists(struct arena *a, const struct config_list *from, size_t count)
{
	struct config_list *to = arena_alloc(a, count * sizeof(*to));

	for (size_t i = 0; i < count; i++) {
		to[i].name = copy_text(a, from[i].name);
		to[i].list = config_list_hold(a, from[i].list);
	}
	return to;
}

/* Copies the networks as written and builds the set; no set if there are none. */
static struct netset *copy_networks(struct arena *a, const struct config_networks *from,
				    struct config_networks *to)
{
	struct set_owner *o;

	*to = (struct config_networks){copy_bytes(a, from->list, from->count * sizeof(*to->list)),
				       from->count, copy_lists(a, from->files, from->file_count),
				       from->file_count};
	if (!config_has_networks(to))
		return NULL;
	o = arena_alloc_owner(a, sizeof(*o), release_set);
	o->set = config_networks_set(to);
	if (o->set == NULL)
		arena_no_memory(a);
	return o->set;
}

static struct config_text_item *copy_texts(struct arena *a, const struct config_text_item *from, size_t count)
{
	struct config_text_item *to = arena_alloc(a, count * sizeof(*to));

	for (size_t i = 0; i < count; i++)
		to[i].text = copy_text(a, from[i].text);
	return to;
}

/* Another set that lives as long as the snapshot. */
struct hosts_owner {
	struct host_set *set; /* owns */
};

static void release_hosts(void *bytes)
{
	struct hosts_owner *o = bytes;

	host_set_free(o->set);
	o->set = NULL;
}

static struct host_set *make_hosts(struct arena *a, const struct config_names *names)
{
	struct hosts_owner *o;

	if (!config_lists_names(names))
		return NULL;
	o = arena_alloc_owner(a, sizeof(*o), release_hosts);
	o->set = config_names_set(names);
	if (o->set == NULL)
		arena_no_memory(a);
	return o->set;
}

static struct config_ids copy_ids(struct arena *a, struct config_ids from)
{
	return (struct config_ids){copy_bytes(a, from.list, from.count * sizeof(*from.list)), from.count};
}

static void copy_name(char *to, const char *name)
{
	size_t len = strlen(name);

	check(len < CONFIG_NAME_MAX);
	memcpy(to, name, len + 1);
}

static struct config_auth copy_auth(struct arena *a, const struct config_auth *from)
{
	struct config_auth to = *from;

	to.file = copy_text(a, from->file);
	to.list = arena_alloc(a, from->count * sizeof(*to.list));
	for (size_t i = 0; i < from->count; i++) {
		to.list[i].name = copy_text(a, from->list[i].name);
		to.list[i].hash = copy_text(a, from->list[i].hash);
	}
	return to;
}

static void fill_global(struct arena *a, struct config *c, const struct config_global *from)
{
	struct config_global *g = &c->global;

	*g = *from;
	keep_texts(a, IN_GLOBAL, g);
	g->logs = arena_alloc(a, from->log_count * sizeof(*g->logs));
	for (size_t i = 0; i < from->log_count; i++) {
		g->logs[i] = from->logs[i];
		g->logs[i].path = copy_text(a, from->logs[i].path);
		g->logs[i].format = copy_text(a, from->logs[i].format);
		if (g->logs[i].place.line > 0)
			g->logs[i].place = place_in(c, g->logs[i].place.file, g->logs[i].place.line);
	}
	g->admin_uids = copy_ids(a, from->admin_uids);
	g->admin_gids = copy_ids(a, from->admin_gids);
	g->stats.allow = copy_networks(a, &from->stats.allow_list, &g->stats.allow_list);
	g->stats.auth = copy_auth(a, &from->stats.auth);
	g->stats.origins = copy_origins(a, c, from->stats.origins);
	g->origins = copy_origins(a, c, from->origins);
}

static void copy_check(struct arena *a, struct config_check *to, const struct config_check *from)
{
	*to = *from;
	to->method = copy_text(a, from->method);
	to->path = copy_text(a, from->path);
	to->host = copy_text(a, from->host);
	to->body = copy_text(a, from->body);
	to->user = copy_text(a, from->user);
	to->database = copy_text(a, from->database);
	to->sni = copy_text(a, from->sni);
	to->alpn = copy_text(a, from->alpn);
	to->ca_file = copy_text(a, from->ca_file);
	to->trust = config_trust_hold(a, from->trust);
	to->hello = copy_text(a, from->hello);
	to->program = copy_text(a, from->program);
	to->args = copy_texts(a, from->args, from->arg_count);
	to->exec_path = copy_text(a, from->exec_path);
	to->statuses = copy_bytes(a, from->statuses, from->status_count * sizeof(*to->statuses));
	to->steps = copy_bytes(a, from->steps, from->step_count * sizeof(*to->steps));
	for (size_t i = 0; i < to->step_count; i++)
		to->steps[i].bytes = copy_bytes(a, from->steps[i].bytes, from->steps[i].len);
}

static void fill_server(struct arena *a, const struct config *c, struct config_server *to,
			const struct config_server *from)
{
	*to = *from;
	to->source.list = copy_bytes(a, from->source.list, from->source.count * sizeof(*to->source.list));
	keep_texts(a, IN_SERVER, to);
	to->place = place_in(c, from->place.file, from->place.line);
}

static bool is_written(const struct config_origins *o, size_t option)
{
	for (size_t i = 0; i < o->count; i++) {
		if (o->list[i].option == option && !o->list[i].idle)
			return true;
	}
	return false;
}

/* The timeouts of a section, with what [global] has for sections that do not set it. */
static struct config_timeouts timeouts_of(const struct config *c, const struct proxy *p,
					  const struct config_proxy *set)
{
	const size_t on_removed = (size_t)(option_find(IN_LISTEN, "on-removed").option - options);
	struct config_timeouts t = set->timeouts;

	if (!is_written(&p->origins, on_removed) && !is_written(&c->defaults, on_removed))
		t.on_removed = c->global.on_removed;
	return t;
}

static struct config_tcp with_keepalive(struct config_tcp tcp, const struct config_tcp *of)
{
	tcp.keepalive = of->keepalive;
	tcp.keepalive_idle_s = of->keepalive_idle_s;
	tcp.keepalive_interval_s = of->keepalive_interval_s;
	tcp.keepalive_count = of->keepalive_count;
	return tcp;
}

static void fill_backend(struct arena *a, const struct config *c, struct config_backend *to,
			 const struct proxy *p)
{
	const struct config_proxy set = side_of(a, p, IN_BACKEND);

#define OPTION_BACK(type, member) to->member = set.member;
#include "weir/config/option_members.tbl.h"
	copy_name(to->name, p->section->name);
	to->balance = set.balance;
	to->timeouts = timeouts_of(c, p, &set);
	to->tcp = with_keepalive(set.tcp, &set.server_keepalive);
	to->observe = set.observe;
	to->allow_sni = set.allow_sni;
	to->allow_sni.list = copy_texts(a, set.allow_sni.list, set.allow_sni.count);
	to->allow_sni.files = copy_lists(a, set.allow_sni.files, set.allow_sni.file_count);
	to->sni_hosts = make_hosts(a, &to->allow_sni);
	to->allow_to = copy_networks(a, &set.allow_to, &to->allow_to_list);
	to->sticky = set.sticky;
	copy_check(a, &to->check, &set.check);
	to->place = place_in(c, p->section->at.source->name, p->section->at.line);
	to->origins = copy_origins(a, c, p->origins);
	to->servers = arena_alloc(a, p->server_count * sizeof(*to->servers));
	to->server_count = p->server_count;
	for (size_t i = 0; i < p->server_count; i++)
		fill_server(a, c, &to->servers[i], &p->servers[i]);
}

static void fill_access(struct arena *a, struct config_frontend *to, const struct config_proxy *set)
{
	to->allow = copy_networks(a, &set->allow, &to->allow_list);
	to->deny = copy_networks(a, &set->deny, &to->deny_list);
	to->trusted = copy_networks(a, &set->trusted, &to->trusted_list);
	to->exempt = copy_networks(a, &set->exempt, &to->exempt_list);
	to->allow_uids = copy_bytes(a, set->allow_uids.list, set->allow_uids.count * sizeof(uid_t));
	to->allow_uid_count = set->allow_uids.count;
}

static unsigned count_ports(const struct config_bind *b)
{
	return b->addr.last_port != 0 ? (unsigned)(b->addr.last_port - b->addr.port) + 1 : 1;
}

/* The bind of the `n`th port of a line. */
static void make_bind(struct config_bind *bind, const struct config_bind *line, unsigned n)
{
	const uint16_t port = (uint16_t)(line->addr.port + n);

	*bind = *line;
	if (line->addr.last_port == 0)
		return;
	bind->first_port = line->addr.port;
	bind->last_port = line->addr.last_port;
	bind->addr.last_port = 0;
	bind->addr.port = port;
	addr_set_port(&bind->addr.addr, port);
}

static void fill_binds(struct arena *a, const struct config *c, struct config_frontend *to,
		       const struct proxy *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->bind_count; i++)
		count += count_ports(&p->binds[i]);
	to->binds = arena_alloc(a, count * sizeof(*to->binds));
	for (size_t i = 0; i < p->bind_count; i++) {
		struct config_bind line = p->binds[i];

		keep_texts(a, IN_BIND, &line);
		line.place = place_in(c, line.place.file, line.place.line);
		for (unsigned n = 0; n < count_ports(&p->binds[i]); n++)
			make_bind(&to->binds[to->bind_count++], &line, n);
	}
	check(to->bind_count == count);
}

static void fill_frontend(struct arena *a, const struct config *c, struct config_frontend *to,
			  const struct proxy *p)
{
	const struct config_proxy set = side_of(a, p, IN_FRONTEND);

#define OPTION_FRONT(type, member) to->member = set.member;
#include "weir/config/option_members.tbl.h"
	copy_name(to->name, p->section->name);
	to->listen = p->target == p;
	to->routes_only = p->routes_only;
	to->timeouts = timeouts_of(c, p, &set);
	to->tcp = with_keepalive(set.tcp, &set.client_keepalive);
	to->source_rate = set.source_rate;
	to->sniff = set.sniff;
	fill_access(a, to, &set);
	to->place = place_in(c, p->section->at.source->name, p->section->at.line);
	to->origins = copy_origins(a, c, p->origins);
	fill_binds(a, c, to, p);
}

static size_t backend_index(const struct proxy *target)
{
	check(target != NULL);
	check(build_is_backend(target));
	return target->backend_number;
}

static void fill_routes(struct arena *a, const struct config *c, struct config_frontend *to,
			const struct proxy *p)
{
	to->routes = arena_alloc(a, p->route_count * sizeof(*to->routes));
	to->route_count = p->route_count;
	for (size_t i = 0; i < p->route_count; i++) {
		const struct route_line *line = &p->routes[i];
		const struct route_ports *ports = &line->route.ports;
		struct config_route *route = &to->routes[i];

		route->backend = backend_index(line->target);
		route->src = copy_networks(a, &line->route.src, &route->src_list);
		route->ports = copy_bytes(a, ports->list, ports->count * sizeof(*route->ports));
		route->port_count = ports->count;
		route->sni = line->route.sni;
		route->sni.list = copy_texts(a, line->route.sni.list, line->route.sni.count);
		route->sni.files = copy_lists(a, line->route.sni.files, line->route.sni.file_count);
		route->hosts = make_hosts(a, &route->sni);
		route->alpn = copy_texts(a, line->route.alpn.list, line->route.alpn.count);
		route->alpn_count = line->route.alpn.count;
		route->protos = line->route.protos;
		route->place = place_in(c, line->place.file, line->place.line);
	}
}

struct config *build_snapshot(const struct build *b, struct arena *a)
{
	struct config *c = arena_alloc(a, sizeof(*c));
	size_t overrides = b->doc->overrides != NULL ? b->doc->overrides->line_count : 0;

	check(b->diag->errors == 0);
	c->warnings = b->diag->warnings;
	c->files = arena_alloc(a, b->doc->source_count * sizeof(*c->files));
	for (; c->file_count < b->doc->source_count; c->file_count++)
		c->files[c->file_count] = copy_text(a, b->doc->sources[c->file_count]->name);
	c->overrides = arena_alloc(a, overrides * sizeof(*c->overrides));
	for (; c->override_count < overrides; c->override_count++)
		c->overrides[c->override_count] =
			copy_text(a, b->doc->overrides->lines[c->override_count].text);
	c->defaults = copy_origins(a, c, b->defaults_origins);
	fill_global(a, c, &b->global);
	c->frontends = arena_alloc(a, b->proxy_count * sizeof(*c->frontends));
	c->backends = arena_alloc(a, b->proxy_count * sizeof(*c->backends));
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];

		check(!p->duplicate);
		if (build_is_backend(p)) {
			struct config_backend *back = &c->backends[c->backend_count++];

			fill_backend(a, c, back, p);
			back->fallback = p->fallback != NULL ? backend_index(p->fallback) : 0;
		}
		if (p->section->kind == IN_BACKEND)
			continue;
		fill_frontend(a, c, &c->frontends[c->frontend_count], p);
		fill_routes(a, c, &c->frontends[c->frontend_count], p);
		c->frontends[c->frontend_count++].backend = backend_index(p->target);
	}
	c->memory = a->blocks;
	return c;
}

void config_free(struct config *c)
{
	struct arena a = {0};

	if (c == NULL)
		return;
	a.blocks = c->memory; /* `c` is one of them */
	arena_free(&a);
}
