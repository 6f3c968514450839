/* SPDX-License-Identifier: MIT
 *
 * routes.c - use_backend and default_backend, and what must be read of a client to choose.
 *
 * Main thread.
 */
#include <string.h>

#include "match.h"
#include "route.h"
#include "sections.h"
#include "weir/base/check.h"
#include "weir/config/reader.h"

#define BACKENDS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

#define EXTRA_MAX 64 /* lines for those who are in one */

struct routing {
	struct haproxy *h;
	struct proxy *p;
	const struct use_line *routes;
	size_t count;
	struct old_line *line;
	const char *backend;
	bool dry;	/* only find out whether it can be written */
	unsigned within; /* how deep in lines for those whom a rule leaves out */
	unsigned extra; /* lines so far, for those whom a rule leaves out */
	bool tls;		 /* a line needs the hello */
	bool protos;		 /* a line needs to know what a client speaks */
	struct old_line *closing; /* the rule for silent clients, in lines for those whom it leaves out */
	struct old_line *always; /* the route that takes every client that gets so far */
};

/* Moves a list that is too long for a line into a file. */
static void move_to_file(struct routing *r, struct words *w, enum term_kind kind, const char *word)
{
	const char *name, *list = w->value[kind];

	if (list == NULL || strlen(list) < READER_LINE_MAX / 4)
		return;
	if (!r->h->work->with_files || strchr(list, '@') != NULL) {
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

/* Is there a line for the same clients? */
static bool is_taken(const struct ini_section *s, const char *words)
{
	for (size_t i = 0; i < s->count; i++)
		if (strncmp(s->lines[i].key, "use-backend ", 12) == 0 &&
		    strcmp(s->lines[i].value, words) == 0)
			return true;
	return false;
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

	if (r->dry)
		return;
	if (r->within > 0 && r->line->fate == OLD_OPEN)
		old_set(r->h->arena, r->line, OLD_CARRIED, NULL);
	move_to_file(r, w, TERM_SRC, "src");
	move_to_file(r, w, TERM_SNI, "sni");
	if (w->error != NULL) {
		old_set(r->h->arena, r->line, OLD_LOST, "%s", w->error);
		return;
	}
	r->tls = r->tls || w->value[TERM_SNI] != NULL || w->value[TERM_ALPN] != NULL;
	r->protos = r->protos || w->value[TERM_HTTP] != NULL;
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
	if (is_taken(r->p->out, text)) {
		/* A use-server line may be for a server that is down. */
		if (r->line->fate == OLD_OPEN && r->within == 0 && r->line->words[0][3] != '-')
			old_set(r->h->arena, r->line, OLD_NO_EFFECT, "a line before it takes these clients");
		return;
	}
	line = ini_add(r->h->ini, r->p->out, r->line, arena_printf(r->h->arena, "use-backend %s", r->backend),
		       "%s", text);
	if (w->file)
		line->stand_in = work_without_files(r->h->arena, text);
	/* A frontend needs a route, whatever the variable stands for. */
	if (strstr(line->value, "${") != NULL)
		line->stand_in = "src=192.0.2.1";
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

/* Is the backend converted? Then clients go to it. */
static bool is_known(struct routing *r, const char *name)
{
	const struct proxy *to = haproxy_find(r->h, BACKENDS, name);

	if (to == NULL || to->out == NULL)
		return false;
	r->backend = to->out->name;
	return true;
}

static bool add_rest(struct routing *r, size_t rule, size_t alternative, const struct words *base);

/* weir has no 'not': clients in a list that an alternative leaves out get lines of their own before it, for
 * all that comes after it. False: that cannot be written. */
static bool add_without(struct routing *r, size_t rule, size_t alternative, const struct words *w)
{
	struct old_line *line = r->line;
	const char *backend = r->backend;
	struct old_line *closing = r->closing;
	bool fine = true;

	r->within++;
	for (size_t i = 0; i < w->without_count && fine; i++) {
		struct words inside = *w;

		r->closing = match_is_data(w->without[i]) ? line : closing;
		inside.without_count = 0;
		match_put(r->h->arena, &inside, w->without[i]->kind, w->without[i]->value);
		inside.file = inside.file || w->without[i]->file;
		fine = inside.never != NULL ||
		       (inside.error == NULL && add_rest(r, rule, alternative + 1, &inside));
	}
	r->within--;
	r->closing = closing;
	r->line = line;
	r->backend = backend;
	return fine;
}

/* Adds one alternative of a rule. False: it cannot be written. */
static bool add_alternative(struct routing *r, size_t rule, size_t alternative, struct words *w)
{
	if (w->never != NULL)
		return true;
	if (w->error != NULL || !add_without(r, rule, alternative, w))
		return false;
	add_line(r, w);
	return true;
}

/* Reads the condition of a rule. False: it cannot be written as lines. */
static bool read_route(struct routing *r, const struct use_line *route, struct condition *c)
{
	const struct old_line *line = route->line;

	if (line->count == 3 || (route->to == NULL && !is_known(r, old_word(line, 1))))
		return false;
	if (route->to != NULL)
		r->backend = route->to->out->name;
	haproxy_route_terms(r->h, r->p, route, c);
	return c->error == NULL && condition_other(c) == NULL;
}

/* Where the clients go that are left: to a backend, or to the servers of a listen with use-server lines. */
static bool find_default(struct routing *r)
{
	r->line = r->p->slots[SLOT_BACKEND].line;
	if (slot_on(r->p, SLOT_BACKEND))
		return is_known(r, slot_word(r->p, SLOT_BACKEND, 0));
	if (r->p->back == NULL)
		return false;
	r->line = r->p->head;
	r->backend = r->p->back->name;
	return true;
}

/* HAProxy closes clients that no rule is for. With a rule for silent clients, weir needs a line for those who
 * speak: that one becomes the default. */
static bool add_closed(struct routing *r, struct words *w)
{
	const char *list = w->value[TERM_HTTP];
	struct words only = {.value = {[TERM_HTTP] = list}};

	if (slot_on(r->p, SLOT_BACKEND) || r->p->kind != PROXY_FRONTEND)
		return false;
	if (r->dry)
		return true;
	if (memcmp(only.value, w->value, sizeof(only.value)) == 0)
		w->value[TERM_HTTP] = match_open_protos(r->h->arena, list, r->p->out);
	if (list != NULL && w->value[TERM_HTTP][0] == '\0')
		return true;
	r->backend = haproxy_closed(r->h);
	r->line = r->closing;
	add_line(r, w);
	return true;
}

/* The rules from an alternative on, and the default, for clients that have the words of `base`. */
static bool add_rest(struct routing *r, size_t rule, size_t alternative, const struct words *base)
{
	struct words rest = *base;

	for (; rule < r->count; rule++, alternative = 0) {
		struct condition c;

		r->line = r->routes[rule].line;
		if (!read_route(r, &r->routes[rule], &c) || r->extra++ == EXTRA_MAX)
			return false;
		if (!r->dry)
			condition_carried(r->h, &c);
		for (size_t i = alternative; i < c.count; i++) {
			struct words w = match_words(r->h->arena, r->line, &c, i, base);

			if (!add_alternative(r, rule, i, &w))
				return false;
			if (w.never == NULL && memcmp(w.value, base->value, sizeof(w.value)) == 0)
				return true; /* it takes all that are left */
		}
	}
	if (!find_default(r))
		return r->closing != NULL && add_closed(r, &rest);
	add_line(r, &rest);
	return true;
}

/* Can all alternatives of a rule be written? */
static bool can_add(struct routing *r, size_t rule, const struct condition *c)
{
	const struct routing before = *r;
	bool fine = true;

	r->dry = true;
	r->extra = 0;
	for (size_t i = 0; i < c->count && fine; i++) {
		const struct words none = {.error = NULL};
		struct words w = match_words(r->h->arena, r->line, c, i, &none);

		fine = add_alternative(r, rule, i, &w);
	}
	*r = before;
	return fine;
}

/* Writes what is nearly the same. False: there is nothing. */
static bool approach(struct routing *r, struct words *w)
{
	const char *how = match_approach(r->h->arena, w);

	if (how != NULL)
		old_set(r->h->arena, r->line, OLD_DIFFERENT, "%s", how);
	return how != NULL && w->error == NULL;
}

static void add_alternatives(struct routing *r, size_t rule, struct condition *c)
{
	const struct words none = {.error = NULL};
	const char *never = NULL;
	enum term_kind kind;
	bool added = false;

	condition_carried(r->h, c);
	if (c->count > 0 && c->counts[0] > 0 && are_one_list(c, &kind))
		join_lists(r, c);
	for (size_t i = 0; i < c->count && r->always == NULL; i++) {
		struct words w = match_words(r->h->arena, r->line, c, i, &none);

		if (w.never != NULL) {
			never = w.never;
		} else if (w.error != NULL) {
			old_set(r->h->arena, r->line, OLD_LOST, "%s", w.error);
		} else if (w.without_count > 0 && !can_add(r, rule, c) && !approach(r, &w)) {
			old_set(r->h->arena, r->line, OLD_LOST,
				"weir has no 'not': write the other cases, in their order");
		} else {
			r->extra = 0;
			added = add_alternative(r, rule, i, &w);
		}
	}
	if (never != NULL && !added && r->line->fate <= OLD_CARRIED)
		old_set(r->h->arena, r->line, strstr(never, "weir") != NULL ? OLD_NOT_OURS : OLD_NO_EFFECT,
			"%s",
			never);
}

/* Do other clients get to the backend than those that a frontend has left at its end? */
static bool has_other_clients(const struct routing *r, struct proxy *back)
{
	const struct proxy *front;

	for (size_t i = 0; i < r->p->lists[LIST_ROUTE].count; i++)
		if (strcmp(haproxy_target(r->p, i), back->name) == 0)
			return true;
	for (size_t i = 0; (front = haproxy_leader(r->h, back, i)) != NULL; i++)
		if (front != r->p && front->out != NULL)
			return true;
	return false;
}

/* use_backend B if { nbsrv(A) lt 1 }: B is where A's clients go then, if they are all that are left. */
static bool add_fallback(struct routing *r, const struct use_line *route, const struct condition *c)
{
	const struct old_lines *rules = &r->p->lists[LIST_ROUTE];
	const struct term *t = c->count == 1 && c->counts[0] == 1 ? c->all[0][0] : NULL;
	const char *last = slot_on(r->p, SLOT_BACKEND) ? slot_word(r->p, SLOT_BACKEND, 0) : r->p->name;
	const struct ini_line *before;
	struct proxy *from;

	if (t == NULL || t->kind != TERM_NONE_UP || t->negated || route->to != NULL)
		return false;
	from = haproxy_find(r->h, BACKENDS, t->name[0] != '\0' ? t->name : last);
	before = from != NULL && from->out != NULL ? ini_find(from->out, "fallback-backend") : NULL;
	if (from == NULL || from->out == NULL || strcmp(from->name, last) != 0 ||
	    route->line != rules->list[rules->count - 1] ||
	    (before != NULL && strcmp(before->value, r->backend) != 0)) {
		old_set(r->h->arena, r->line, OLD_LOST,
			"write fallback-backend in the backend that may be down: it is for the clients of "
			"that backend alone");
		return true;
	}
	if (before == NULL)
		ini_add(r->h->ini, from->out, r->line, "fallback-backend", "%s", r->backend);
	condition_carried(r->h, c);
	if (before != NULL || has_other_clients(r, from))
		old_set(r->h->arena, r->line, OLD_DIFFERENT,
			"all clients of '%s' go there then, whatever line sends them", from->name);
	return true;
}

static bool is_ours(struct routing *r, const char *name)
{
	const struct proxy *to = haproxy_find(r->h, BACKENDS, name);

	if (is_known(r, name))
		return true;
	if (to == NULL && strchr(name, '%') != NULL)
		old_set(r->h->arena, r->line, OLD_LOST,
			"a name that HAProxy computes: write a use-backend line per name");
	else if (to == NULL)
		old_set(r->h->arena, r->line, OLD_LOST, "there is no backend '%s'", name);
	else
		old_set(r->h->arena, r->line,
			strstr(haproxy_why_not(to), "weir") != NULL ? OLD_NOT_OURS : OLD_LOST,
			"'%s' is not converted: %s", name, haproxy_why_not(to));
	return false;
}

/* use_backend with a map, or with a name of TLS. False: the name is computed in another way. */
static bool take_named(struct routing *r)
{
	bool always = false;

	if (!haproxy_named_backend(r->h, r->p, r->line, &r->tls, &always))
		return false;
	if (always)
		r->always = r->line;
	return true;
}

static void take_route(struct routing *r, size_t rule)
{
	const struct use_line *route = &r->routes[rule];
	struct old_line *line = route->line;
	struct condition c;
	const struct term *other;

	r->line = line;
	r->backend = route->to != NULL ? route->to->out->name : old_word(line, 1);
	if (r->always != NULL) {
		/* Unless it has lines for those whom that one leaves out. */
		if (line->fate == OLD_OPEN && route->to == NULL)
			old_set(r->h->arena, line, OLD_NO_EFFECT, "line %u takes every client",
				r->always->line);
		return;
	}
	if (strchr(r->backend, '%') != NULL && take_named(r))
		return;
	if (route->to == NULL && !is_ours(r, r->backend))
		return;
	if (line->count < 4) {
		struct words none = {.error = NULL};

		if (line->count == 2)
			add_line(r, &none);
		return;
	}
	haproxy_route_terms(r->h, r->p, route, &c);
	other = condition_never_holds(&c) ? NULL : condition_other(&c);
	if (c.error != NULL || other != NULL)
		old_set(r->h->arena, line, OLD_LOST, "%s", c.error != NULL ? c.error : other->value);
	else if (!add_fallback(r, route, &c))
		add_alternatives(r, rule, &c);
}

/* The section that says how long to wait for what a client sends: that of use-server rules, if the frontend
 * does not. */
static struct proxy *with_delay(const struct routing *r)
{
	struct proxy *p = r->p;

	for (size_t i = 0; i < r->count && !slot_on(p, SLOT_INSPECT); i++)
		if (r->routes[i].to != NULL)
			p = r->routes[i].owner;
	return slot_on(p, SLOT_INSPECT) ? p : r->p;
}

static void settle_sniff(struct routing *r, struct ini_line *sniff)
{
	struct proxy *p = with_delay(r);
	const char *delay = slot_on(p, SLOT_INSPECT)
				? haproxy_duration(r->h->arena, slot_word(p, SLOT_INSPECT, 0))
				: NULL;

	if (!r->tls && !r->protos && !r->p->tls_required) {
		sniff->left_out = true;
		return;
	}
	if (r->tls || r->protos)
		haproxy_say_who_waits(r->h, r->p, r->routes, r->count);
	sniff->value = r->protos ? "auto" : "tls";
	if (delay != NULL) {
		sniff->from = p->slots[SLOT_INSPECT].line;
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
	r.routes = haproxy_route_list(h, p, &r.count);
	for (size_t i = 0; i < r.count; i++) {
		take_route(&r, i);
		haproxy_use_server_taken(h, p, &r.routes[i]);
	}
	settle_sniff(&r, &p->out->lines[sniff]);
	r.line = p->slots[SLOT_BACKEND].line;
	if (r.always == NULL && ini_find(p->out, "default-backend") == NULL && slot_on(p, SLOT_BACKEND) &&
	    is_ours(&r, slot_word(p, SLOT_BACKEND, 0)))
		slot_add(h, p, SLOT_BACKEND, "default-backend", r.backend);
}
