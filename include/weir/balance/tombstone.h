/* SPDX-License-Identifier: MIT
 *
 * tombstone.h - servers that were deleted at run time although the file names them.
 *
 * A backend keeps a copy of each such line. A server stays deleted until its line changes, or the file no
 * longer names it. Control thread.
 */
#ifndef WEIR_BALANCE_TOMBSTONE_H
#define WEIR_BALANCE_TOMBSTONE_H

#include "weir/base/list.h"
#include "weir/base/mark.h"
#include "weir/config/config.h"

struct backend;

struct tombstone {
	struct list link;                   /* in its backend's `tombstones` */
	const struct config_server *config; /* owns: a copy */
	struct mark by;
};

static inline struct tombstone *tombstone_at(const struct list *link)
{
	return list_entry(link, struct tombstone, link);
}

/* Copies `config`. NULL when out of memory. */
struct tombstone *tombstone_new(const struct config_server *config, const struct mark *by);
/* Removes it from its backend and frees it; NULL is harmless. */
void tombstone_free(struct tombstone *t);
/* That of the server of this name; NULL = none. */
struct tombstone *tombstone_find(const struct backend *b, const char *name);

#endif
