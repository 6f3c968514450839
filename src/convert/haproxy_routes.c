/* SPDX-License-Identifier: MIT
 *
 * haproxy_routes.c - use_backend and default_backend, and what must be read of a client to choose.
 *
 * Main thread.
 */
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/config/reader.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

struct routing {
	struct haproxy *h;
	struct proxy *p;
	struct old_line *line;
	const char *backend;
	bool tls;		 /* a line needs the hello */
	bool protos;		 /* a line needs to know what a client speaks */
	struct old_line *always; /* the route that takes every client that gets so far */
};

/* The words of a line by kind; NULL = none. */
struct words {
	const char *value[TERM_OTHER + 1];
	bool file;
	const char *error;
};

static void put(struct words *w, enum term_kind kind, const char *value)
{
	if (w->value[kind] != NULL && strcmp(w->value[kind], value) != 0)
		w->error = "two lists that a client must be in both of";
	w->value[kind] = value;
}

static void put_proto(struct words *w, const struct term *t)
{
	static const char *const yes[] = {[TERM_TLS] = "tls", [TERM_HTTP] = "http", [TERM_SSH] = "ssh"};
	static const char *const no[] = {
	    [TERM_TLS] = "http,ssh,other", [TERM_HTTP] = "tls,ssh,other", [TERM_SSH] = "tls,http,other"};

	put(w, TERM_HTTP, t->negated ? no[t->kind] : yes[t->kind]);
}

static void put_term(struct routing *r, struct words *w, const struct term *t)
{
	switch (t->kind) {
	case TERM_TRUE:
	case TERM_FALSE:
		if ((t->kind == TERM_TRUE) == t->negated)
			w->error = "it never holds";
		return;
	case TERM_TLS:
	case TERM_HTTP:
	case TERM_SSH:
		put_proto(w, t);
		return;
	case TERM_ANY_SNI:
		if (w->value[TERM_SNI] == NULL || t->negated)
			put(w, TERM_SNI, t->negated ? "none" : "any");
		return;
	case TERM_SRC:
	case TERM_PORT:
	case TERM_SNI:
	case TERM_ALPN:
		if (t->kind == TERM_SNI && w->value[TERM_SNI] != NULL &&
		    strcmp(w->value[TERM_SNI], "any") == 0)
			w->value[TERM_SNI] = NULL;
		put(w, t->kind, t->value);
		if (t->negated)
			w->error = "weir has no 'not': write the other cases, in their order";
		if (t->differs != NULL)
			old_set(r->h->arena, r->line, OLD_DIFFERENT, "%s", t->differs);
		w->file = w->file || t->file;
		return;
	default:
		w->error = "a route cannot depend on that";
	}
}

/* Moves a list that is too long for a line into a file. */
static void move_to_file(struct routing *r, struct words *w, enum term_kind kind, const char *word)
{
	const char *name, *list = w->value[kind];

	if (list == NULL || strlen(list) < READER_LINE_MAX / 4)
		return;
	if (!r->h->work->wish->with_files || strchr(list, '@') != NULL) {
		w->error = arena_printf(
		    r->h->arena,
		    "a list that is too long for a line: convert with -o DIR, or write %s=@FILE, "
		    "with one entry per line",
		    word);
		return;
	}
	name = work_file(r->h->work, arena_printf(r->h->arena, "lists/%s.%s", r->backend, word),
			 work_lines(r->h->arena, list));
	w->value[kind] = arena_printf(r->h->arena, "@%s", name);
	w->file = true;
}

