/* SPDX-License-Identifier: MIT
 *
 * build.c - interprets the lines of a document: each is one option of the table, or an error.
 *
 * [defaults] is read first, wherever it is; each section begins as a copy of it. Rejects unknown keys, keys
 * in the wrong section and keys given twice. Main thread.
 */
#include "build.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/habit.h"
#include "setting.h"

#define ANYWHERE (IN_GLOBAL | IN_STATS | IN_DEFAULTS | IN_PROXIES)
/* One section being read. */
struct pass {
	struct build *build;
	struct section *section;
	struct proxy *proxy;	   /* NULL in [global] and [defaults] */
	void *base;		   /* the structure that its scalar options set */
	const struct entry **seen; /* one per option: the first line that set it */
	const struct entry **from; /* one per option: the line that its value comes from */
	const struct entry **servers; /* the lines of servers: read last, after what they inherit */
	size_t server_count;
};

/* The part of a section that fails when a line with this option does. */
static unsigned bad_of(const struct option *o)
{
	if (o->type == OPT_BIND)
		return SECTION_BAD_BIND;
	if (o->type == OPT_SERVER || o->type == OPT_SERVERS || o->type == OPT_SERVER_WORDS ||
	    o->type == OPT_CHECK || strcmp(o->key, "no-server") == 0)
		return SECTION_BAD_SERVER;
	if (o->type == OPT_BACKEND || o->type == OPT_ROUTE)
		return SECTION_BAD_BACKEND;
	if (o->type == OPT_SOURCE_RATE || strcmp(o->key, "maxconn-per-source") == 0)
		return SECTION_BAD_SOURCE;
	if (o->type == OPT_EGRESS_NAMES)
		return SECTION_BAD_NAMES;
	return 0;
}

static void report_unknown_key(struct pass *p, const struct entry *e)
{
	struct diag *d = p->build->diag;
	unsigned kind = p->section->kind;
	const struct option *elsewhere = option_find(ANYWHERE, e->key).option;
	const struct option *word = option_find(~0u, e->key).option;
	const struct option *near = option_suggest(kind, e->key);
	size_t foreign = 0;
	const char *hint =
		habit_translate(d->arena, arena_printf(d->arena, "%s %s", e->key, e->value), &foreign);
	char places[OPTION_PLACES_MAX], keys[OPTION_LIST_MAX];

	if (elsewhere != NULL) {
		diag_error(d, DIAG_WRONG_SECTION, e->key_at, "'%s' does not belong in [%s]", elsewhere->key,
			   section_word(kind));
		diag_hint(d, "it belongs in %s", option_places(elsewhere->sections, places));
		p->section->bad |= bad_of(elsewhere);
		return;
	}
	/* Several keys that begin with it are more likely: 'timeout'. */
	if (hint == NULL && word != NULL && strchr(option_list_of(kind, e->key, keys), ',') == NULL) {
		diag_error(d, DIAG_WRONG_SECTION, e->key_at, "'%s' is not a key but a word of another line%s",
			   word->key, option_version_note(word));
		diag_hint(d, "it belongs in %s: %s", option_places(word->sections, places), word->example);
		p->section->bad |= SECTION_BAD_LINE;
		return;
	}
	diag_error(d, DIAG_UNKNOWN_KEY, e->key_at, "unknown key '%s'", e->key);
	if (hint == NULL && near == NULL)
		near = option_suggest(ANYWHERE, e->key);
	if (hint != NULL)
		diag_hint(d, "%s", hint);
	else if (near != NULL && (near->sections & kind) != 0)
		diag_hint(d, "did you mean '%s'?%s", near->key, option_version_note(near));
	else if (near != NULL)
		diag_hint(d, "did you mean '%s' in %s?%s", near->key, option_places(near->sections, places),
			  option_version_note(near));
	else if (option_list_of(ANYWHERE, e->key, keys)[0] != '\0')
		diag_hint(d, "possible keys: %s%s", keys, kind == IN_GLOBAL ? " in other sections" : "");
	else
		diag_hint(d, "see 'weir help'");
	p->section->bad |= hint == NULL && near != NULL ? bad_of(near) : SECTION_BAD_LINE;
}

