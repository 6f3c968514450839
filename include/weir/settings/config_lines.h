/* SPDX-License-Identifier: MIT
 *
 * config_lines.h - single lines of a configuration, as config_print() writes them.
 *
 * Each writes one line without its end: "server a = 10.0.0.1:80 weight=2". Thread-safe if neither argument
 * changes.
 */
#ifndef WEIR_SETTINGS_CONFIG_LINES_H
#define WEIR_SETTINGS_CONFIG_LINES_H

#include <stdio.h>

#include "weir/config/config.h"

void config_print_bind(const struct config_bind *bind, FILE *out);
/* `b` is its backend, or a copy of that: what the server inherits from there is not repeated. */
void config_print_server(const struct config_backend *b, const struct config_server *server, FILE *out);
void config_print_log(const struct config_log *log, FILE *out);

#endif
