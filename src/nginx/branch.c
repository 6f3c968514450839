/* SPDX-License-Identifier: MIT
 *
 * branch.c - the clients of a branch, and the line that they get.
 *
 * Main thread.
 */
#include <string.h>

#include "branch.h"
#include "weir/base/check.h"

/* The words of a use-backend line for the clients of a branch; "" = all. */
static const char *words_of(struct routing *r, const struct branch *b)
{
	const char *words = "";

	for (size_t i = 0; i < b->count; i++)
		words = ini_join(r->n->arena, words,
				 arena_printf(r->n->arena, "%s=%s", nginx_subject_word(b->order[i]),
					      b->written[b->order[i]]));
	return words;
}

static void add_use_backend(struct routing *r, struct old_line *from, const char *name, const char *words)
{
	struct arena *a = r->n->arena;
	struct ini_line *line;

	line = ini_add(r->n->ini, r->pass->s, from, arena_printf(a, "use-backend %s", name), "%s", words);
	if (strchr(words, '@') != NULL)
		line->stand_in = work_without_files(a, words);
}

void branch_refuse(struct routing *r, const struct branch *b)
{
	const char *words = words_of(r, b);

	r->refused = true;
	if (words[0] != '\0')
		add_use_backend(r, NULL, nginx_closed(r->n), words);
}

void branch_lose(struct routing *r, const struct branch *b, const char *why)
{
	old_set(r->n->arena, b->line, OLD_LOST, "%s", why);
	branch_refuse(r, b);
}

/* nginx closes a client whose target is neither an upstream nor has a port. Without all files, it may be an
 * upstream of one that is missing. */
static bool leads_nowhere(const struct nginx *n, const char *target)
{
	return n->whole && strpbrk(target, ":$/") == NULL && nginx_block(n, "upstream", target) == NULL;
}

void branch_end(struct routing *r, const struct branch *b)
{
	struct nginx *n = r->n;
	const bool nowhere = b->target[0] != '\0' && leads_nowhere(n, b->target);
	const bool closes = nowhere || b->target[0] == '\0' || b->target[0] == ':';
	const char *words = words_of(r, b), *name;

	if (nowhere)
		old_set(n->arena, b->line, OLD_DIFFERENT,
			"there is no upstream '%s', and an address has a port: nginx logs that and closes "
			"these clients, as weir does",
			b->target);
	if (closes && words[0] == '\0') {
		old_set(n->arena, b->line, OLD_CARRIED, NULL);
		r->ends++;
		return;
	}
	if (strstr(b->target, "$ssl_preread_server_name") != NULL)
		r->sniff = true;
	name = closes ? nginx_closed(n) : nginx_backend(n, b->line, b->target, r->pass->sides);
	if (name == NULL) {
		branch_refuse(r, b);
		return;
	}
	r->ends++;
	if (words[0] == '\0') {
		ini_add(n->ini, r->pass->s, b->line, "default-backend", "%s", name);
		r->has_default = true;
		return;
	}
	r->lines++;
	add_use_backend(r, b->line, name, words);
}

void branch_know(struct routing *r, struct branch *b, const struct old_line *block, const char *value)
{
	struct known *known = arena_alloc(r->n->arena, sizeof(*known));

	*known = (struct known){block, value, b->known};
	b->known = known;
}

void branch_set_keys(struct branch *b, enum nginx_subject subject, const char *keys, const char *written)
{
	if (b->keys[subject] == NULL)
		b->order[b->count++] = subject;
	b->keys[subject] = keys;
	b->written[subject] = written;
}
