/* SPDX-License-Identifier: MIT
 *
 * names.h - the set of the server names of a use-backend line. Any thread.
 */
#ifndef WEIR_CONFIG_NAMES_H
#define WEIR_CONFIG_NAMES_H

#include "weir/config/config.h"

/* Free it with host_set_free(). NULL when out of memory. */
struct host_set *config_names_set(const struct config_names *names);

#endif
