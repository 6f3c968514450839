/* SPDX-License-Identifier: MIT
 *
 * terms.c - HAProxy's conditions: acl lines, and what follows `if` and `unless`.
 *
 * A condition becomes alternatives of terms that must all hold, as `use-backend` lines are. Main thread.
 */
#include <string.h>

#include "acl.h"
#include "weir/base/check.h"

#define TERMS_MAX     16
#define ACL_WORDS_MAX 4096 /* of the acl lines of one name: each rule that names it has them all */

/* Adds the term to an alternative. False: it has too many. */
static bool add_term(struct term **terms, size_t *count, struct term *t)
{
	if (*count == TERMS_MAX)
		return false;
	terms[(*count)++] = t;
	return true;
}

/* The terms of all acl lines of one name: each is an alternative. */
struct named {
	struct term **terms;
	size_t count;
	size_t words; /* of the lines */
};

/* Is the value a list, so that two terms of this kind are one? */
static bool has_list(enum term_kind kind)
{
	return kind == TERM_SRC || kind == TERM_SNI || kind == TERM_PORT || kind == TERM_ALPN;
}

/* Makes one term of all those of a kind: the first, in its place. */
static void join_kind(struct arena *a, struct named *n, enum term_kind kind)
{
	const char **values = arena_alloc(a, (n->count + 1) * sizeof(*values));
	struct term *first = NULL;
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct term *t = n->terms[i];

		if (t->kind != kind || first == NULL)
			n->terms[kept++] = t;
		if (t->kind != kind)
			continue;
		values[count++] = t->value;
		if (first == NULL) {
			first = t;
			continue;
		}
		first->file = first->file || t->file;
		first->differs = t->differs != NULL ? t->differs : first->differs;
		t->same = first->same;
		first->same = t;
	}
	n->count = kept;
	if (count > 1)
		first->value = work_joined(a, values, count, ",");
}

/* Reads the acl lines of a name, once. */
static const struct named *named(struct haproxy *h, struct proxy *p, const char *name)
{
	const struct old_lines *acls = &p->lists[LIST_ACL];
	struct named *n = index_find(&p->acls, name);

	if (n != NULL)
		return n;
	n = arena_alloc(h->arena, sizeof(*n));
	*n = (struct named){.count = 0};
	for (size_t i = 0; i < acls->count && n->words <= ACL_WORDS_MAX; i++) {
		struct old_line *line = acls->list[i];

		if (strcmp(old_word(line, 1), name) != 0 || line->count <= 2)
			continue;
		n->terms = arena_grow(h->arena, n->terms, n->count, sizeof(struct term *));
		n->terms[n->count++] =
		    haproxy_term(h, p, line->words + 2, line->count - 2, line);
		n->words += line->count - 2;
	}
	for (enum term_kind kind = 0; kind <= TERM_OTHER && n->count > 1; kind++)
		if (has_list(kind))
			join_kind(h->arena, n, kind);
	index_put(h->arena, &p->acls, name, n);
	return n;
}

/* Alternatives while one conjunction is read. */
struct product {
	struct term *terms[64][TERMS_MAX];
	size_t counts[64];
	size_t count;
};

/* Every alternative so far, with each of `found`. */
static bool multiply(struct haproxy *h, struct product *x, struct term *const *found, size_t count,
		     bool negated)
{
	const size_t before = x->count;

	if (negated) { /* none of them: all negated must hold */
		for (size_t i = 0; i < before; i++)
			for (size_t f = 0; f < count; f++) {
				struct term *t = arena_alloc(h->arena, sizeof(*t));

				*t = *found[f];
				t->negated = !t->negated;
				if (!add_term(x->terms[i], &x->counts[i], t))
					return false;
			}
		return true;
	}
	if (before * count > 64)
		return false;
	for (size_t f = 1; f < count; f++)
		for (size_t i = 0; i < before; i++) {
			memcpy(x->terms[x->count], x->terms[i], sizeof(x->terms[0]));
			x->counts[x->count] = x->counts[i];
			if (!add_term(x->terms[x->count], &x->counts[x->count], found[f]))
				return false;
			x->count++;
		}
	for (size_t i = 0; i < before; i++)
		if (!add_term(x->terms[i], &x->counts[i], found[0]))
			return false;
	return true;
}

static bool flush(struct haproxy *h, struct product *x, struct condition *c)
{
	for (size_t i = 0; i < x->count; i++) {
		if (c->count == ARRAY_LEN(c->all))
			return false;
		c->all[c->count] = arena_alloc(h->arena, sizeof(x->terms[0]));
		memcpy(c->all[c->count], x->terms[i], sizeof(x->terms[0]));
		c->counts[c->count++] = x->counts[i];
	}
	x->count = 1;
	x->counts[0] = 0;
	return true;
}

/* Takes an acl, or one of HAProxy's own names. */
static bool take_name(struct haproxy *h, struct proxy *p, const char *name, struct product *x, bool negated,
		      struct condition *c)
{
	const struct named *n = named(h, p, name);
	struct term **found = arena_alloc(h->arena, (n->count + 1) * sizeof(*found));

