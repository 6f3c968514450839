/* SPDX-License-Identifier: MIT
 *
 * resolvers.c - sections of name servers: weir has one list of them, for all names.
 *
 * HAProxy asks those of a section for the servers that name it, again after `hold valid`. It looks up all
 * other names once, at its start, as other programs of the machine do. Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

#define HOLD_VALID "10s" /* HAProxy's default */

static struct ini_section *global(struct haproxy *h)
{
	return ini_only(h->ini, IN_GLOBAL);
}

/* ---- who asks ---- */

/* Is it a name, and not an address, a path or a variable? */
static bool is_name(struct haproxy *h, const char *address)
{
	const char *ours = haproxy_address(h->arena, address, false);

	return address[0] != '_' && strchr("[$/", ours[0]) == NULL && strncmp(ours, "unix:", 5) != 0 &&
	       strncmp(ours, "localhost:", 10) != 0 && ours[strspn(ours, "0123456789.")] != ':';
}

static bool says(const struct old_line *line, const char *word)
{
	for (size_t i = 0; i < line->count; i++)
		if (strstr(line->words[i], word) != NULL)
			return true;
	return false;
}

void haproxy_asks(struct haproxy *h, struct index *asked, struct old_line *line, const char *address,
		  const char *resolvers)
{
	if (resolvers == NULL && is_name(h, address))
		old_lines_add(h->arena, &h->asks_system, line);
	if (resolvers == NULL)
		return;
	index_put(h->arena, &h->asked, resolvers, h);
	if (index_find(asked, address) != NULL && !says(line, "allow-dup-ip"))
		old_set(h->arena, line, OLD_DIFFERENT,
			"HAProxy gives servers of one name different addresses, and weir the first to each: "
			"write one line, servers NAME = dns://%s", haproxy_address(h->arena, address, false));
	index_put(h->arena, asked, address, line);
}

/* "do-resolve(VARIABLE,SECTION)" */
void haproxy_asks_by_rule(struct haproxy *h, const struct proxy *p)
{
	for (size_t i = 0; i < p->lists[LIST_RULE].count; i++) {
		const char *word = old_word(p->lists[LIST_RULE].list[i], 2), *name = strchr(word, ',');

		if (strncmp(word, "do-resolve(", 11) == 0 && name != NULL)
			index_put(h->arena, &h->asked,
				  arena_strndup(h->arena, name + 1, strcspn(name + 1, ",)")), h);
	}
}

/* ---- the lines of a section ---- */

/* The address without its family, and without the usual port. */
static const char *address_of(struct haproxy *h, const struct old_line *line)
{
	const char *address = old_word(line, 2);
	size_t len;

	if (strchr(address, '@') != NULL)
		address = strchr(address, '@') + 1;
	len = strlen(address);
	if (len > 3 && strcmp(address + len - 3, ":53") == 0)
		address = arena_strndup(h->arena, address, len - 3);
	len = strlen(address);
	if (address[0] == '[' && address[len - 1] == ']')
		address = arena_strndup(h->arena, address + 1, len - 2);
	return address;
}

static void take_name_server(struct haproxy *h, const struct proxy *p, struct old_line *line)
{
	const char *address = address_of(h, line);
	struct ini_line *known = ini_find(global(h), "resolvers");

	if (known == NULL) {
		ini_add(h->ini, global(h), line, "resolvers", "%s", address)->stand_in =
		    strstr(address, "${") != NULL ? "" : NULL;
		h->resolvers = p;
	} else if (work_has_item(known->value, ' ', address)) {
		old_set(h->arena, line, OLD_CARRIED, NULL);
	} else if (h->resolvers != p) {
		old_set(h->arena, line, OLD_LOST,
			"weir asks the name servers of '%s' for all names: let one name server know them all",
			h->resolvers->name);
	} else {
		known->value = ini_join(h->arena, known->value, address);
		old_set(h->arena, line, OLD_CARRIED, NULL);
	}
}