static bool needs_name(const struct option *o)
{
	return (o->flags & OPT_NAMED) != 0 && (o->flags & OPT_NAME_OPTIONAL) == 0;
}

/* Validates the name of `server NAME` and the like; 0, or -EINVAL after reporting. */
static int validate_name(struct pass *p, const struct entry *e, const struct option_match *match)
{
	struct diag *d = p->build->diag;
	const char *key = match->option->key;
	size_t ok = strspn(match->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	struct at at = e->key_at;
	size_t more;

	if (match->name[0] == '\0') {
		if ((match->option->flags & OPT_NAME_OPTIONAL) != 0)
			return 0;
		diag_error(d, DIAG_BAD_NAME, at, "'%s' needs a name", key);
		diag_hint(d, "write '%s NAME = ...'", key);
		return -EINVAL;
	}
	at.col += (unsigned)match->name_offset;
	at.len = (unsigned)strlen(match->name);
	if (strlen(match->name) >= CONFIG_NAME_MAX) {
		diag_error(d, DIAG_TOO_LONG, at, "a name has at most %d bytes", CONFIG_NAME_MAX - 1);
		return -EINVAL;
	}
	if (match->name[ok] == '\0')
		return 0;
	more = ok + strspn(match->name + ok, " \t");
	at.col += (unsigned)more;
	at.len -= (unsigned)more;
	if (more > ok) {
		diag_error(d, DIAG_BAD_NAME, at, "'%s' takes one name, then '='", key);
		diag_hint(d, "write '%s %.*s = ...'", key, (int)ok, match->name);
	} else {
		diag_error(d, DIAG_BAD_NAME, at, "a name consists of letters, digits and . _ -");
	}
	return -EINVAL;
}

/* Is this option allowed in this section, and not given before? 0, or -EINVAL after reporting. */
static int validate_place(struct pass *p, const struct entry *e, const struct option *o)
{
	struct diag *d = p->build->diag;
	const struct entry **seen = &p->seen[o - options];
	char places[OPTION_PLACES_MAX];

	if (o->type == OPT_LATER) {
		diag_error(d, DIAG_NOT_YET, e->key_at, "'%s' is not in this version", o->key);
		return -EINVAL;
	}
	if (*seen != NULL && (o->flags & OPT_REPEAT) == 0) {
		diag_error(d, DIAG_DUPLICATE, e->key_at, "'%s' is given twice", o->key);
		diag_hint(d, "first on %s", diag_where(d, e->key_at, (*seen)->key_at));
		return -EINVAL;
	}
	if (*seen == NULL)
		*seen = e;
	if ((o->effect & p->section->kind) == 0) {
		diag_warning(d, DIAG_NO_EFFECT, e->key_at, "'%s' has no effect in a [%s]", o->key,
			     section_word(p->section->kind));
		diag_hint(d, "it belongs in %s", option_places(o->effect, places));
	}
	return 0;
}

static int read_bind(struct pass *p, const struct entry *e, const struct setting *s, const char *name)
{
	struct arena *a = p->build->diag->arena;
	struct proxy *x = p->proxy;
	struct config_bind bind = {.place = build_place(e->key_at)};
	int err = setting_parse_bind(s, &bind);

	if (err)
		return err;
	check(strlen(name) < sizeof(bind.name));
	memcpy(bind.name, name, strlen(name));
	x->binds = arena_grow(a, x->binds, x->bind_count, sizeof(*x->binds));
	x->bind_at = arena_grow(a, x->bind_at, x->bind_count, sizeof(*x->bind_at));
	x->bind_words = arena_grow(a, x->bind_words, x->bind_count, sizeof(*x->bind_words));
	x->bind_words[x->bind_count] = s->words;
	x->binds[x->bind_count] = bind;
	x->bind_at[x->bind_count++] = s->words.list[0].at;
	return 0;
}

static int read_route(struct pass *p, const struct entry *e, const struct setting *s,
		      const struct option_match *match)
{
	struct arena *a = p->build->diag->arena;
	struct proxy *x = p->proxy;
	struct route_line line = {.name = match->name, .at = e->key_at, .place = build_place(e->key_at)};

	line.at.col += (unsigned)match->name_offset;
	line.at.len = (unsigned)strlen(match->name);
	if (setting_parse_route(s, &line.route) != 0)
		return -EINVAL;
	x->routes = arena_grow(a, x->routes, x->route_count, sizeof(*x->routes));
	x->routes[x->route_count++] = line;
	return 0;
}

/* A section's own lists replace those of [defaults]; further lines add to them. */
static void begin_list(struct pass *p, const struct entry *e, const struct setting *s)
{
	void *field = (char *)p->base + s->option->offset;

	if (p->seen[s->option - options] != e)
		return;
	if (s->option->type == OPT_NETWORKS)
		memset(field, 0, sizeof(struct config_networks));
	else
		memset(field, 0, sizeof(struct config_ids));
}

/* timeout-idle and tcp-keepalive set two keys, one for each side, which override them in their own section,
 * whether before or after them. */
static int read_both(struct pass *p, const struct entry *e, const struct setting *s)
{
	const bool idle = s->option->type == OPT_IDLE;
	const char *keys[] = {idle ? "timeout-client" : "client-keepalive",
			      idle ? "timeout-server" : "server-keepalive"};
	struct config_proxy *set = p->base;
	const struct config_proxy before = *set;
	int err = setting_parse(s);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct option *o = option_find(IN_LISTEN, keys[i]).option;

		if (p->seen[o - options] != NULL)
			memcpy((char *)set + o->offset, (const char *)&before + o->offset, o->size);
		else
			p->from[o - options] = e;
	}
	return err;
}

