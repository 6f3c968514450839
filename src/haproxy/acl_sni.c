/* SPDX-License-Identifier: MIT
 *
 * acl_sni.c - criteria of the name that a client of TLS asks for.
 *
 * Main thread.
 */
#include <string.h>

#include "acl.h"

#define UPPER_CASE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A match anywhere in the name. */
static bool is_part(const char *match)
{
	return strcmp(match, "sub") == 0 || strcmp(match, "dom") == 0;
}

/* Is it a value with upper-case letters, for a name in lower case? */
static bool has_upper_case(const struct criterion *c, const char *value)
{
	return c->lowered && !c->any_case && strpbrk(value, UPPER_CASE) != NULL;
}

/* May a client ask for a name that HAProxy finds with this value? Not with a path or a port in it; nor with a
 * star, or a dot at the start of a whole name, which are patterns of weir's. */
static bool may_be_asked_for(const struct criterion *c, const char *value)
{
	const bool whole = c->match[0] == '\0' || strcmp(c->match, "str") == 0;

	return !has_upper_case(c, value) && strpbrk(value, "/:@ *") == NULL && value[0] != '-' &&
	       !(whole && value[0] == '.');
}

/* Drops what no client asks for. False: nothing is left. */
static bool keep_names(struct criterion *c, struct term *t)
{
	bool pattern = false, upper = false;
	size_t kept = 0;

	if (strcmp(c->match, "reg") == 0)
		return true;
	for (size_t i = 0; i < c->count; i++) {
		if (may_be_asked_for(c, c->values[i]))
			c->values[kept++] = c->values[i];
		else if (has_upper_case(c, c->values[i]))
			upper = true;
		else
			pattern = pattern || c->values[i][0] == '*' || c->values[i][0] == '.';
	}
	if (kept == c->count)
		return true;
	c->count = kept;
	t->differs = pattern ? "without what no client asks for: HAProxy compares '*.NAME' letter by letter"
		     : upper ? "without what has upper-case letters: HAProxy compares it with a name in "
			       "lower case"
			     : "without what is no name of a server: no client asks for that";
	if (kept > 0 || c->file_count > 0)
		return true;
	t->kind = TERM_FALSE;
	t->value = "no client asks for such a name";
	if (upper)
		t->value = "it has upper-case letters, and HAProxy compares it with a name in lower case";
	if (pattern)
		t->value = "no client asks for such a name: HAProxy compares '*.NAME' and '.NAME' letter by "
			   "letter; for the names below NAME, write sni=*.NAME";
	return false;
}

void criterion_take_sni(struct arena *a, struct criterion *c, struct term *t)
{
	t->kind = TERM_SNI;
	if (strcmp(c->match, "found") == 0) {
		t->kind = TERM_ANY_SNI;
		return;
	}
	if (strcmp(c->match, "reg") == 0 && c->count > 0) {
		c->count = haproxy_names_of_patterns(a, c->values, c->count, t);
		if (c->count == 0)
			return;
	}
	if (!keep_names(c, t))
		return;
	for (size_t i = 0; i < c->count; i++) {
		const char *v = c->values[i];

		if (strcmp(c->match, "end") == 0 && v[0] == '.') {
			c->values[i] = arena_printf(a, "*%s", v);
		} else if (strcmp(c->match, "end") == 0 ||
			   (is_part(c->match) && v[0] != '\0' && strchr(v + 1, '.') != NULL)) {
			v += v[0] == '.';
			t->differs = arena_printf(a, "only '%s' itself and the names below it", v);
			c->values[i] = arena_printf(a, ".%s", v);
		} else if (c->match[0] != '\0' && strcmp(c->match, "str") != 0 &&
			   strcmp(c->match, "reg") != 0) {
			term_other(a, t, "part of a name: write the names, or *.NAME");
			return;
		}
	}
	if (c->file_count > 0 && c->match[0] != '\0' && strcmp(c->match, "str") != 0) {
		term_other(a, t, "a file of patterns that cannot be read here: convert where it is");
		return;
	}
	t->value = criterion_values(a, c, t);
}
