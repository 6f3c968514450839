/* SPDX-License-Identifier: MIT
 *
 * same.h - do two parts of snapshots, or copies of them, mean the same to a running daemon?
 *
 * What was written differently but read as the same value is the same. Lists (networks, users, ports, routes)
 * count in their order. Not compared:
 *   place, origins           where something was written
 *   binds, servers           compare these one by one
 *   backend                  of a frontend and of its routes. It is an index into the backends of one
 *                            snapshot: the same number may be another backend in another snapshot, and the
 *                            same backend another number. The caller compares what the numbers stand for.
 *                            If config_frontend_same() is true, both have the same number of routes.
 * Any thread, if neither changes.
 */
#ifndef WEIR_CONFIG_SAME_H
#define WEIR_CONFIG_SAME_H

#include <stdbool.h>

#include "weir/config/config.h"

bool config_frontend_same(const struct config_frontend *a, const struct config_frontend *b);
bool config_backend_same(const struct config_backend *a, const struct config_backend *b);
bool config_server_same(const struct config_server *a, const struct config_server *b);
bool config_addr_same(const struct addr_spec *a, const struct addr_spec *b);
bool config_bind_same(const struct config_bind *a, const struct config_bind *b);
bool config_check_same(const struct config_check *a, const struct config_check *b);
bool config_sources_same(const struct config_sources *a, const struct config_sources *b);
bool config_tcp_same(const struct config_tcp *a, const struct config_tcp *b);
bool config_log_same(const struct config_log *a, const struct config_log *b);

#endif
