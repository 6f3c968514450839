/* SPDX-License-Identifier: MIT
 *
 * config_diff.h - which options differ between two versions of a section or line, with both values as text.
 *
 * From the rows of the options table, so a new row needs no code here. If same.h says that two parts differ,
 * at least one option is reported; what same.h does not compare is not reported either. Values are written as
 * in a file. Lists with more than CONFIG_DIFF_LIST_MAX items are shortened to the items that differ, with the
 * number of all. Thread-safe if neither version changes.
 */
#ifndef WEIR_SETTINGS_CONFIG_DIFF_H
#define WEIR_SETTINGS_CONFIG_DIFF_H

#include <stddef.h>

#include "weir/config/config.h"

#define CONFIG_DIFF_LIST_MAX 8u /* items of a list that are written in full */

/* Receives the differences. */
struct config_diff {
	/* One option. The texts are borrowed for the call; NULL = not set. */
	void (*differs)(void *arg, const char *key, const char *before, const char *after);
	void *arg;
};

/* A frontend, and the names of the backends that its clients go to. */
struct config_front {
	const struct config_frontend *config;
	/* The name for config->routes[i]; i == config->route_count: for clients that no route takes. */
	const char *(*backend_name)(const void *from, size_t i);
	const void *from; /* borrows */
};

/* Each returns 0; or -ENOMEM, and some differences may not have been reported. */

/* All options but `log`. */
int config_diff_global(const struct config_global *before, const struct config_global *after,
		       const struct config_diff *to);
/* Without its binds. */
int config_diff_frontend(const struct config_front *before, const struct config_front *after,
			 const struct config_diff *to);
/* Without its servers. */
int config_diff_backend(const struct config_backend *before, const struct config_backend *after,
			const struct config_diff *to);
/* Its name and its words; not its address. */
int config_diff_bind(const struct config_bind *before, const struct config_bind *after,
		     const struct config_diff *to);
/* Its words; not its name and address. */
int config_diff_server(const struct config_server *before, const struct config_server *after,
		       const struct config_diff *to);

#endif