static int read_log(struct pass *p, const struct entry *e, const struct setting *s)
{
	struct config_global *g = p->base;
	int err = setting_parse(s);
	struct config_log *log;

	if (err)
		return err;
	log = &g->logs[g->log_count - 1];
	log->place = build_place(e->key_at);
	if (log->path == NULL || strlen(log->path) <= SETTING_TEXT_MAX)
		return 0;
	diag_error(s->diag, DIAG_TOO_LONG, s->words.list[0].at, "a path has at most %d bytes",
		   SETTING_TEXT_MAX);
	return -EINVAL;
}

static int read_backend_name(struct pass *p, const struct setting *s)
{
	if (s->words.count > 1) {
		diag_error(s->diag, DIAG_BAD_VALUE, s->words.list[1].at, "'%s' takes one name",
			   s->option->key);
		return -EINVAL;
	}
	p->proxy->backend_name = s->words.list[0].text;
	p->proxy->backend_at = s->words.list[0].at;
	return 0;
}

/* Reports a line without '=' after its key: shows our syntax, with the words as HAProxy means them. */
static void report_plain(struct pass *p, const struct entry *e, const struct option_match *match,
			 struct words *words)
{
	struct diag *d = p->build->diag;
	const struct option *o = match->option;
	const char *name = match->name;
	const char *fallback =
		o->type == OPT_ROUTE ? build_fallback_hint(p->build, name, e->value) : NULL;

	if (name[0] == '\0' && needs_name(o))
		name = "NAME";
	habit_join_words(d, o, words);
	if (e->reported)
		return;
	diag_error(d, DIAG_NO_EQUALS, e->key_at, "'=' is missing after '%s'", e->key);
	if (fallback != NULL)
		diag_hint(d, "%s", fallback);
	else if (o->type == OPT_ROUTE)
		diag_hint(d, "weir has no ACLs: write 'use-backend %s = src=NETWORK dst-port=PORT sni=NAME'; "
			     "also proto=http and @FILE",
			  name);
	else if (words->count > 0)
		diag_hint(d, "write '%s'", habit_line(d->arena, o, name, words));
	else
		diag_hint(d, "for example: %s", o->example);
}

