/* SPDX-License-Identifier: MIT
 *
 * document.c - the configuration as written: sections with their lines, before interpretation.
 *
 * Main thread.
 */
#include "weir/config/document.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/options.h"

struct source *document_add_source(struct document *doc, const char *name)
{
	struct arena *a = doc->diag->arena;
	struct source *s = source_new(a, name);

	s->index = (unsigned)doc->source_count;
	doc->sources = arena_grow(a, doc->sources, doc->source_count, sizeof(struct source *));
	doc->sources[doc->source_count++] = s;
	return s;
}

struct section *document_find(const struct document *doc, unsigned kinds, const char *name)
{
	for (struct section *s = doc->first; s != NULL; s = s->next) {
		if ((s->kind & kinds) == 0)
			continue;
		if (name == NULL || (s->name != NULL && strcmp(s->name, name) == 0))
			return s;
	}
	return NULL;
}

struct section *document_add_section(struct document *doc, unsigned kind, const char *name, struct at at)
{
	struct section *s;

	check(kind != 0);
	if ((kind & (IN_GLOBAL | IN_STATS | IN_DEFAULTS)) != 0) {
		check(name == NULL);
		s = document_find(doc, kind, NULL);
		if (s != NULL)
			return s;
	}
	s = arena_alloc(doc->diag->arena, sizeof(*s));
	s->kind = kind;
	s->name = name;
	s->at = at;
	if (doc->last != NULL)
		doc->last->next = s;
	else
		doc->first = s;
	doc->last = s;
	return s;
}

struct section *document_add_guessed(struct document *doc, unsigned kind, const char *name, struct at at)
{
	struct section *s;

	/* There is only one of these, and its other lines are in the right place. */
	if ((kind & (IN_GLOBAL | IN_STATS | IN_DEFAULTS)) != 0)
		return document_add_section(doc, kind, NULL, at);
	if (name == NULL || name[0] == '\0')
		name = arena_printf(doc->diag->arena, "of-line-%u", at.line);
	s = document_add_section(doc, kind, name, at);
	s->bad |= SECTION_BAD_LINE;
	s->guessed = true;
	return s;
}

struct section *document_add_broken(struct document *doc, const char *name)
{
	struct arena *a = doc->diag->arena;

	if (name != NULL && name[0] != '\0') {
		doc->broken = arena_grow(a, doc->broken, doc->broken_count, sizeof(*doc->broken));
		doc->broken[doc->broken_count++] = name;
	}
	return arena_alloc(a, sizeof(struct section));
}

bool document_is_broken(const struct document *doc, const char *name)
{
	for (size_t i = 0; i < doc->broken_count; i++) {
		if (strcmp(doc->broken[i], name) == 0)
			return true;
	}
	return false;
}

struct entry *section_add_entry(struct document *doc, struct section *s)
{
	struct entry *e = arena_alloc(doc->diag->arena, sizeof(*e));

	if (s->last != NULL)
		s->last->next = e;
	else
		s->first = e;
	s->last = e;
	return e;
}
