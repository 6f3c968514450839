/* SPDX-License-Identifier: MIT
 *
 * match.c - the words of a use-backend line: all of them must hold, and there is one list of a kind.
 *
 * Pure. Main thread.
 */
#include "match.h"

#include <string.h>

#include "weir/base/check.h"

/* Only whole names, or only single ports? */
static bool is_plain(enum term_kind kind, const char *list)
{
	if (kind == TERM_PORT)
		return strpbrk(list, "-@") == NULL;
	if (kind == TERM_HTTP)
		return true;
	return kind == TERM_SNI && list[0] != '.' && strstr(list, ",.") == NULL &&
	       strpbrk(list, "*@") == NULL && strcmp(list, "any") != 0 && strcmp(list, "none") != 0;
}

/* What two plain lists have in common. */
static const char *common(struct arena *a, const char *first, const char *second)
{
	struct work_list list = {.count = 0}, other = {.count = 0}, both = {.count = 0};

	work_list_split(a, &list, first);
	work_list_split(a, &other, second);
	for (size_t i = 0; i < list.count; i++)
		for (size_t n = 0; n < other.count; n++)
			if (strcasecmp(list.items[i], other.items[n]) == 0)
				work_list_add(a, &both, list.items[i]);
	return work_joined(a, both.items, both.count, ",");
}

static bool is_hello(const struct words *w)
{
	return w->value[TERM_SNI] != NULL || w->value[TERM_ALPN] != NULL;
}

/* A name or a protocol can only come from a hello. */
static void settle_proto(struct words *w)
{
	const char *list = w->value[TERM_HTTP];

	if (list == NULL || !is_hello(w))
		return;
	if (strstr(list, "tls") == NULL)
		w->never = "it never holds";
	w->value[TERM_HTTP] = NULL;
}

/* "any" and "none" of sni: with a list of names, the list counts. True: done. */
static bool put_any_or_none(struct words *w, const char *value)
{
	const char *before = w->value[TERM_SNI];

	if (strcmp(before, "none") == 0 || strcmp(value, "none") == 0) {
		w->never = "it never holds";
		return true;
	}
	if (strcmp(before, "any") == 0)
		w->value[TERM_SNI] = value;
	return strcmp(before, "any") == 0 || strcmp(value, "any") == 0;
}

void match_put(struct arena *a, struct words *w, enum term_kind kind, const char *value)
{
	const char *before = w->value[kind], *both;

	if (before != NULL && strcmp(before, value) == 0)
		return;
	if (before != NULL && kind == TERM_SNI && put_any_or_none(w, value))
		return;
	if (before == NULL) {
		w->value[kind] = value;
		settle_proto(w);
		return;
	}
	if (!is_plain(kind, before) || !is_plain(kind, value)) {
		w->error = "two lists that a client must be in both of";
		return;
	}
	both = common(a, before, value);
	if (both[0] == '\0')
		w->never = "it never holds";
	/* The same text stays the same pointer: callers ask whether anything was added. */
	if (strcmp(both, before) != 0)
		w->value[kind] = both;
}

/* A list that a client must not be in. */
static void put_without(struct words *w, const struct term *t)
{
	if (w->value[t->kind] != NULL && strcmp(w->value[t->kind], t->value) == 0)
		w->never = "it never holds";
	else if (w->without_count == WITHOUT_MAX)
		w->error = "too many lists that a client must not be in";
	else
		w->without[w->without_count++] = t;
}

static void leave_out(struct arena *a, struct words *w, enum term_kind kind, const char *value)
{
	struct term *t = arena_alloc(a, sizeof(*t));

	*t = (struct term){.kind = kind, .value = value, .name = ""};
	put_without(w, t);
}

#define PROTOS "tls,http,ssh,other"

static const char *const protos[] = {
    [TERM_TLS] = "tls", [TERM_HTTP] = "http", [TERM_SSH] = "ssh", [TERM_DATA] = PROTOS};

/* What else a client may speak that has sent anything. */
static const char *others_than(const char *proto)
{
	return proto[0] == 't'		 ? "http,ssh,other"
	       : strcmp(proto, "http") == 0 ? "tls,ssh,other"
					 : "tls,http,other";
}

static void put_proto(struct arena *a, struct words *w, const struct term *t)
{
	const char *list = protos[t->kind];

	if (!t->negated)
		match_put(a, w, TERM_HTTP, list);
	else if (t->kind == TERM_DATA && (is_hello(w) || w->value[TERM_HTTP] != NULL))
		w->never = "it never holds";
	else if (t->kind == TERM_DATA || (!is_hello(w) && w->value[TERM_HTTP] == NULL))
		leave_out(a, w, TERM_HTTP, list);
	else if (!is_hello(w))
		match_put(a, w, TERM_HTTP, others_than(list));
	else if (t->kind == TERM_TLS)
		w->never = "it never holds";
}

