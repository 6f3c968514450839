/* SPDX-License-Identifier: MIT
 *
 * condition.c - the conditions of HAProxy's .if and .elif (its manual, 2.4).
 *
 * Knows the environment, and that nothing here is for QUIC; the version and the other features of a HAProxy
 * are not known. Pure. Any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/text.h"
#include "weir/haproxy/haproxy.h"

#define UNKNOWN	     (-1)
#define EXPANDED_MAX 65536

struct judging {
	char *const *environment;
	struct arena *arena;
	const char *at;
	unsigned depth;
	bool too_long; /* a value of the environment makes an argument longer than EXPANDED_MAX */
};

static int judge_or(struct judging *j);

static void skip(struct judging *j)
{
	j->at += strspn(j->at, " \t");
}

static const char *variable(const struct judging *j, const char *name, size_t len)
{
	for (char *const *e = j->environment; e != NULL && *e != NULL; e++)
		if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

/* Moves the text to the arena. */
static const char *kept(struct judging *j, struct text *out)
{
	const bool failed = out->failed || out->len > EXPANDED_MAX;
	const char *copy;

	if (failed)
		text_free(out);
	j->too_long = j->too_long || failed;
	copy = arena_strndup(j->arena, out->bytes != NULL ? out->bytes : "", out->len);
	text_free(out);
	return copy;
}

/* Replaces ${NAME} and ${NAME:-DEFAULT}. */
static const char *expanded(struct judging *j, const char *text, size_t len)
{
	struct text out;

	text_init(&out);
	for (size_t i = 0; i < len && out.len <= EXPANDED_MAX;) {
		const char *end = text[i] == '$' && i + 1 < len && text[i + 1] == '{'
				      ? memchr(text + i, '}', len - i)
				      : NULL;

		if (end == NULL) {
			text_add(&out, text + i++, 1);
			continue;
		}
		const char *name = text + i + 2;
		const size_t name_len = strcspn(name, ":}");
		const char *value = variable(j, name, name_len);

		if (value != NULL)
			text_add(&out, value, strlen(value));
		else if (name[name_len] == ':' && name + name_len + 2 <= end)
			text_add(&out, name + name_len + 2, (size_t)(end - name) - name_len - 2);
		i = (size_t)(end - text) + 1;
	}
	return kept(j, &out);
}

/* The argument that ends with one of `ends`, expanded; `at` goes behind that. NULL: there is none. */
static const char *argument(struct judging *j, const char *ends)
{
	const char *from = j->at;
	size_t len = 0, open = 0;

	while (from[len] != '\0' && (open > 0 || strchr(ends, from[len]) == NULL)) {
		open += from[len] == '{';
		open -= from[len] == '}' && open > 0;
		len++;
	}
	if (from[len] == '\0')
		return NULL;
	j->at = from + len + 1;
	return expanded(j, from, len);
}

static bool begins(struct judging *j, const char *word)
{
	if (strncmp(j->at, word, strlen(word)) != 0)
		return false;
	j->at += strlen(word);
	return true;
}

static int judge_streq(struct judging *j, bool wanted)
{
	const char *a = argument(j, ","), *b;

	skip(j);
	b = a != NULL ? argument(j, ")") : NULL;
	return b == NULL ? UNKNOWN : (strcmp(a, b) == 0) == wanted;
}

/* A predicate, a number, or a condition between parentheses. */
static int judge_one(struct judging *j)
{
	int result = UNKNOWN;

	skip(j);
	if (++j->depth > OLD_DEPTH_MAX)
		return UNKNOWN;
	if (begins(j, "!")) {
		result = judge_one(j);
		result = result == UNKNOWN ? UNKNOWN : !result;
	} else if (begins(j, "(")) {
		result = judge_or(j);
		skip(j);
		if (!begins(j, ")"))
			result = UNKNOWN;
	} else if (begins(j, "defined(")) {
		const char *name = argument(j, ")");

		result = name == NULL ? UNKNOWN : variable(j, name, strlen(name)) != NULL;
	} else if (begins(j, "feature(QUIC)")) {
		result = 0; /* weir forwards no UDP */
	} else if (begins(j, "streq(")) {
		result = judge_streq(j, true);
	} else if (begins(j, "strneq(")) {
		result = judge_streq(j, false);
	} else if (strspn(j->at, "0123456789") > 0) {
		const size_t digits = strspn(j->at, "0123456789");

		result = strspn(j->at, "0") < digits;
		j->at += digits;
	} else {
		j->at += strcspn(j->at, "&|)");
		if (*j->at == ')')
			j->at++;
	}
	j->depth--;
	return result;
}

static int judge_and(struct judging *j)
{
	int result = judge_one(j);

	for (skip(j); begins(j, "&&"); skip(j)) {
		const int other = judge_one(j);

		if (result == 0 || other == 0)
			result = 0;
		else if (result == UNKNOWN || other == UNKNOWN)
			result = UNKNOWN;
	}
	return result;
}

static int judge_or(struct judging *j)
{
	int result = judge_and(j);

	for (skip(j); begins(j, "||"); skip(j)) {
		const int other = judge_and(j);

		if (result == 1 || other == 1)
			result = 1;
		else if (result == UNKNOWN || other == UNKNOWN)
			result = UNKNOWN;
	}
	return result;
}

int haproxy_condition(struct arena *a, char *const *environment, const char *text)
{
	struct judging j = {.environment = environment, .arena = a, .at = text};
	int result;

	skip(&j);
	if (*j.at == '\0')
		return 0;
	result = judge_or(&j);
	skip(&j);
	return *j.at != '\0' || j.too_long ? UNKNOWN : result;
}