	if (n->words > ACL_WORDS_MAX) {
		c->error = arena_printf(h->arena,
					"more than %d words in the acl lines '%s': put the values into a "
					"file, acl %s ... -f FILE",
					ACL_WORDS_MAX, name, name);
		return false;
	}
	for (size_t i = 0; i < n->count; i++) { /* copies: a rule may turn them round */
		found[i] = arena_alloc(h->arena, sizeof(*found[i]));
		*found[i] = *n->terms[i];
	}
	if (n->count > 0)
		return multiply(h, x, found, n->count, negated);
	found[0] = arena_alloc(h->arena, sizeof(*found[0]));
	found[0]->name = "";
	if (!haproxy_predefined(name, found[0])) {
		found[0]->kind = TERM_OTHER;
		found[0]->value = arena_printf(h->arena, "there is no acl '%s' here", name);
	}
	return multiply(h, x, found, 1, negated);
}

/* Takes one term at `words`; returns how many words it has, 0 after an error. */
static size_t take_one(struct haproxy *h, struct proxy *p, const char *const *words, size_t count,
		       struct product *x, struct condition *c)
{
	bool negated = false, fine;
	size_t at = 0;
	const char *name = words[0];

	while (name[0] == '!') {
		negated = !negated;
		name++;
		if (name[0] == '\0' && at + 1 < count)
			name = words[++at];
	}
	if (strcmp(name, "{") == 0) {
		struct term *found;
		size_t end = at + 1;

		while (end < count && strcmp(words[end], "}") != 0)
			end++;
		if (end == count || end == at + 1) {
			c->error = "a '{' without its '}'";
			return 0;
		}
		found = haproxy_term(h, p, words + at + 1, end - at - 1, NULL);
		fine = multiply(h, x, &found, 1, negated);
		at = end;
	} else {
		fine = take_name(h, p, name, x, negated, c);
	}
	if (!fine && c->error == NULL)
		c->error = "too many alternatives";
	return fine ? at + 1 : 0;
}

void haproxy_terms(struct haproxy *h, struct proxy *p, const char *const *words, size_t count, bool unless,
		   struct condition *c)
{
	struct product *x = arena_alloc(h->arena, sizeof(*x));

	*c = (struct condition){.count = 0};
	x->count = 1;
	for (size_t i = 0; i < count;) {
		size_t used;

		if (strcmp(words[i], "or") == 0 || strcmp(words[i], "||") == 0) {
			if (!flush(h, x, c))
				c->error = "too many alternatives";
			i++;
			continue;
		}
		used = take_one(h, p, words + i, count - i, x, c);
		if (used == 0)
			return;
		i += used;
	}
	if (!flush(h, x, c))
		c->error = "too many alternatives";
	if (!unless)
		return;
	/* Not (a or b) is (not a and not b); not (a and b) is two alternatives. */
	if (c->count == 1) {
		struct term **all = c->all[0];
		const size_t terms = c->counts[0];

		for (size_t i = 0; i < terms; i++) {
			all[i]->negated = !all[i]->negated;
			c->all[i] = &all[i];
			c->counts[i] = 1;
		}
		c->count = terms;
		return;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (c->counts[i] != 1)
			c->error = "'unless' with alternatives";
		else
			c->all[i][0]->negated = !c->all[i][0]->negated;
		if (i > 0 && c->error == NULL)
			c->all[0][c->counts[0]++] = c->all[i][0];
		if (c->counts[0] >= TERMS_MAX)
			c->error = "too many alternatives";
		if (c->error != NULL)
			return;
	}
	c->count = 1;
}

const struct term *condition_other(const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			if (c->all[i][t]->kind == TERM_OTHER)
				return c->all[i][t];
	return NULL;
}

static bool is_false(const struct term *t)
{
	return (t->kind == TERM_FALSE && !t->negated) || (t->kind == TERM_TRUE && t->negated);
}

bool condition_never_holds(const struct condition *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			if (is_false(c->all[i][t])) {
				count++;
				break;
			}
	return count == c->count;
}

bool condition_has_name(const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++) {
			const struct term *term = c->all[i][t];

			if (term->negated || (term->kind != TERM_TRUE && term->kind != TERM_TLS &&
					      term->kind != TERM_ANY_SNI && term->kind != TERM_DATA))
				return false;
		}
	return c->error == NULL;
}

void condition_carried(struct haproxy *h, const struct condition *c)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t t = 0; t < c->counts[i]; t++)
			for (const struct term *same = c->all[i][t]; same != NULL; same = same->same)
				if (same->acl != NULL)
					old_set(h->arena, same->acl, OLD_CARRIED, NULL);
}

const char *haproxy_sample_of(struct haproxy *h, const struct proxy *p, const char *criterion)
{
	const struct old_lines *rules = &p->lists[LIST_RULE];
	const char *name, *sample = NULL;

	if (strncmp(criterion, "var(", 4) != 0)
		return NULL;
	name = arena_printf(h->arena, "set-var(%.*s)", (int)strcspn(criterion + 4, ",)"), criterion + 4);
	for (size_t i = 0; i < rules->count; i++) {
		const struct old_line *line = rules->list[i];

		if (strcmp(old_word(line, 2), name) != 0)
			continue;
		if (sample != NULL || line->count != 4)
			return NULL;
		sample = line->words[3];
	}
	return sample;
}
