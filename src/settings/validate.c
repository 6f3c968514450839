/* SPDX-License-Identifier: MIT
 *
 * validate.c - validates what a single line cannot show: names, references.
 *
 * Also runs when single lines were wrong, so that one run shows every mistake; consequences of an error
 * already reported are not reported again. Main thread.
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "weir/config/suggest.h"

static bool is_frontend(const struct proxy *p)
{
	return (p->section->kind & (IN_FRONTEND | IN_LISTEN)) != 0;
}

static void validate_section_names(struct build *b)
{
	for (size_t i = 0; i < b->proxy_count; i++) {
		struct proxy *p = &b->proxies[i];
		const struct section *s = p->section;

		for (size_t j = build_first_of_name(b, s->name); b->by_name[j] != p && !p->duplicate; j++) {
			const struct section *first = b->by_name[j]->section;
			bool both =
				s->kind == IN_LISTEN || first->kind == IN_LISTEN || s->kind == first->kind;

			if (!both || s->guessed || first->guessed)
				continue;
			p->duplicate = true;
			diag_error(b->diag, DIAG_DUPLICATE, s->at, "[%s %s] is already defined",
				   section_word(s->kind), s->name);
			diag_hint(b->diag, "as [%s %s] on %s", section_word(first->kind), first->name,
				  diag_where(b->diag, s->at, first->at));
		}
	}
}

/* By name; of the same name, in their order. */
static int compare_names(const void *a, const void *b)
{
	const struct config_server *x = *(const struct config_server *const *)a;
	const struct config_server *y = *(const struct config_server *const *)b;
	const int order = strcmp(x->name, y->name);

	return order != 0 ? order : (x > y) - (x < y);
}

static void validate_server_names(struct build *b, const struct proxy *p)
{
	const struct config_server **sorted, *first;

	if (p->server_count == 0)
		return;
	sorted = arena_alloc(b->diag->arena, p->server_count * sizeof(*sorted));
	for (size_t i = 0; i < p->server_count; i++)
		sorted[i] = &p->servers[i];
	qsort(sorted, p->server_count, sizeof(*sorted), compare_names);
	first = sorted[0];
	for (size_t i = 1; i < p->server_count; i++) {
		const size_t at = (size_t)(sorted[i] - p->servers), before = (size_t)(first - p->servers);

		if (strcmp(first->name, sorted[i]->name) != 0) {
			first = sorted[i];
			continue;
		}
		diag_error(b->diag, DIAG_DUPLICATE, p->server_at[at],
			   "server '%s' is already defined in '%s'", first->name, p->section->name);
		diag_hint(b->diag, "first on %s",
			  diag_where(b->diag, p->server_at[at], p->server_at[before]));
	}
}

/* Is `name` that of a set with a number behind it? */
static bool is_member_name(const struct config_server *set, const char *name)
{
	const size_t len = strlen(set->name);

	return strncmp(name, set->name, len) == 0 && name[len] != '\0' &&
	       name[len + strspn(name + len, "0123456789")] == '\0';
}

/* The number of the first set from number `i` on; server_count if there is none. */
static size_t next_set(const struct proxy *p, size_t i)
{
	while (i < p->server_count && p->servers[i].set == CONFIG_SET_NONE)
		i++;
	return i;
}

/* The members of a set get such names, so that nothing else may have one. */
static void validate_member_names(struct build *b, const struct proxy *p)
{
	const size_t first = next_set(p, 0);

	for (size_t i = 0; i < p->server_count && first < p->server_count; i++) {
		const struct config_server *s = &p->servers[i];
		size_t set = first;

		if (s->set != CONFIG_SET_NONE && strlen(s->name) > CONFIG_SET_NAME_MAX) {
			diag_error(b->diag, DIAG_TOO_LONG, p->server_at[i],
				   "the name of a set has at most %d bytes, so that a number fits behind it",
				   CONFIG_SET_NAME_MAX);
			continue;
		}
		while (set < p->server_count && !is_member_name(&p->servers[set], s->name))
			set = next_set(p, set + 1);
		if (set == p->server_count)
			continue;
		diag_error(b->diag, DIAG_CONFLICT, p->server_at[i],
			   "'%s' is a name that the set '%s' gives to its servers", s->name,
			   p->servers[set].name);
		diag_hint(b->diag, "choose another name; the set is on %s",
			  diag_where(b->diag, p->server_at[i], p->server_at[set]));
	}
}

static const struct proxy *find_backend(const struct build *b, const char *name)
{
	for (size_t i = build_first_of_name(b, name);
	     i < b->proxy_count && strcmp(b->by_name[i]->section->name, name) == 0; i++)
		if (build_is_backend(b->by_name[i]))
			return b->by_name[i];
	return NULL;
}

static void report_no_backend(struct build *b, const char *name, struct at at)
{
	const struct section *front = document_find(b->doc, IN_FRONTEND | IN_LISTEN, name);
	struct suggest near;

	diag_error(b->diag, DIAG_UNDEFINED_BACKEND, at, "backend '%s' is not defined", name);
	suggest_init(&near, name);
	for (size_t i = 0; i < b->proxy_count; i++) {
		if (build_is_backend(&b->proxies[i]))
			suggest_offer(&near, b->proxies[i].section->name, b->proxies[i].section);
	}
	if (near.best != NULL)
		diag_hint(b->diag, "did you mean '%s' (%s)?", near.best,
			  diag_where(b->diag, at, ((const struct section *)near.thing)->at));
	else if (front != NULL)
		diag_hint(b->diag, "'%s' is a %s", name, section_word(front->kind));
	else
		diag_hint(b->diag, "write a section [backend %s]", name);
}

