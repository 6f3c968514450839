/* SPDX-License-Identifier: MIT
 *
 * sticky_size.h - the memory of the tables of clients that keep their server.
 *
 * Main thread.
 */
#ifndef WEIR_CONFIG_STICKY_SIZE_H
#define WEIR_CONFIG_STICKY_SIZE_H

#include <stdio.h>

#include "weir/config/config.h"

struct json;

/* Prints a line for each backend with `sticky`: how much memory its table takes once it is full. */
void config_print_sticky(const struct config *c, const char *prefix, FILE *out);
/* The same as objects in an array of `j`, "sticky_tables". */
void config_json_sticky(const struct config *c, struct json *j);

#endif
