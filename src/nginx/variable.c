/* SPDX-License-Identifier: MIT
 *
 * variable.c - finds and replaces the variables of a text.
 *
 * Main thread.
 */
#include "variable.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "map.h"
#include "weir/base/check.h"

#define FOLDED_MAX 8192 /* bytes of a text whose variables are replaced */

bool nginx_find_variable(struct arena *a, const char *text, const char *from, struct nginx_variable *v)
{
	const char *dollar = strchr(from, '$'), *name, *end;

	if (dollar == NULL)
		return false;
	name = dollar + 1 + (dollar[1] == '{');
	end = name;
	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	v->name = arena_strndup(a, name, (size_t)(end - name));
	v->before = arena_strndup(a, text, (size_t)(dollar - text));
	v->after = end + (dollar[1] == '{' && *end == '}');
	return true;
}

const char *nginx_replace(struct arena *a, const char *text, const char *name, const char *value)
{
	const char *from = text;
	struct nginx_variable v;

	while (nginx_find_variable(a, text, from, &v)) {
		if (strcasecmp(v.name, name) == 0) {
			const size_t done = strlen(v.before) + strlen(value);

			text = arena_printf(a, "%s%s%s", v.before, value, v.after);
			from = text + done;
		} else {
			from = v.after;
		}
	}
	return text;
}

enum nginx_subject nginx_subject_of(const char *variable)
{
	static const struct {
		const char *name;
		enum nginx_subject subject;
	} all[] = {
		{"$ssl_preread_server_name", BY_SNI},
		{"$ssl_preread_protocol", BY_PROTOCOL},
		{"$ssl_preread_alpn_protocols", BY_ALPN},
		{"$remote_addr", BY_SOURCE},
		{"$binary_remote_addr", BY_SOURCE},
		{"$proxy_protocol_addr", BY_SOURCE},
		{"$server_port", BY_PORT},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(variable, all[i].name) == 0)
			return all[i].subject;
	return BY_OTHER;
}

/* Does the text have the variable? */
static bool has_variable(struct arena *a, const char *text, const char *name)
{
	struct nginx_variable v;

	for (const char *from = text; nginx_find_variable(a, text, from, &v); from = v.after)
		if (strcasecmp(v.name, name) == 0)
			return true;
	return false;
}

/* The line `set $name`: in the block, else in stream; NULL: it is not set. */
static struct old_line *find_set(const struct nginx *n, const struct old_line *block, const char *name)
{
	for (unsigned up = 0; up < 2; up++) {
		const struct old_lines *lines = up ? &n->loose : &block->inside;

		for (size_t i = lines->count; i-- > 0;) {
			struct old_line *line = lines->list[i];

			if (strcmp(line->words[0], "set") != 0 || line->count != 3 ||
			    line->words[1][0] != '$' || strcasecmp(line->words[1] + 1, name) != 0)
				continue;
			return line;
		}
	}
	return NULL;
}

bool nginx_is_set(const struct nginx *n, const struct old_line *block, const char *name)
{
	return find_set(n, block, name) != NULL;
}

/* Does the text depend on what clients of TLS send? */
static bool is_of_hello(const struct nginx *n, const char *text, unsigned depth)
{
	struct nginx_variable v;

	for (const char *from = text; nginx_find_variable(n->arena, text, from, &v); from = v.after) {
		const struct old_line *block = nginx_map_find(n, v.name);

		if (strncmp(v.name, "ssl_preread_", 12) == 0 ||
		    (block != NULL && depth < NGINX_DEPTH_MAX &&
		     is_of_hello(n, nginx_map_source(block), depth + 1)))
			return true;
	}
	return false;
}

/* NULL: it is not set, or to a value that is not known here. */
static const char *value_of_set(struct nginx *n, const struct old_line *block, const char *name)
{
	struct old_line *line = find_set(n, block, name);

	if (line == NULL)
		return NULL;
	if (has_variable(n->arena, line->words[2], name)) {
		old_set(n->arena, line, OLD_LOST, "its value names itself");
		return NULL;
	}
	old_set(n->arena, line, OLD_CARRIED, NULL);
	if (is_of_hello(n, line->words[2], 0))
		old_set(n->arena, line, OLD_DIFFERENT,
			"nginx computes this before it has read what the client sends, as if it were "
			"nothing: weir goes by what it is");
	return line->words[2];
}

/* The value of a map that has only one, NULL if it has several. */
static const char *value_of_map(struct nginx *n, const char *name)
{
	struct old_line *block = nginx_map_find(n, name), *only = NULL;
	size_t count = 0;

	if (block == NULL)
		return NULL;
	if (strchr(nginx_map_source(block), '$') == NULL) {
		old_set(n->arena, block, OLD_CARRIED, NULL);
		return nginx_map_look_up(n, block, nginx_map_source(block), &only);
	}
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];

		count += line->count == 2 && strcmp(line->words[0], "include") != 0;
		if (strcmp(line->words[0], "default") == 0)
			only = line;
	}
	if (only == NULL || count != 1)
		return NULL;
	old_set(n->arena, block, OLD_CARRIED, NULL);
	old_set(n->arena, only, OLD_CARRIED, NULL);
	return old_word(only, 1);
}

