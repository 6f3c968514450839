/* SPDX-License-Identifier: MIT
 *
 * source.c - `proxy_bind`: the address that connections to servers come from.
 *
 * weir takes that of the client without its port, and has no other address that is not of this machine. Main
 * thread.
 */
#include <string.h>

#include "blocks.h"
#include "variable.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

/* What follows the variable with the client's address at `text`; NULL: it is another one. */
static const char *behind_client(const char *text, bool proxy)
{
	static const char *const names[] = {"$remote_addr", "$binary_remote_addr", "$proxy_protocol_addr"};

	for (size_t i = 0; i < ARRAY_LEN(names) - !proxy; i++) {
		const size_t len = strlen(names[i]);

		if (strncmp(text, names[i], len) == 0 && (text[len] == '\0' || text[len] == ':'))
			return text + len;
	}
	return NULL;
}

const char *nginx_source(struct nginx *n, struct old_line *line, const struct old_line *block, bool proxy)
{
	const bool transparent = old_has_word(line, 2, "transparent");
	const char *text = nginx_fold(n, block, old_word(line, 1)), *behind = behind_client(text, proxy);

	if (behind == NULL && strchr(text, '$') != NULL) {
		old_set(n->arena, line, OLD_LOST, "write source=ADDRESS on the server lines");
		return NULL;
	}
	old_set(n->arena, line, OLD_CARRIED, NULL);
	if (behind == NULL && transparent)
		old_set(n->arena, line, OLD_DIFFERENT,
			"'transparent': weir connects from addresses of this machine, or from the client's");
	if (behind != NULL && !transparent)
		old_set(n->arena, line, OLD_DIFFERENT,
			"without 'transparent', nginx serves clients on this machine alone: weir all");
	if (behind != NULL && behind[0] != '\0')
		old_set(n->arena, line, OLD_DIFFERENT, "weir takes the client's address, and another port");
	if (text[0] == '[' && text[strlen(text) - 1] == ']')
		text = arena_strndup(n->arena, text + 1, strlen(text) - 2);
	return behind != NULL ? "client" : text;
}
