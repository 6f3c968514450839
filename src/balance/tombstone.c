/* SPDX-License-Identifier: MIT
 *
 * tombstone.c - servers that were deleted at run time although the file names them.
 *
 * Control thread.
 */
#include "weir/balance/tombstone.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/config/copy.h"

struct tombstone *tombstone_new(const struct config_server *config, const struct mark *by)
{
	struct tombstone *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	list_init(&t->link);
	t->by = *by;
	t->config = config_server_copy(config);
	if (t->config == NULL) {
		free(t);
		return NULL;
	}
	return t;
}

void tombstone_free(struct tombstone *t)
{
	if (t == NULL)
		return;
	list_remove(&t->link);
	config_server_copy_free((struct config_server *)(uintptr_t)t->config); /* made by tombstone_new() */
	free(t);
}

struct tombstone *tombstone_find(const struct backend *b, const char *name)
{
	for (const struct list *l = b->tombstones.next; l != &b->tombstones; l = l->next)
		if (strcmp(tombstone_at(l)->config->name, name) == 0)
			return tombstone_at(l);
	return NULL;
}