/* Is the content of a line without '=' worth reading? */
static bool can_go_on(const struct option_match *match, const struct setting *s)
{
	const struct option *o = match->option;
	struct config_server nameless = {0};

	if (s->words.count == 0 || o->type == OPT_ROUTE)
		return false;
	if (match->name[0] != '\0' || !needs_name(o))
		return true;
	/* A server without a name is not a server, but its words are validated. */
	if (o->type == OPT_SERVER)
		(void)setting_parse_server(s, &nameless);
	else if (o->type == OPT_SERVERS)
		(void)setting_parse_servers(s, &nameless);
	return false;
}

static int read_value(struct pass *p, const struct entry *e, const struct option_match *match)
{
	struct diag *d = p->build->diag;
	struct setting s = {.diag = d, .option = match->option, .base = p->base};
	int err = words_split(d, e->value_at, e->value, &s.words);

	if (err)
		return err;
	if (e->plain)
		report_plain(p, e, match, &s.words);
	if (e->plain && !can_go_on(match, &s))
		return -EINVAL;
	if (s.words.count == 0) {
		diag_error(d, DIAG_NO_VALUE, e->key_at, "'%s' needs a value", match->option->key);
		diag_hint(d, "for example: %s", match->option->example);
		return -EINVAL;
	}
	switch (match->option->type) {
	case OPT_INCLUDE: /* done when the file was read */
		return 0;
	case OPT_BIND:
		return read_bind(p, e, &s, match->name);
	case OPT_SERVER:
	case OPT_SERVERS:
		return build_read_server(p->proxy, e, &s, match);
	case OPT_SERVER_WORDS:
		return build_read_server_words(&s, p->proxy != NULL ? &p->proxy->server_defaults
								    : &p->build->server_defaults);
	case OPT_BACKEND:
		return read_backend_name(p, &s);
	case OPT_IDLE:
	case OPT_KEEPALIVES:
		return read_both(p, e, &s);
	case OPT_ROUTE:
		return read_route(p, e, &s, match);
	case OPT_NETWORKS:
	case OPT_USERS:
		begin_list(p, e, &s);
		return setting_parse(&s);
	case OPT_LOG:
		return read_log(p, e, &s);
	case OPT_STATS:
		p->build->stats_at = s.words.list[0].at;
		return setting_parse(&s);
	case OPT_ADMIN:
		p->build->admin_at = s.words.list[0].at;
		return setting_parse(&s);
	default:
		return setting_parse(&s);
	}
}

/* Reads a line below an unknown header: an option of [global] may well be in the right place. */
static void read_guessed(struct pass *p, const struct entry *e)
{
	const struct option_match match = option_find(IN_GLOBAL, e->key);
	void *base = p->base;

	if (match.option == NULL || match.option->type == OPT_LATER) {
		report_unknown_key(p, e);
		return;
	}
	p->base = &p->build->nowhere;
	(void)read_value(p, e, &match); /* for its errors; nothing is built from this section */
	p->base = base;
}

/* Reads a line of a known option. */
static void read_option(struct pass *p, const struct entry *e, const struct option_match *match)
{
	/* For a line without '=' the hint already mentions the missing name. */
	const bool has_name =
		(match->option->flags & OPT_NAMED) != 0 && !(e->plain && match->name[0] == '\0');

	if (has_name && validate_name(p, e, match) != 0) {
		p->section->bad |= bad_of(match->option);
		return;
	}
	if (validate_place(p, e, match->option) != 0 || read_value(p, e, match) != 0)
		p->section->bad |= bad_of(match->option);
	else
		p->from[match->option - options] = e;
}

