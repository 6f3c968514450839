/* SPDX-License-Identifier: MIT
 *
 * sticky_size.h - the tables of clients that keep their server: of which kind they are, and their memory.
 *
 * Main thread.
 */
#ifndef WEIR_CONFIG_STICKY_SIZE_H
#define WEIR_CONFIG_STICKY_SIZE_H

#include <stdio.h>

#include "weir/config/config.h"
#include "weir/net/sticky_table.h"

struct json;

/* The kind of its table; not for `off`. */
static inline enum sticky_keys config_sticky_keys(const struct config_sticky *how)
{
	return how->by == CONFIG_STICKY_DST ? STICKY_DESTINATIONS : STICKY_CLIENTS;
}

/* Prints a line for each backend with `sticky`: how much memory its table takes once it is full. */
void config_print_sticky(const struct config *c, const char *prefix, FILE *out);
/* The same as objects in an array of `j`, "sticky_tables". */
void config_json_sticky(const struct config *c, struct json *j);

#endif
