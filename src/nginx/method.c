/* SPDX-License-Identifier: MIT
 *
 * method.c - how an upstream { } chooses a server.
 *
 * Main thread.
 */
#include <ctype.h>
#include <string.h>

#include "blocks.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

/* Does the text differ between clients by their address only? */
static bool is_address(const char *text, bool proxy)
{
	static const char *const same[] = {"$remote_addr", "$binary_remote_addr", "$server_port",
					   "$server_addr", "$protocol"};
	bool has_address = false;

	if (proxy && strcmp(text, "$proxy_protocol_addr") == 0)
		return true;
	for (const char *at = strchr(text, '$'); at != NULL; at = strchr(at + 1, '$')) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LEN(same); i++) {
			const size_t len = strlen(same[i]);

			if (strncmp(at, same[i], len) == 0 && !isalnum((unsigned char)at[len]) &&
			    at[len] != '_') {
				known = true;
				has_address = has_address || i < 2;
			}
		}
		if (!known)
			return false;
	}
	return has_address;
}

bool nginx_is_of_connection(const char *key)
{
	return strstr(key, "$remote_port") != NULL || strstr(key, "$connection") != NULL;
}

static bool is_method(const struct old_line *line)
{
	static const char *const words[] = {"least_conn", "least_time", "ip_hash", "random", "hash"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(line->words[0], words[i]) == 0)
			return true;
	return false;
}

void nginx_drop_methods(struct nginx *n, const struct old_line *block)
{
	bool found = false;

	for (size_t i = block->inside.count; i-- > 0;) {
		struct old_line *line = block->inside.list[i];

		if (is_method(line) && found)
			old_set(n->arena, line, OLD_NO_EFFECT, "nginx takes the last method of an upstream");
		found = found || is_method(line);
	}
}

/* Have servers of an upstream different weights? */
static bool has_weights(const struct old_line *block)
{
	const char *first = NULL;

	for (size_t i = 0; i < block->inside.count; i++) {
		const struct old_line *line = block->inside.list[i];
		const char *weight = nginx_parameter(line, "weight=", "1");

		if (strcmp(line->words[0], "server") != 0 || old_has_word(line, 2, "down"))
			continue;
		if (first != NULL && strcmp(first, weight) != 0)
			return true;
		first = weight;
	}
	return false;
}

void nginx_judge_ties(struct nginx *n, const struct old_line *block)
{
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];
		const char *why = NULL;

		if (strcmp(line->words[0], "least_conn") == 0)
			why = "nginx shares clients among servers with the same load by weight: weir's idle "
			      "servers take turns, and weights count among busy ones";
		else if (strcmp(line->words[0], "random") == 0 && strcmp(old_word(line, 1), "two") == 0)
			why = "nginx draws two servers by weight, and takes the second one if their load is "
			      "the same, which is seldom the one with more weight: weir's shares are by "
			      "weight";
		if (why != NULL && line->fate == OLD_CARRIED && has_weights(block))
			old_set(n->arena, line, OLD_DIFFERENT, "%s", why);
	}
}

void nginx_method(struct nginx *n, struct ini_section *s, struct old_line *line, bool proxy)
{
	static const char *const methods[][2] = {
	    {"least_conn", "leastconn"}, {"least_time", "leastconn"}, {"ip_hash", "source"}};
	const char *word = line->words[0], *key = old_word(line, 1), *value = NULL;

	if (line->fate == OLD_NO_EFFECT)
		return;
	if (strcmp(word, "check") == 0) {
		nginx_upstream_check(n, s, line);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strcmp(word, methods[i][0]) == 0)
			value = methods[i][1];
	if (strcmp(word, "random") == 0)
		value = strcmp(key, "two") == 0 ? "random" : "random(1)";
	else if (strcmp(word, "hash") == 0 && is_address(key, proxy))
		value = strcmp(old_word(line, 2), "consistent") == 0 ? "source hash=consistent" : "source";
	else if (strcmp(word, "hash") == 0 && nginx_is_of_connection(key)) {
		value = "random(1)";
		old_set(n->arena, line, OLD_DIFFERENT,
			"the key is another one for each connection: weir chooses at random, too, "
			"but without a hash");
	}
	if (value != NULL)
		ini_add(n->ini, s, line, "balance", "%s", value);
	else if (strcmp(word, "hash") == 0)
		old_set(n->arena, line, OLD_LOST,
			"weir hashes the client's address only, with balance = source");
	else
		work_by_table(n->work, line, 0);
	if (strcmp(word, "least_time") == 0 || strncmp(old_word(line, 2), "least_time", 10) == 0)
		old_set(n->arena, line, OLD_DIFFERENT,
			"weir counts connections and does not measure times");
}
