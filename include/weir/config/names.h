/* SPDX-License-Identifier: MIT
 *
 * names.h - the sets that lists of networks and of server names stand for. Any thread.
 */
#ifndef WEIR_CONFIG_NAMES_H
#define WEIR_CONFIG_NAMES_H

#include "weir/config/config.h"

/* What a list contains, its files included, whose sets it borrows: for as long as the list has its references
 * to them. Free it with netset_free() or host_set_free(). NULL when out of memory. The second needs a list
 * that is not empty. */
struct netset *config_networks_set(const struct config_networks *networks);
struct host_set *config_names_set(const struct config_names *names);

#endif