/* The one address that the block listens at, as nginx writes it. NULL: there are several, or one for any. */
static const char *own_address(struct arena *a, const struct old_line *block)
{
	unsigned char address[sizeof(struct in6_addr)];
	char out[INET6_ADDRSTRLEN];
	const char *only = NULL;

	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];
		const char *text = old_word(line, 1), *colon = strrchr(text, ':');
		const bool six = text[0] == '[';
		const size_t len = colon != NULL ? (size_t)(colon - text) : 0;

		if (strcmp(line->words[0], "listen") != 0 || old_has_word(line, 2, "udp") ||
		    old_has_word(line, 2, "ssl"))
			continue;
		if (len < 3 ||
		    inet_pton(six ? AF_INET6 : AF_INET,
			      six ? arena_strndup(a, text + 1, len - 2) : arena_strndup(a, text, len),
			      address) != 1 ||
		    inet_ntop(six ? AF_INET6 : AF_INET, address, out, sizeof(out)) == NULL ||
		    strcmp(out, "0.0.0.0") == 0 || strcmp(out, "::") == 0 ||
		    (only != NULL && strcmp(only, out) != 0))
			return NULL;
		only = arena_strndup(a, out, strlen(out));
	}
	return only;
}

/* The value that nginx has for all clients of the block; NULL: it depends on them. */
static const char *value_of_block(struct arena *a, const struct old_line *block, const char *name)
{
	if (strcmp(name, "protocol") == 0)
		return "TCP";
	return strcmp(name, "server_addr") == 0 ? own_address(a, block) : NULL;
}

const char *nginx_fold(struct nginx *n, const struct old_line *block, const char *text)
{
	const char *whole = text;

	for (unsigned depth = 0; depth < NGINX_DEPTH_MAX && strlen(text) < FOLDED_MAX; depth++) {
		const char *from = text, *value = NULL;
		struct nginx_variable v = {.name = NULL};

		while (value == NULL && nginx_find_variable(n->arena, text, from, &v)) {
			value = value_of_set(n, block, v.name);
			if (value == NULL)
				value = value_of_map(n, v.name);
			if (value == NULL)
				value = value_of_block(n->arena, block, v.name);
			from = v.after;
		}
		if (value == NULL)
			break;
		text = nginx_replace(n->arena, text, v.name, value);
	}
	return strlen(text) < FOLDED_MAX ? text : whole;
}

bool nginx_has_map(const struct nginx *n, const char *text)
{
	struct nginx_variable v;

	for (const char *from = text; nginx_find_variable(n->arena, text, from, &v); from = v.after)
		if (nginx_map_find(n, v.name) != NULL)
			return true;
	return false;
}

struct old_line *nginx_find_split(const struct nginx *n, const char *text)
{
	struct nginx_variable v;

	for (const char *from = text; nginx_find_variable(n->arena, text, from, &v); from = v.after)
		for (size_t i = 0; i < n->stream->count; i++) {
			struct old_line *line = n->stream->list[i];

			if (line->block && line->count == 3 && line->words[2][0] == '$' &&
			    strcmp(line->words[0], "split_clients") == 0 &&
			    strcasecmp(line->words[2] + 1, v.name) == 0)
				return line;
		}
	return NULL;
}

/* Does the parenthesis behind '^' close right before the '$' at the end? */
static bool is_one_group(const char *pattern)
{
	unsigned open = 0;

	if (strncmp(pattern, "^(", 2) != 0)
		return false;
	for (const char *c = pattern + 1; *c != '\0'; c++) {
		if (*c == '[' || *c == '\\')
			c = *c == '\\' ? c + 1 : strchr(c + 1, ']');
		if (c == NULL || *c == '\0')
			return false;
		open += *c == '(' && c[-1] != '\\';
		open -= *c == ')' && c[-1] != '\\';
		if (open == 0)
			return strcmp(c, ")$") == 0;
	}
	return false;
}

const char *nginx_whole_group(struct arena *a, const char *pattern, const char *value)
{
	static const char whole[] = "$ssl_preread_server_name";
	const char *name = pattern + 2;

	if (!is_one_group(pattern) || strncmp(name, "?:", 2) == 0)
		return value;
	value = nginx_replace(a, value, "1", whole);
	if (*name != '?')
		return value;
	name += 1 + (name[1] == 'P');
	if (*name != '<')
		return value;
	return nginx_replace(a, value, arena_strndup(a, name + 1, strcspn(name + 1, ">")), whole);
}
