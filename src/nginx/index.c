/* SPDX-License-Identifier: MIT
 *
 * index.c - finds the directives of stream { } by their words.
 *
 * Main thread.
 */
#include <string.h>

#include "blocks.h"

const char *nginx_parameter(const struct old_line *line, const char *name, const char *otherwise)
{
	const size_t len = strlen(name);

	for (size_t i = 2; i < line->count; i++)
		if (strncmp(line->words[i], name, len) == 0)
			return line->words[i] + len;
	return otherwise;
}

/* nginx takes the names of upstreams without regard to case. */
static const char *key_of(struct arena *a, const char *kind, const char *name)
{
	if (strcmp(kind, "upstream") == 0)
		name = work_lower_case(a, name);
	return arena_printf(a, "%s %s", kind, name);
}

struct old_line *nginx_block(const struct nginx *n, const char *kind, const char *name)
{
	return index_find(&n->blocks, key_of(n->arena, kind, name));
}

static void count_users(struct nginx *n, const struct old_line *block)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];
		const char *name = work_lower_case(n->arena, old_word(line, 1));
		struct nginx_users *users = index_find(&n->users, name);

		if (strcmp(line->words[0], "server") == 0)
			continue;
		if (users == NULL) {
			users = arena_alloc(n->arena, sizeof(*users));
			index_put(n->arena, &n->users, name, users);
		}
		users->count++;
	}
}

/* The port of an address that stands for all of IPv4: nginx has three ways to write it. NULL: it is another.
 */
static const char *port_of_any(const char *address)
{
	if (address[strspn(address, "0123456789-")] == '\0')
		return address;
	if (strncmp(address, "*:", 2) == 0)
		return address + 2;
	return strncmp(address, "0.0.0.0:", 8) == 0 ? address + 8 : NULL;
}

bool nginx_is_same_listen(const char *address, const char *other)
{
	const char *port, *other_port;

	if (strcmp(address, other) == 0)
		return true;
	port = port_of_any(address);
	other_port = port != NULL ? port_of_any(other) : NULL;
	return other_port != NULL && strcmp(port, other_port) == 0;
}

const struct old_lines *nginx_listening(const struct nginx *n, const char *address)
{
	const char *port = port_of_any(address);

	return index_find(&n->listens, port != NULL ? port : address);
}

/* Puts a server block under each address that it listens at. */
static void index_listens(struct nginx *n, struct old_line *block)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];
		const char *address = old_word(line, 1), *port = port_of_any(address);
		struct old_lines *known = index_find(&n->listens, port != NULL ? port : address);

		if (strcmp(line->words[0], "listen") != 0)
			continue;
		if (known == NULL) {
			known = arena_alloc(n->arena, sizeof(*known));
			index_put(n->arena, &n->listens, port != NULL ? port : address, known);
		}
		if (known->count == 0 || known->list[known->count - 1] != block)
			old_lines_add(n->arena, known, block);
	}
}

/* Each server block looks for what is here. */
void nginx_index(struct nginx *n, const struct old_lines *lines)
{
	n->words = n->blocks = n->users = n->listens = (struct index){.count = 0};
	n->loose = (struct old_lines){.last = &n->words};
	for (size_t i = 0; i < lines->count; i++) {
		struct old_line *line = lines->list[i];
		const char *key = key_of(n->arena, line->words[0], old_word(line, 1));

		index_put(n->arena, &n->words, line->words[0], line);
		if (line->block && index_find(&n->blocks, key) == NULL)
			index_put(n->arena, &n->blocks, key, line);
		count_users(n, line);
		if (!line->block)
			old_lines_add(n->arena, &n->loose, line);
		else if (strcmp(line->words[0], "server") == 0)
			index_listens(n, line);
	}
	n->indexed = *lines;
	n->indexed.last = &n->words;
	n->stream = &n->indexed;
}
