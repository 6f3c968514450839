/* SPDX-License-Identifier: MIT
 *
 * resolver.c - `resolver`: the name servers, and how sections use them.
 *
 * weir asks the same name servers for all sections; each has its own family and interval. A name server that
 * is a name itself is one of the machine's. Main thread.
 */
#include <ctype.h>
#include <string.h>

#include "blocks.h"
#include "variable.h"
#include "weir/base/digit.h"
#include "weir/config/options.h"

const char *nginx_resolve_family(const struct old_line *line)
{
	if (line == NULL)
		return NULL;
	if (old_has_word(line, 1, "ipv6=off"))
		return "ipv4";
	return old_has_word(line, 1, "ipv4=off") ? "ipv6" : NULL;
}

const char *nginx_resolve_interval(struct arena *a, const struct old_line *line)
{
	for (size_t i = 1; line != NULL && i < line->count; i++)
		if (strncmp(line->words[i], "valid=", 6) == 0)
			return nginx_duration(a, line->words[i] + 6);
	return NULL;
}

/* The address in our words: without the port that both programs have if none is said. */
static const char *name_server(struct arena *a, const char *word)
{
	size_t len = strlen(word);

	if (len > 3 && strcmp(word + len - 3, ":53") == 0)
		len -= 3;
	if (word[0] == '[' && word[len - 1] == ']')
		return arena_strndup(a, word + 1, len - 2);
	return arena_strndup(a, word, len);
}

/* What follows proxy_pass is looked up at the start, unless a variable is in it. */
void nginx_judge_name(struct nginx *n, struct old_line *line, const char *target, bool resolver)
{
	const bool at_start =
	    strcmp(line->words[0], "proxy_pass") == 0 && strchr(old_word(line, 1), '$') == NULL;
	const size_t host = strcspn(target, ":");

	if (resolver || at_start || nginx_block(n, "upstream", target) != NULL ||
	    nginx_find_split(n, target) != NULL || strncmp(target, "unix:", 5) == 0)
		return;
	if (isalpha((unsigned char)target[0]) || (host > 0 && isalpha((unsigned char)target[host - 1])))
		old_set(n->arena, line, OLD_DIFFERENT,
			"without 'resolver', nginx finds no address for a name that a variable makes, and "
			"closes these clients: weir looks '%s' up", target);
}

void nginx_resolver(struct nginx *n, struct old_line *line)
{
	struct ini_line *known = ini_find(ini_only(n->ini, IN_GLOBAL), "resolvers");
	const char *text = "";
	bool named = false;

	old_set(n->arena, line, OLD_CARRIED, NULL);
	for (size_t i = 1; i < line->count; i++) {
		const char *word = line->words[i];

		if (strchr(word, '=') != NULL)
			continue;
		if (word[0] != '[' && !is_digit(word[0]))
			named = true;
		else
			text = ini_join(n->arena, text, name_server(n->arena, word));
	}
	if (named)
		old_set(n->arena, line, OLD_DIFFERENT,
			"'resolvers' takes addresses: in place of a name server with a name, weir asks those "
			"of /etc/resolv.conf");
	else if (known != NULL && strcmp(known->value, text) != 0)
		old_set(n->arena, line, OLD_DIFFERENT, "all sections ask '%s'", known->value);
	else if (known == NULL && text[0] != '\0')
		ini_add(n->ini, ini_only(n->ini, IN_GLOBAL), line, "resolvers", "%s", text);
}
