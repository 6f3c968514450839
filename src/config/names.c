/* SPDX-License-Identifier: MIT
 *
 * names.c - the set of the server names of a use-backend line. Any thread.
 */
#include "weir/config/names.h"

#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/net/host_set.h"

struct host_set *config_names_set(const struct config_names *names)
{
	struct host_pattern *list = calloc(names->count, sizeof(*list));
	struct host_set *set;

	check(names->count > 0);
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
