/* SPDX-License-Identifier: MIT
 *
 * words.c - cuts a line into words as HAProxy does: quotes, escapes, comments (its manual, 2.2).
 *
 * A variable, which HAProxy replaces between double quotes, stays as ${NAME}: weir reads that too, when it
 * starts. Pure. Any thread.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "weir/haproxy/haproxy.h"

struct cutting {
	struct arena *arena;
	const char *at;
	char *out; /* of the word: never longer than what is left of the line, twice for ${ } */
	size_t len;
	const char *error;
};

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/* After a backslash, outside single quotes. */
static void take_escape(struct cutting *c, bool quoted)
{
	const char e = *c->at;

	if (e == 'n' || e == 'r' || e == 't') {
		c->out[c->len++] = e == 'n' ? '\n' : e == 'r' ? '\r' : '\t';
	} else if (e == 'x') {
		const int high = hex(c->at[1]), low = high >= 0 ? hex(c->at[2]) : -1;

		if (low < 0 || (high | low) == 0) {
			c->error = "'\\x' needs two hexadecimal digits, not 00";
			return;
		}
		c->out[c->len++] = (char)(high * 16 + low);
		c->at += 2;
	} else if (e == '\0') {
		c->error = "a backslash at the end of the line";
		return;
	} else if (strchr(" \\\"'#$\t", e) != NULL || !quoted) {
		if (strchr(" \\\"'#$\t", e) == NULL)
			c->out[c->len++] = '\\';
		c->out[c->len++] = e;
	} else {
		c->out[c->len++] = '\\';
		c->out[c->len++] = e;
	}
	c->at++;
}

/* A variable between double quotes; `at` is on the '$'. */
static void take_variable(struct cutting *c)
{
	const bool braces = c->at[1] == '{';
	const char *name = c->at + (braces ? 2 : 1), *end = name, *minus;
	size_t len;

	if (braces)
		end += strcspn(end, "}\"");
	else
		while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
			end++;
	if (end == name || (braces && *end != '}')) {
		c->error = "a '$' that begins no variable";
		return;
	}
	len = (size_t)(end - name);
	minus = memchr(name, '-', len);
	c->out[c->len++] = '$';
	c->out[c->len++] = '{';
	for (const char *p = name; p < end; p++) {
		if (p == minus)
			c->out[c->len++] = ':';
		c->out[c->len++] = *p;
	}
	c->out[c->len++] = '}';
	c->at = end + (braces ? 1 : 0);
}

/* Takes what is between quotes; `at` is on the first. */
static void take_quoted(struct cutting *c)
{
	const char quote = *c->at++;

	while (*c->at != quote && c->error == NULL) {
		if (*c->at == '\0') {
			c->error = quote == '"' ? "a double quote that is not closed"
						: "a single quote that is not closed";
		} else if (quote == '"' && *c->at == '\\') {
			c->at++;
			take_escape(c, true);
		} else if (quote == '"' && *c->at == '$') {
			take_variable(c);
		} else {
			c->out[c->len++] = *c->at++;
		}
	}
	if (c->error == NULL)
		c->at++;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void take_word(struct cutting *c)
{
	while (*c->at != '\0' && !is_blank(*c->at) && *c->at != '#' && c->error == NULL) {
		if (*c->at == '"' || *c->at == '\'') {
			take_quoted(c);
		} else if (*c->at == '\\') {
			c->at++;
			take_escape(c, false);
		} else {
			c->out[c->len++] = *c->at++;
		}
	}
}

int haproxy_words(struct arena *a, const char *text, const char **words, size_t max, const char **comment,
		  const char **error)
{
	char *room = arena_alloc(a, strlen(text) * 4 + 8);
	struct cutting c = {.arena = a, .at = text, .out = room};
	size_t count = 0;

	*comment = NULL;
	*error = NULL;
	for (;;) {
		while (is_blank(*c.at))
			c.at++;
		if (*c.at == '#')
			*comment = c.at + 1;
		if (*c.at == '#' || *c.at == '\0')
			return (int)count;
		c.len = 0;
		take_word(&c);
		if (c.error == NULL && count == max)
			c.error = "too many words";
		if (c.error != NULL) {
			*error = c.error;
			return -1;
		}
		words[count++] = arena_strndup(a, c.out, c.len);
	}
}
