/* SPDX-License-Identifier: MIT
 *
 * names.c - the sets that lists of networks and of server names stand for. Any thread.
 */
#include "weir/config/names.h"

#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/net/host_set.h"
#include "weir/net/list_file.h"
#include "weir/net/netset.h"

struct netset *config_networks_set(const struct config_networks *networks)
{
	struct netset *set = netset_new(networks->list, networks->count);

	for (size_t i = 0; set != NULL && i < networks->file_count; i++) {
		if (netset_include(set, list_file_networks(networks->files[i].list)))
			continue;
		netset_free(set);
		set = NULL;
	}
	return set;
}

/* Those that are written in the line itself. */
static struct host_set *written_names(const struct config_names *names)
{
	struct host_pattern *list = calloc(names->count + 1, sizeof(*list));
	struct host_set *set;

	if (list == NULL)
		return NULL;
	for (size_t i = 0; i < names->count; i++) {
		const char *why = NULL;
		const int err = host_pattern_parse(names->list[i].text, &list[i], &why);

		check(err == 0); /* they are as host_pattern_format() prints them */
	}
	set = host_set_new(list, names->count);
	free(list);
	return set;
}

struct host_set *config_names_set(const struct config_names *names)
{
	struct host_set *set = written_names(names);

	check(config_lists_names(names));
	for (size_t i = 0; set != NULL && i < names->file_count; i++) {
		if (host_set_include(set, list_file_names(names->files[i].list)))
			continue;
		host_set_free(set);
		set = NULL;
	}
	return set;
}