/* Adds a use-backend line. */
static void add_line(struct routing *r, struct words *w)
{
	static const struct {
		enum term_kind kind;
		const char *word;
	} order[] = {{TERM_SRC, "src"},
		     {TERM_PORT, "dst-port"},
		     {TERM_SNI, "sni"},
		     {TERM_ALPN, "alpn"},
		     {TERM_HTTP, "proto"}};
	const char *text = "";
	struct ini_line *line;

	move_to_file(r, w, TERM_SRC, "src");
	move_to_file(r, w, TERM_SNI, "sni");
	if (w->error != NULL) {
		old_set(r->h->arena, r->line, OLD_LOST, "%s", w->error);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (w->value[order[i].kind] != NULL)
			text = ini_join(
			    r->h->arena, text,
			    arena_printf(r->h->arena, "%s=%s", order[i].word, w->value[order[i].kind]));
	if (text[0] == '\0') {
		if (r->always == NULL)
			ini_add(r->h->ini, r->p->out, r->line, "default-backend", "%s", r->backend);
		r->always = r->line;
		return;
	}
	line = ini_add(r->h->ini, r->p->out, r->line, arena_printf(r->h->arena, "use-backend %s", r->backend),
		       "%s", text);
	if (w->file)
		line->stand_in = work_without_files(r->h->arena, text);
}

/* Can alternatives be one line: do they differ in one list only, and have nothing else? */
static bool are_one_list(const struct condition *c, enum term_kind *kind)
{
	*kind = c->all[0][0]->kind;
	for (size_t i = 0; i < c->count; i++)
		if (c->counts[i] != 1 || c->all[i][0]->kind != *kind || c->all[i][0]->negated ||
		    (*kind != TERM_SNI && *kind != TERM_SRC && *kind != TERM_PORT && *kind != TERM_ALPN))
			return false;
	return c->count > 1;
}

static void join_lists(struct routing *r, struct condition *c)
{
	struct term *first = c->all[0][0];

	for (size_t i = 1; i < c->count; i++) {
		const struct term *t = c->all[i][0];

		first->value = arena_printf(r->h->arena, "%s,%s", first->value, t->value);
		first->file = first->file || t->file;
		if (t->differs != NULL)
			first->differs = t->differs;
	}
	c->count = 1;
}

static void add_alternatives(struct routing *r, struct condition *c)
{
	enum term_kind kind;

	condition_carried(r->h, c);
	if (c->count > 0 && c->counts[0] > 0 && are_one_list(c, &kind))
		join_lists(r, c);
	for (size_t i = 0; i < c->count; i++) {
		struct words w = {.error = NULL};

		for (size_t t = 0; t < c->counts[i]; t++)
			put_term(r, &w, c->all[i][t]);
		/* A name or a protocol can only come from a hello. */
		if ((w.value[TERM_SNI] != NULL || w.value[TERM_ALPN] != NULL) && w.value[TERM_HTTP] != NULL &&
		    strcmp(w.value[TERM_HTTP], "tls") == 0)
			w.value[TERM_HTTP] = NULL;
		if (w.error != NULL) {
			old_set(r->h->arena, r->line, OLD_LOST, "%s", w.error);
			continue;
		}
		r->tls = r->tls || w.value[TERM_SNI] != NULL || w.value[TERM_ALPN] != NULL;
		r->protos = r->protos || w.value[TERM_HTTP] != NULL;
		add_line(r, &w);
	}
}

/* use_backend B if { nbsrv(A) lt 1 }: B is where A's clients go then. */
static bool add_fallback(struct routing *r, const struct condition *c)
{
	const struct term *t = c->count == 1 && c->counts[0] == 1 ? c->all[0][0] : NULL;
	struct proxy *from;

	if (t == NULL || t->kind != TERM_NONE_UP || t->negated)
		return false;
	from = haproxy_find(r->h, BACKENDS, t->name[0] != '\0' ? t->name : slot_word(r->p, SLOT_BACKEND, 0));
	if (from == NULL || from->out == NULL || ini_find(from->out, "fallback-backend") != NULL) {
		old_set(r->h->arena, r->line, OLD_LOST,
			"write fallback-backend in the backend that may be down");
		return true;
	}
	ini_add(r->h->ini, from->out, r->line, "fallback-backend", "%s", r->backend);
	condition_carried(r->h, c);
	return true;
}

static bool is_ours(struct routing *r, const char *name)
{
	const struct proxy *to = haproxy_find(r->h, BACKENDS, name);

	if (to != NULL && to->out != NULL)
		return true;
	if (to == NULL && strchr(name, '%') != NULL)
		old_set(r->h->arena, r->line, OLD_LOST,
			"a name that HAProxy computes: write a use-backend line per name");
	else if (to == NULL)
		old_set(r->h->arena, r->line, OLD_LOST, "there is no backend '%s'", name);
	else
		old_set(r->h->arena, r->line, strstr(to->why_not, "weir") != NULL ? OLD_NOT_OURS : OLD_LOST,
			"'%s' is not converted: %s", name, to->why_not);
	return false;
}

static void take_route(struct routing *r, struct old_line *line)
{
	const bool unless = strcmp(old_word(line, 2), "unless") == 0;
	struct condition c;
	const struct term *other;

	r->line = line;
	r->backend = old_word(line, 1);
	if (r->always != NULL) {
		old_set(r->h->arena, line, OLD_NO_EFFECT, "line %u takes every client", r->always->line);
		return;
	}
	if (strchr(r->backend, '%') != NULL && haproxy_name_map(r->h, r->p, line)) {
		r->tls = true;
		if (line->count > 2)
			old_set(r->h->arena, line, OLD_DIFFERENT,
				"its condition is left out: a name in the map decides");
		return;
	}
	if (!is_ours(r, r->backend))
		return;
	if (line->count < 4) {
		struct words none = {.error = NULL};

		if (line->count == 2)
			add_line(r, &none);
		return;
	}
	haproxy_terms(r->h, r->p, line->words + 3, line->count - 3, unless, &c);
	other = condition_other(&c);
	if (c.error != NULL || other != NULL)
		old_set(r->h->arena, line, OLD_LOST, "%s", c.error != NULL ? c.error : other->value);
	else if (!add_fallback(r, &c))
		add_alternatives(r, &c);
}

static void settle_sniff(struct routing *r, struct ini_line *sniff)
{
	const char *delay = slot_on(r->p, SLOT_INSPECT)
				? haproxy_duration(r->h->arena, slot_word(r->p, SLOT_INSPECT, 0))
				: NULL;

	if (!r->tls && !r->protos && !r->p->tls_required) {
		sniff->left_out = true;
		return;
	}
	sniff->value = r->protos ? "auto" : "tls";
	if (delay != NULL) {
		sniff->from = r->p->slots[SLOT_INSPECT].line;
		old_set(r->h->arena, sniff->from, OLD_CARRIED, NULL);
		sniff->value = arena_printf(r->h->arena, "%s timeout=%s", sniff->value, delay);
	}
	if (r->p->tls_required)
		sniff->value = arena_printf(r->h->arena, "%s required", sniff->value);
}

void haproxy_routes(struct haproxy *h, struct proxy *p)
{
	struct routing r = {.h = h, .p = p};
	const size_t sniff = p->out->count;

	ini_add(h->ini, p->out, NULL, "sniff", "off");
	for (size_t i = 0; i < p->lists[LIST_ROUTE].count; i++)
		take_route(&r, p->lists[LIST_ROUTE].list[i]);
	settle_sniff(&r, &p->out->lines[sniff]);
	r.line = p->slots[SLOT_BACKEND].line;
	if (r.always == NULL && ini_find(p->out, "default-backend") == NULL && slot_on(p, SLOT_BACKEND) &&
	    is_ours(&r, slot_word(p, SLOT_BACKEND, 0)))
		slot_add(h, p, SLOT_BACKEND, "default-backend", slot_word(p, SLOT_BACKEND, 0));
}
