/* SPDX-License-Identifier: MIT
 *
 * nginx_look_up.c - what a map has for a text that is known.
 *
 * Main thread.
 */
#include <string.h>
#include <strings.h>

#include "nginx_map.h"
#include "weir/base/check.h"

const char *nginx_map_look_up(struct nginx *n, struct old_line *block, const char *text,
			      struct old_line **at)
{
	struct old_line *found = NULL;
	bool doubtful = false;

	for (size_t i = 0; i < block->inside.count && found == NULL; i++) {
		struct old_line *line = block->inside.list[i];
		const char *key = line->words[0];

		if (nginx_map_is_parameter(line) || line->count != 2 || strcmp(key, "default") == 0)
			continue;
		/* nginx tries no pattern on an empty text. */
		doubtful = doubtful || (text[0] != '\0' &&
					(key[0] == '~' || key[0] == '.' || strchr(key, '*') != NULL));
		if (strcasecmp(key[0] == '\\' ? key + 1 : key, text) == 0)
			found = line;
	}
	if (found == NULL && doubtful) {
		old_set(n->arena, block, OLD_LOST, "weir does not know which pattern fits '%s'", text);
		return NULL;
	}
	if (found == NULL)
		found = nginx_find(&block->inside, NULL, "default");
	if (found == NULL)
		return "";
	old_set(n->arena, found, OLD_CARRIED, NULL);
	*at = found;
	return old_word(found, 1);
}
