/* SPDX-License-Identifier: MIT
 *
 * server_check.h - the health check of one server: that of its section, with the words of its own line.
 *
 * Any thread.
 */
#ifndef WEIR_CONFIG_SERVER_CHECK_H
#define WEIR_CONFIG_SERVER_CHECK_H

#include "weir/config/config.h"

/* What its texts and lists point to belongs to `b`. A server that is checked in a section without `check`, as
 * one that was added at run time may be, gets a TCP check. */
struct config_check config_server_check(const struct config_backend *b, const struct config_server *s);

#endif