/* Does everyone who gets here speak TLS, does nobody, or is it open? */
static void put_any_sni(struct arena *a, struct words *w, const struct term *t)
{
	const char *list = w->value[TERM_HTTP];

	if (!t->negated)
		match_put(a, w, TERM_SNI, "any");
	else if (is_hello(w) || (list != NULL && strcmp(list, "tls") == 0))
		match_put(a, w, TERM_SNI, "none");
	else if (list == NULL || strstr(list, "tls") != NULL)
		leave_out(a, w, TERM_SNI, "any");
}

const char *match_approach(struct arena *a, struct words *w)
{
	const char *how = NULL;

	for (size_t i = 0; i < w->without_count; i++) {
		const struct term *t = w->without[i];

		if (t->kind == TERM_HTTP && strcmp(t->value, PROTOS) != 0) {
			match_put(a, w, TERM_HTTP, others_than(t->value));
			how = "not for a client that has sent nothing";
		} else if (t->kind == TERM_SNI && strcmp(t->value, "any") == 0) {
			match_put(a, w, TERM_SNI, "none");
			how = "only for clients that speak TLS";
		} else {
			return NULL;
		}
	}
	w->without_count = 0;
	return how;
}

/* Adds what a term asks for. */
static void add(struct arena *a, struct old_line *line, struct words *w, const struct term *t)
{
	switch (t->kind) {
	case TERM_TRUE:
	case TERM_FALSE:
		if ((t->kind == TERM_TRUE) == t->negated)
			w->never = t->value != NULL ? t->value : "it never holds";
		return;
	case TERM_TLS:
	case TERM_HTTP:
	case TERM_SSH:
	case TERM_DATA:
		put_proto(a, w, t);
		break;
	case TERM_ANY_SNI:
		put_any_sni(a, w, t);
		break;
	case TERM_SRC:
	case TERM_PORT:
	case TERM_SNI:
	case TERM_ALPN:
		if (t->negated) {
			put_without(w, t);
		} else {
			match_put(a, w, t->kind, t->value);
			w->file = w->file || t->file;
		}
		break;
	default:
		w->error = "a route cannot depend on that";
	}
	if (t->differs != NULL)
		old_set(a, line, OLD_DIFFERENT, "%s", t->differs);
}

/* Is the alternative for clients that have sent nothing? Then they speak nothing, either. */
static bool is_silent(const struct condition *c, size_t alternative)
{
	for (size_t t = 0; t < c->counts[alternative]; t++)
		if (c->all[alternative][t]->kind == TERM_DATA && c->all[alternative][t]->negated)
			return true;
	return false;
}

static bool is_of_data(enum term_kind kind)
{
	return kind == TERM_TLS || kind == TERM_HTTP || kind == TERM_SSH || kind == TERM_SNI ||
	       kind == TERM_ANY_SNI || kind == TERM_ALPN;
}

struct words match_words(struct arena *a, struct old_line *line, const struct condition *c,
			 size_t alternative, const struct words *base)
{
	const bool silent = is_silent(c, alternative);
	struct words w = *base;

	for (unsigned negated = 0; negated < 2; negated++)
		for (size_t n = 0; n < c->counts[alternative]; n++) {
			const struct term *t = c->all[alternative][n];

			if (t->negated == (negated == 1) && !(t->negated && silent && is_of_data(t->kind)))
				add(a, line, &w, t);
		}
	return w;
}

bool match_is_data(const struct term *t)
{
	return t->kind == TERM_HTTP && strcmp(t->value, PROTOS) == 0;
}

const char *match_open_protos(struct arena *a, const char *list, const struct ini_section *s)
{
	struct work_list open = {.count = 0}, protos_left = {.count = 0};

	work_list_split(a, &open, list);
	for (size_t i = 0; i < open.count; i++) {
		bool taken = false;

		for (size_t n = 0; n < s->count && !taken; n++) {
			const char *words = s->lines[n].value;

			if (strncmp(s->lines[n].key, "use-backend ", 12) == 0 &&
			    strncmp(words, "proto=", 6) == 0 && strchr(words, ' ') == NULL)
				taken = common(a, open.items[i], words + 6)[0] != '\0';
		}
		if (!taken)
			work_list_add(a, &protos_left, open.items[i]);
	}
	return work_joined(a, protos_left.items, protos_left.count, ",");
}