/* How long an answer holds: for all backends, as one section of resolvers does. */
static void take_hold(struct haproxy *h, struct old_line *line)
{
	static const char *const kinds[][2] = {{"valid", "resolve-interval"}, {"nx", "hold-nx"},
					       {"timeout", "hold-timeout"}, {"refused", "hold-refused"},
					       {"other", "hold-other"}, {"obsolete", "hold-obsolete"}};
	struct ini_section *defaults = ini_only(h->ini, IN_DEFAULTS);
	const char *time = haproxy_duration(h->arena, old_word(line, 2));

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *key = kinds[i][1];
		const struct ini_line *known;

		if (strcmp(old_word(line, 1), kinds[i][0]) != 0 || time == NULL)
			continue;
		known = ini_find(defaults, key);
		if (known == NULL)
			ini_add(h->ini, defaults, line, key, "%s", time);
		else if (strcmp(known->value, time) != 0)
			old_set(h->arena, line, OLD_DIFFERENT, "one %s for all resolvers", key);
		else
			old_set(h->arena, line, OLD_CARRIED, NULL);
		return;
	}
	old_set(h->arena, line, OLD_LOST,
		"weir has hold-nx, hold-timeout, hold-refused, hold-other, hold-obsolete");
}

static void leave_unasked(struct haproxy *h, struct proxy *p)
{
	old_set(h->arena, p->head, OLD_NO_EFFECT, "no server that is converted asks these name servers");
	for (size_t i = 0; i < p->all.count; i++)
		old_set(h->arena, p->all.list[i], OLD_NO_EFFECT,
			"no server that is converted asks these name servers");
}

void haproxy_resolvers(struct haproxy *h, struct proxy *p)
{
	struct ini_section *defaults = ini_only(h->ini, IN_DEFAULTS);
	struct old_line *system = NULL;
	bool any = false;

	if (index_find(&h->asked, p->name) == NULL) {
		leave_unasked(h, p);
		return;
	}
	old_set(h->arena, p->head, OLD_CARRIED, NULL);
	for (size_t i = 0; i < p->all.count; i++) {
		struct old_line *line = p->all.list[i];

		any = any || strcmp(line->words[0], "nameserver") == 0;
		if (strcmp(line->words[0], "nameserver") == 0)
			take_name_server(h, p, line);
		else if (strcmp(line->words[0], "parse-resolv-conf") == 0)
			system = line;
		else if (strcmp(line->words[0], "hold") == 0)
			take_hold(h, line);
		else
			old_set(h->arena, line, OLD_NO_EFFECT, "weir asks name servers in its own way");
	}
	if (system != NULL && any)
		old_set(h->arena, system, OLD_DIFFERENT,
			"weir asks those of /etc/resolv.conf only where no others are named");
	else if (system != NULL)
		old_set(h->arena, system, OLD_CARRIED, NULL);
	work_note(h->work,
		  "of a name with IPv6 and IPv4 addresses, HAProxy takes IPv6 unless 'resolve-prefer' says "
		  "otherwise: weir takes IPv4, and all of them for a server-template");
	if (ini_find(defaults, "resolve-interval") == NULL)
		ini_add(h->ini, defaults, NULL, "resolve-interval", HOLD_VALID);
}

void haproxy_say_who_asks_system(struct haproxy *h)
{
	const bool named = ini_find(global(h), "resolvers") != NULL;

	for (size_t i = 0; i < h->asks_system.count && named; i++)
		old_set(h->arena, h->asks_system.list[i], OLD_DIFFERENT,
			"weir asks the name servers of '%s' for this name, too, and HAProxy, at its start, "
			"those of the system", h->resolvers->name);
	if (h->asks_system.count > 0)
		work_note(h->work,
			  "HAProxy looks up the name of a server without 'resolvers' once, at its start: "
			  "weir does so again and again, and without an address a server is down after "
			  "hold-nx");
}
