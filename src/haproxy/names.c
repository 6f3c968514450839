/* SPDX-License-Identifier: MIT
 *
 * names.c - names that HAProxy accepts and an INI does not: a colon, two servers or frontends of one
 * name, and regular expressions for names of TLS clients.
 *
 * HAProxy before 2.4 took two servers of one name, and before 1.6 two frontends; many files still have them.
 * Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/draft/pattern.h"

#define NAME_BYTES 63 /* that weir takes */

const char *haproxy_name(struct arena *a, const char *name)
{
	char *out = arena_strndup(a, name, strlen(name));

	for (char *c = out; *c != '\0'; c++)
		if (*c == ':')
			*c = '-';
	return out;
}

const char *haproxy_server_name(struct haproxy *h, struct proxy *p, struct old_line *line, const char *name)
{
	const bool is_long = strlen(name) > NAME_BYTES;
	const char *plain = haproxy_name(h->arena, name), *ours;
	unsigned *last; /* number behind this name */

	/* With room for a number. */
	if (is_long)
		plain = arena_strndup(h->arena, plain, NAME_BYTES - 4);
	ours = plain;
	last = index_find(&p->server_names, plain);
	while (index_find(&p->server_names, ours) != NULL)
		ours = arena_printf(h->arena, "%s-%u", plain, ++*last);
	last = arena_alloc(h->arena, sizeof(*last));
	*last = 1;
	index_put(h->arena, &p->server_names, ours, last);
	if (is_long)
		old_set(h->arena, line, OLD_DIFFERENT, "its name is '%s': a name has at most %d bytes", ours,
			NAME_BYTES);
	else if (strcmp(plain, name) != 0)
		old_set(h->arena, line, OLD_DIFFERENT, "its name is '%s': a colon ends a key", ours);
	else if (strcmp(ours, name) != 0)
		old_set(h->arena, line, OLD_DIFFERENT, "its name is '%s': '%s' is a server before it", ours,
			name);
	return ours;
}

/* Nothing leads to a frontend by its name: the second of one name gets a number. */
const char *haproxy_section_name(struct haproxy *h, struct proxy *p)
{
	const char *name = haproxy_name(h->arena, p->name);

	if (p->kind != PROXY_FRONTEND || p->front == NULL)
		return name;
	p->number = p->front->number + 1;
	name = haproxy_new_name(h, arena_printf(h->arena, "%s-%u", name, p->number + 1));
	old_set(h->arena, p->head, OLD_DIFFERENT, "its name is '%s': '%s' is a section before it", name,
		p->name);
	return name;
}

size_t haproxy_names_of_patterns(struct arena *a, const char **values, size_t count, struct term *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const char *differs;
		const char *names = pattern_names(a, "HAProxy", values[i], &differs);

		if (names == NULL) {
			t->kind = TERM_OTHER;
			t->value = "a regular expression: write the names, or *.NAME";
			return 0;
		}
		if (names[0] != '\0')
			values[kept++] = names;
		t->differs = differs != NULL ? differs : t->differs;
	}
	if (kept == 0) {
		t->kind = TERM_FALSE;
		t->value = "it never holds: no name fits the regular expression";
	}
	return kept;
}
