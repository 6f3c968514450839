/* SPDX-License-Identifier: MIT
 *
 * check.c - health_check with its match block, and 'check' of nginx_upstream_check_module.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

#define UP_FIRST "servers of weir are up until checks fail"

static const char *value_of(const struct old_line *line, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 1; i < line->count; i++)
		if (strncmp(line->words[i], name, len) == 0 && line->words[i][len] == '=')
			return line->words[i] + len + 1;
	return NULL;
}

/* ---- match { } ---- */

/* The bytes of "\x01" and "\r": nginx decodes them in send and expect. */
static size_t decode(char *out, const char *text)
{
	size_t len = 0;

	while (*text != '\0') {
		if (text[0] == '\\' && text[1] == 'x' && text[2] != '\0' && text[3] != '\0') {
			const char hex[] = {text[2], text[3], '\0'};

			out[len++] = (char)strtoul(hex, NULL, 16);
			text += 4;
		} else {
			out[len++] = *text++;
		}
	}
	return len;
}

static const char *quoted(struct arena *a, const char *text)
{
	char *bytes = arena_alloc(a, strlen(text) + 1);
	const size_t len = decode(bytes, text);

	return ini_quote(a, bytes, len);
}

/* send and expect of a match block, as words of a check line. NULL after saying why. */
static const char *exchange(struct nginx *n, struct old_line *block)
{
	const char *send = "", *expect = "";

	old_set(n->arena, block, OLD_CARRIED, NULL);
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];
		const bool pattern = line->count > 2 && old_word(line, 1)[0] == '~';
		const char *text = old_word(line, pattern ? 2 : 1);
		const bool any_case = pattern && old_word(line, 1)[1] == '*';

		if (strcmp(line->words[0], "send") == 0 && line->count == 2) {
			send = arena_printf(n->arena, "send %s", quoted(n->arena, text));
			old_set(n->arena, line, OLD_CARRIED, NULL);
		} else if (strcmp(line->words[0], "expect") == 0 && line->count == (pattern ? 3 : 2) &&
			   text[0] != '!' &&
			   !(pattern && strpbrk(text, "^$.*+?()[]{}|") != NULL)) {
			expect = arena_printf(n->arena, "expect=%s", quoted(n->arena, text));
			old_set(n->arena, line, OLD_CARRIED, NULL);
			if (any_case)
				old_set(n->arena, line, OLD_DIFFERENT, "expect= tells upper case from lower");
		} else {
			old_set(n->arena, line, OLD_LOST, "write 'check = send TEXT expect=TEXT'");
			return NULL;
		}
	}
	return ini_join(n->arena, send, expect);
}

/* ---- health_check ---- */

/* A word that has no line of ours, or one of its own. */
static void take_word(struct nginx *n, struct old_line *line, const char *word)
{
	static const char *const names[] = {"interval=", "fails=", "passes=", "match=", "port="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(word, names[i], strlen(names[i])) == 0)
			return;
	if (strncmp(word, "jitter=", 7) == 0)
		old_set(n->arena, line, OLD_DIFFERENT, "'%s': weir spreads checks by itself", word);
	else if (strcmp(word, "mandatory") == 0 || strcmp(word, "persistent") == 0)
		old_set(n->arena, line, OLD_DIFFERENT, "'%s': " UP_FIRST, word);
	else
		old_set(n->arena, line, OLD_LOST, "'%s' of health_check", word);
}

static void add_side(struct nginx_sides *sides, struct old_line *line, const char *key, const char *value)
{
	if (sides->count < ARRAY_LEN(sides->list))
		sides->list[sides->count++] = (struct nginx_side){key, value, line};
}

static const char *or_else(const char *text, const char *otherwise)
{
	return text != NULL ? text : otherwise;
}

void nginx_health_check(struct nginx *n, struct old_line *line, struct old_line *timeout,
			struct nginx_sides *sides)
{
	const char *match = value_of(line, "match"), *port = value_of(line, "port"), *text = "tcp";
	const char *interval = nginx_duration(n->arena, or_else(value_of(line, "interval"), "5"));
	const char *limit = nginx_duration(n->arena, timeout != NULL ? old_word(timeout, 1) : "5");
	struct old_line *block = match != NULL ? nginx_block(n, "match", match) : NULL;

	if (match != NULL && block == NULL) {
		old_set(n->arena, line, OLD_LOST, "there is no match '%s'", match);
		return;
	}
	if (block != NULL)
		text = exchange(n, block);
	if (text == NULL) {
		old_set(n->arena, line, OLD_LOST, "its match is lost");
		return;
	}
	if (port != NULL)
		text = arena_printf(n->arena, "%s port=%s", text, port);
	add_side(sides, line, "check", text);
	add_side(sides, line, "check-interval", or_else(interval, "5s"));
	add_side(sides, line, "check-fall", or_else(value_of(line, "fails"), "1"));
	add_side(sides, line, "check-rise", or_else(value_of(line, "passes"), "1"));
	add_side(sides, timeout != NULL ? timeout : line, "check-timeout", or_else(limit, "5s"));
	for (size_t i = 1; i < line->count; i++)
		take_word(n, line, line->words[i]);
}

/* ---- check of nginx_upstream_check_module ---- */

void nginx_upstream_check(struct nginx *n, struct ini_section *s, struct old_line *line)
{
	static const char *const types[][2] = {{"tcp", "tcp"}, {"ssl_hello", "tls"}};
	const char *type = or_else(value_of(line, "type"), "tcp"), *text = NULL;
	const char *port = value_of(line, "port");
	const long interval = strtol(or_else(value_of(line, "interval"), "30000"), NULL, 10);
	const long timeout = strtol(or_else(value_of(line, "timeout"), "1000"), NULL, 10);

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(type, types[i][0]) == 0)
			text = types[i][1];
	if (text == NULL) {
		old_set(n->arena, line, OLD_LOST, "write 'check = ...' for a check of type %s", type);
		return;
	}
	if (port != NULL)
		text = arena_printf(n->arena, "%s port=%s", text, port);
	ini_add(n->ini, s, line, "check", "%s", text);
	ini_add(n->ini, s, line, "check-interval", "%s", work_duration(n->arena, interval));
	ini_add(n->ini, s, line, "check-timeout", "%s", work_duration(n->arena, timeout));
	ini_add(n->ini, s, line, "check-fall", "%s", or_else(value_of(line, "fall"), "5"));
	ini_add(n->ini, s, line, "check-rise", "%s", or_else(value_of(line, "rise"), "2"));
	if (strcmp(or_else(value_of(line, "default_down"), "true"), "false") != 0)
		old_set(n->arena, line, OLD_DIFFERENT, UP_FIRST);
}
