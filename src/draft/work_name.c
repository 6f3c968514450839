/* SPDX-License-Identifier: MIT
 *
 * work_name.c - names of machines where ours takes addresses: each becomes a variable to be set.
 *
 * Main thread.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "weir/draft/work.h"

const char *work_address_variable(struct work *w, const char *name)
{
	char *plain = arena_strndup(w->arena, name, strlen(name));
	const char *variable = plain, *known;

	for (char *c = plain; *c != '\0'; c++)
		*c = isalnum((unsigned char)*c) != 0 ? (char)toupper((unsigned char)*c) : '_';
	for (unsigned n = 2; (known = index_find(&w->host_names, variable)) != NULL; n++) {
		if (strcasecmp(known, name) == 0)
			return arena_printf(w->arena, "ADDRESS_OF_%s", variable);
		variable = arena_printf(w->arena, "%s_%u", plain, n);
	}
	index_put(w->arena, &w->host_names, variable, arena_strndup(w->arena, name, strlen(name)));
	return arena_printf(w->arena, "ADDRESS_OF_%s", variable);
}
