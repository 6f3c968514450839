/* SPDX-License-Identifier: MIT
 *
 * page_wish.c - what a request for the page asks for: the arguments of its query.
 *
 * Any thread.
 */
#include "page_wish.h"

#include <string.h>

/* No name has this character. */
#define NOBODY "?"

/* A name that is too long is nobody's. */
static void take_name(char name[static CONFIG_NAME_MAX], const char *value)
{
	const size_t len = value != NULL ? strlen(value) : 0;

	if (len >= CONFIG_NAME_MAX)
		memcpy(name, NOBODY, sizeof(NOBODY));
	else if (len > 0)
		memcpy(name, value, len + 1);
	else
		name[0] = '\0';
}

void page_wish_argument(struct page_wish *w, const char *key, const char *value)
{
	if (strcmp(key, "update") == 0)
		w->is_update = true;
	else if (strcmp(key, "backend") == 0)
		take_name(w->backend, value);
	else if (strcmp(key, "server") == 0)
		take_name(w->server, value);
}

bool page_wish_equal(const struct page_wish *a, const struct page_wish *b)
{
	return a->is_update == b->is_update && strcmp(a->backend, b->backend) == 0 &&
	       strcmp(a->server, b->server) == 0;
}