static void read_entry(struct pass *p, const struct entry *e)
{
	struct arena *a = p->build->diag->arena;
	struct option_match match = option_find(p->section->kind, e->key);

	if (match.option == NULL && p->section->guessed) {
		read_guessed(p, e);
	} else if (match.option == NULL) {
		report_unknown_key(p, e);
	} else if (match.option->type == OPT_SERVER || match.option->type == OPT_SERVERS) {
		p->servers = arena_grow(a, p->servers, p->server_count, sizeof(*p->servers));
		p->servers[p->server_count++] = e;
	} else {
		read_option(p, e, &match);
	}
}

/* What a server inherits may be written below it. */
static void read_servers(struct pass *p)
{
	struct option_match match;

	if (p->proxy != NULL)
		build_inherit_server_words(p->build, p->proxy);
	for (size_t i = 0; i < p->server_count; i++) {
		match = option_find(p->section->kind, p->servers[i]->key);
		read_option(p, p->servers[i], &match);
	}
}

/* The lines that the values of a section come from. */
static struct config_origins origins_of(const struct pass *p)
{
	struct arena *a = p->build->diag->arena;
	struct config_origins o = {0};

	for (size_t i = 0; i < option_count; i++) {
		if (p->from[i] == NULL)
			continue;
		o.list = arena_grow(a, o.list, o.count, sizeof(*o.list));
		o.list[o.count++] =
			(struct config_origin){.option = i, .place = build_place(p->from[i]->key_at)};
	}
	return o;
}

static struct config_origins read_section(struct build *b, struct section *section, struct proxy *proxy,
					  void *base)
{
	struct pass p = {.build = b, .section = section, .proxy = proxy, .base = base};

	p.seen = arena_alloc(b->diag->arena, option_count * sizeof(*p.seen));
	p.from = arena_alloc(b->diag->arena, option_count * sizeof(*p.from));
	if (proxy != NULL)
		proxy->from = p.from;
	else if (section->kind == IN_STATS)
		b->stats_from = p.from;
	else if (section->kind == IN_GLOBAL)
		b->global_from = p.from;
	for (const struct entry *e = section->first; e != NULL; e = e->next)
		read_entry(&p, e);
	read_servers(&p);
	return origins_of(&p);
}

static void add_proxy(struct build *b, struct section *section)
{
	struct proxy *p;

	b->proxies = arena_grow(b->diag->arena, b->proxies, b->proxy_count, sizeof(*b->proxies));
	p = &b->proxies[b->proxy_count++];
	memset(p, 0, sizeof(*p));
	p->section = section;
	p->set = b->defaults;
	p->origins = read_section(b, section, p, &p->set);
	build_finish_servers(b->diag->arena, p);
}

static void set_built_in(struct build *b)
{
	struct arena *a = b->diag->arena;

	memset(&b->global, 0, sizeof(b->global));
	memset(&b->defaults, 0, sizeof(b->defaults));
	b->global.admin_owner = (struct config_socket_owner){-1, (uid_t)-1, (gid_t)-1};
	b->global.stats.owner = b->global.admin_owner;
	setting_defaults(a, IN_GLOBAL | IN_ADMIN | IN_STATS | IN_STATS_BIND, &b->global);
	setting_defaults(a, IN_DEFAULTS, &b->defaults);
	b->built_in = b->defaults;
}

void build_document(struct build *b)
{
	struct section *global = document_find(b->doc, IN_GLOBAL, NULL);
	struct section *stats = document_find(b->doc, IN_STATS, NULL);
	struct section *defaults = document_find(b->doc, IN_DEFAULTS, NULL);

	set_built_in(b);
	if (global != NULL)
		b->global.origins = read_section(b, global, NULL, &b->global);
	if (stats != NULL)
		b->global.stats.origins = read_section(b, stats, NULL, &b->global);
	setting_default_log(b->diag->arena, &b->global);
	if (defaults != NULL)
		b->defaults_origins = read_section(b, defaults, NULL, &b->defaults);
	for (struct section *s = b->doc->first; s != NULL; s = s->next)
		if ((s->kind & IN_PROXIES) != 0)
			add_proxy(b, s);
}