const struct proxy *build_refer(struct build *b, const char *name, struct at at)
{
	const struct proxy *target = find_backend(b, name);

	if (target == NULL && !document_is_broken(b->doc, name))
		report_no_backend(b, name, at);
	return target;
}

static void validate_frontend(struct build *b, struct proxy *p)
{
	const struct section *s = p->section;
	const char *word = section_word(s->kind);

	if (p->bind_count == 0 && (s->bad & SECTION_BAD_BIND) == 0) {
		diag_error(b->diag, DIAG_MISSING, s->at, "[%s %s] has no 'bind'", word, s->name);
		diag_hint(b->diag, "add a line such as: bind = :8080");
	}
	for (size_t i = 0; i < p->route_count; i++)
		p->routes[i].target = build_refer(b, p->routes[i].name, p->routes[i].at);
	if (p->backend_name != NULL) {
		p->target = build_refer(b, p->backend_name, p->backend_at);
		if (p->server_count > 0) {
			diag_error(b->diag, DIAG_CONFLICT, p->backend_at,
				   "[listen %s] has servers of its own", s->name);
			diag_hint(b->diag, "leave out either the servers or 'default-backend'");
		}
		return;
	}
	p->target = p;
	if (s->kind == IN_FRONTEND && p->route_count > 0) {
		p->routes_only = true;
		p->target = p->routes[0].target;
	} else if (s->kind == IN_FRONTEND && (s->bad & SECTION_BAD_BACKEND) == 0) {
		diag_error(b->diag, DIAG_MISSING, s->at, "[frontend %s] has no backend", s->name);
		diag_hint(b->diag, "add a line such as: default-backend = NAME, or use-backend lines");
	} else if (s->kind == IN_LISTEN && p->server_count == 0 &&
		   (s->bad & (SECTION_BAD_SERVER | SECTION_BAD_BACKEND)) == 0) {
		diag_error(b->diag, DIAG_MISSING, s->at, "[listen %s] has no server", s->name);
		diag_hint(b->diag, "add a line such as: server a = 10.0.0.1:80");
	}
}

static void validate_backend(struct build *b, const struct proxy *p)
{
	const struct section *s = p->section;

	if (p->server_count == 0 && (s->bad & SECTION_BAD_SERVER) == 0) {
		diag_warning(b->diag, DIAG_MISSING, s->at, "[backend %s] has no server", s->name);
		diag_hint(b->diag, "every connection to it will be closed");
	}
}

static void validate_bind_names(struct build *b, const struct proxy *p)
{
	for (size_t i = 1; i < p->bind_count; i++) {
		for (size_t j = 0; j < i && p->binds[i].name[0] != '\0'; j++) {
			if (strcmp(p->binds[i].name, p->binds[j].name) != 0)
				continue;
			diag_error(b->diag, DIAG_DUPLICATE, p->bind_at[i],
				   "bind '%s' is already defined in '%s'", p->binds[i].name,
				   p->section->name);
			diag_hint(b->diag, "first on %s", diag_where(b->diag, p->bind_at[i], p->bind_at[j]));
			break;
		}
	}
}

/* Any mistake elsewhere may be the reason that nobody uses it. */
static void validate_use(struct build *b, const struct proxy *p)
{
	if (p->is_used || b->diag->errors > 0)
		return;
	diag_warning(b->diag, DIAG_NO_EFFECT, p->section->at, "no frontend uses [backend %s]",
		     p->section->name);
	diag_hint(b->diag,
		  "name it in 'default-backend', 'use-backend' or 'fallback-backend', or leave it out");
}

/* A configuration that does nothing is a mistake, unless its sections had errors. */
static void validate_any_frontend(struct build *b)
{
	struct at whole = {.source = b->doc->sources[0]};

	for (size_t i = 0; i < b->proxy_count; i++) {
		if (is_frontend(&b->proxies[i]))
			return;
	}
	if (b->diag->errors > 0)
		return;
	diag_error(b->diag, DIAG_MISSING, whole, "this configuration does nothing");
	diag_hint(b->diag, "it has no [listen] and no [frontend]: add one");
}

void build_validate(struct build *b)
{
	build_split_families(b);
	build_validate_binds(b);
	build_sort_sections(b);
	validate_section_names(b);
	for (size_t i = 0; i < b->proxy_count; i++) {
		struct proxy *p = &b->proxies[i];

		validate_bind_names(b, p);
		validate_server_names(b, p);
		validate_member_names(b, p);
		if (p->duplicate)
			continue;
		if (is_frontend(p))
			validate_frontend(b, p);
		else
			validate_backend(b, p);
	}
	build_validate_fallbacks(b);
	build_mark_used(b);
	build_validate_persist(b);
	for (size_t i = 0; i < b->proxy_count; i++) {
		if (b->proxies[i].duplicate)
			continue;
		build_validate_options(b, &b->proxies[i]);
		build_validate_ports(b, &b->proxies[i]);
		build_validate_egress(b, &b->proxies[i]);
	}
	build_validate_stats(b);
	build_validate_exec(b);
	validate_any_frontend(b);
	for (size_t i = 0; i < b->proxy_count; i++)
		if (b->proxies[i].section->kind == IN_BACKEND && !b->proxies[i].duplicate)
			validate_use(b, &b->proxies[i]);
}
