/* SPDX-License-Identifier: MIT
 *
 * validate_persist.c - `persist`: what a client sends must have been read before its backend is chosen.
 *
 * So each frontend that leads to such a backend, perhaps by a fallback, must read it. Main thread.
 */
#include <string.h>

#include "build.h"

static bool leads_to(const struct proxy *front, const struct proxy *p)
{
	return build_leads_to(front, front->route_count, p);
}

static bool is_frontend(const struct proxy *p)
{
	return (p->section->kind & (IN_FRONTEND | IN_LISTEN)) != 0 && !p->duplicate;
}

static bool persists(const struct proxy *p)
{
	return build_is_backend(p) && !p->duplicate && p->set.persist != CONFIG_PERSIST_OFF;
}

bool build_leads_to_persist(const struct build *b, const struct proxy *front)
{
	for (size_t i = 0; i < b->persisting_count; i++)
		if (leads_to(front, b->persisting[i]))
			return true;
	return false;
}

/* Its own line, or, if the value is that of [defaults], the head of the section. */
static struct at persist_at(const struct proxy *p)
{
	const struct entry *line = build_line_of(p, "persist");

	return line != NULL ? line->key_at : p->section->at;
}

static void report_front(struct build *b, const struct proxy *front, const struct proxy *back)
{
	const char *word = section_word(front->section->kind);

	diag_error(b->diag, DIAG_CONFLICT, persist_at(back),
		   "'persist = rdp' needs 'sniff = rdp' in [%s %s], which leads to '%s'", word,
		   front->section->name, back->section->name);
	if (front->set.sniff.kind == CONFIG_SNIFF_OFF)
		diag_hint(b->diag, "add to [%s %s]: sniff = rdp", word, front->section->name);
	else
		diag_hint(b->diag, "it reads TLS hellos, on %s: give RDP a frontend and a port of its own",
			  diag_where(b->diag, persist_at(back), front->section->at));
}

static void validate_sticky(struct build *b, const struct proxy *p)
{
	if (!persists(p) || p->set.sticky.by == CONFIG_STICKY_OFF)
		return;
	diag_error(b->diag, DIAG_CONFLICT, persist_at(p), "'persist' and 'sticky' exclude each other");
	diag_hint(b->diag, "'persist' follows the cookie of a client, 'sticky' an address: leave one out");
}

void build_validate_persist(struct build *b)
{
	b->persisting = arena_alloc(b->diag->arena, (b->proxy_count + 1) * sizeof(*b->persisting));
	for (size_t i = 0; i < b->proxy_count; i++) {
		validate_sticky(b, &b->proxies[i]);
		if (persists(&b->proxies[i]))
			b->persisting[b->persisting_count++] = &b->proxies[i];
	}
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *front = &b->proxies[i];

		/* A failed line may have been the missing one. */
		if (!is_frontend(front) || front->section->bad != 0 ||
		    front->set.sniff.kind == CONFIG_SNIFF_RDP)
			continue;
		for (size_t j = 0; j < b->persisting_count; j++)
			if (leads_to(front, b->persisting[j]))
				report_front(b, front, b->persisting[j]);
	}
}
