/* SPDX-License-Identifier: MIT
 *
 * added.c - sections that HAProxy's file does not have: their names, and a backend that closes.
 *
 * Main thread.
 */
#include <string.h>

#include "sections.h"

#define NAME_BYTES 63 /* that weir takes */

const char *haproxy_new_name(struct haproxy *h, const char *wish)
{
	const char *plain = haproxy_name(h->arena, wish), *name;

	/* With room for a number. */
	if (strlen(plain) > NAME_BYTES)
		plain = arena_strndup(h->arena, plain, NAME_BYTES - 4);
	name = plain;
	for (unsigned n = 2;
	     index_find(&h->names, name) != NULL || index_find(&h->new_names, name) != NULL; n++)
		name = arena_printf(h->arena, "%s-%u", plain, n);
	index_put(h->arena, &h->new_names, name, h);
	return name;
}

const char *haproxy_closed(struct haproxy *h)
{
	if (h->closed == NULL) {
		h->closed = haproxy_new_name(h, "closed");
		work_add_closed(h->ini, h->closed);
	}
	return h->closed;
}
