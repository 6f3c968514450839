/* SPDX-License-Identifier: MIT
 *
 * config_lists.h - lists in the configuration, as written: networks, names, and the files that have them.
 *
 * Parts of config.h, and as immutable.
 */
#ifndef WEIR_CONFIG_CONFIG_LISTS_H
#define WEIR_CONFIG_CONFIG_LISTS_H

#include <stdbool.h>
#include <stddef.h>

struct list_file;
struct net_prefix;

/* One of several texts. */
struct config_text_item {
	char *text;
};

/* A file of networks or of names, "@FILE". */
struct config_list {
	char *name;            /* where it was read */
	struct list_file *list; /* shared: one reference */
};

/* Networks as written, for -T; lookups use the set next to them. */
struct config_networks {
	struct net_prefix *list;
	size_t count;
	struct config_list *files;
	size_t file_count;
};

static inline bool config_has_networks(const struct config_networks *n)
{
	return n->count > 0 || n->file_count > 0;
}

/* Server names of TLS clients. With all of it zero, any client meets them. */
struct config_names {
	bool any;  /* any client that names one */
	bool none; /* clients whose hello names none */
	struct config_text_item *list; /* patterns of host_pattern.h */
	size_t count;
	struct config_list *files;
	size_t file_count;
};

/* Does it name servers, itself or in a file? */
static inline bool config_lists_names(const struct config_names *n)
{
	return n->count > 0 || n->file_count > 0;
}

#endif
