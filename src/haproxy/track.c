/* SPDX-License-Identifier: MIT
 *
 * track.c - `track`: a server that is up while another one is.
 *
 * It gets the check of the other one, of the same address and port, and check-share asks once for both.
 * Main thread.
 */
#include <string.h>

#include "server.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

#define HOPS_MAX 8 /* servers that track each other in a row */

#define SECTIONS (1u << PROXY_BACKEND | 1u << PROXY_LISTEN)

/* Reads the server that `name` ("SERVER" or "SECTION/SERVER") is for a section. False: there is none. */
static bool find_one(struct haproxy *h, struct proxy **section, const char *name, struct server *found)
{
	const char *slash = strchr(name, '/');

	if (slash != NULL)
		*section =
		    haproxy_find(h, SECTIONS, arena_strndup(h->arena, name, (size_t)(slash - name)));
	name = slash != NULL ? slash + 1 : name;
	for (size_t i = 0; *section != NULL && i < (*section)->lists[LIST_SERVER].count; i++) {
		struct old_line *line = (*section)->lists[LIST_SERVER].list[i];
		struct server base = {.line = NULL};

		if (strcmp(old_word(line, 1), name) != 0)
			continue;
		server_read_defaults(h, *section, line, &base);
		server_read(h, line, &base, found);
		return !found->left_out;
	}
	return false;
}

/* Follows the names to a server with a check. */
static bool find_tracked(struct haproxy *h, struct proxy **section, const char *name, struct server *found)
{
	for (unsigned hops = 0; name != NULL && hops < HOPS_MAX; hops++) {
		if (!find_one(h, section, name, found))
			return false;
		name = server_value(found, ".track");
	}
	return name == NULL && server_pair(found, "check") != NULL && (*section)->out != NULL;
}

static const char *host_of(struct arena *a, const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon == NULL ? address : arena_strndup(a, address, (size_t)(colon - address));
}

/* Checks `s` where `other` is checked. False: that cannot be written. */
static bool aim(struct haproxy *h, struct server *s, const struct server *other)
{
	const char *own = haproxy_address(h->arena, s->address, false);
	const char *theirs = haproxy_address(h->arena, other->address, false);
	const char *colon = strrchr(theirs, ':');
	const char *port = server_value(other, "check-port"), *host = server_value(other, "check-addr");

	if (port == NULL)
		port = colon != NULL ? colon + 1 : "";
	if (host == NULL)
		host = host_of(h->arena, theirs);
	if (!is_digit(port[0]) || strncmp(own, "unix:", 5) == 0)
		return false;
	if (strcmp(host, host_of(h->arena, own)) != 0) {
		if (!is_digit(host[0]) && host[0] != '[')
			return false;
		server_set(s, "check-addr", host);
	}
	if (strcmp(own, arena_printf(h->arena, "%s:%s", host_of(h->arena, own), port)) != 0)
		server_set(s, "check-port", port);
	return true;
}

static void copy_check(struct server *s, const struct server *other)
{
	static const char *const keys[] = {"check-interval", "check-fast", "check-down",  "check-rise",
					   "check-fall",     ".check-ssl", ".check-sni",  ".check-alpn",
					   ".verify",	     ".ca-file",   ".check-send-proxy"};

	server_set(s, "check", NULL);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct pair *pair = server_pair(other, keys[i]);

		server_drop(s, keys[i]);
		if (pair != NULL)
			server_set(s, keys[i], pair->value);
	}
}

/* The section is checked as the other one is. */
static void copy_kind(struct haproxy *h, struct proxy *to, struct proxy *from)
{
	static const enum slot slots[] = {SLOT_CHECK, SLOT_CHECK_TIME, SLOT_COMMAND, SLOT_COMMAND_PATH};
	struct proxy *const both[] = {to, from};

	for (size_t i = 0; i < ARRAY_LEN(slots) && to != from; i++)
		to->slots[slots[i]] = from->slots[slots[i]];
	to->lists[LIST_CHECK] = from->lists[LIST_CHECK];
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		if (ini_find(both[i]->out, "check-share") == NULL)
			ini_add(h->ini, both[i]->out, NULL, "check-share", "on");
}

static bool has_own_check(const struct server *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (server_pair(&list[i], "check") != NULL)
			return true;
	return false;
}

void haproxy_track(struct haproxy *h, struct proxy *p, struct server *list, size_t count)
{
	const bool own_check = has_own_check(list, count);
	struct proxy *from = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *name = server_value(&list[i], ".track");
		struct proxy *section = p;
		struct server other;

		if (name == NULL)
			continue;
		if (!find_tracked(h, &section, name, &other) || (from != NULL && from != section) ||
		    (own_check && section != p) || !aim(h, &list[i], &other)) {
			old_set(h->arena, list[i].line, OLD_LOST,
				"'track %s': leave it out and add 'check': its state is its own then",
				name);
			continue;
		}
		from = section;
		copy_check(&list[i], &other);
		old_set(h->arena, list[i].line, OLD_DIFFERENT,
			"it has the check of '%s', made once for both; maintenance is that of one",
			name);
	}
	if (from != NULL)
		copy_kind(h, p, from);
	for (size_t i = 0; i < count; i++)
		server_drop(&list[i], ".track");
}
