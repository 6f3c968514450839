/* SPDX-License-Identifier: MIT
 *
 * bind_range.h - a range of ports in a `bind` line: one bind of the snapshot per port, one line for people.
 *
 * Plain functions without memory of their own. Any thread.
 */
#ifndef WEIR_CONFIG_BIND_RANGE_H
#define WEIR_CONFIG_BIND_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/config/config.h"

struct json;

/* Memory that a port of a range takes: ours, ours once more per worker, and the kernel's for its socket and
 * for each worker that waits there. Measured by tests/storm/ports.py. */
#define BIND_RANGE_PORT_BYTES	       UINT64_C(2304)
#define BIND_RANGE_PORT_WORKER_BYTES   UINT64_C(256)
#define BIND_RANGE_KERNEL_BYTES	       UINT64_C(3840)
#define BIND_RANGE_KERNEL_WORKER_BYTES UINT64_C(256)

/* Is it one port of a range? */
static inline bool bind_is_in_range(const struct config_bind *b)
{
	return b->first_port != 0;
}

/* How many ports the line of `b` has; 1 without a range. */
static inline unsigned bind_line_ports(const struct config_bind *b)
{
	return bind_is_in_range(b) ? (unsigned)(b->last_port - b->first_port) + 1 : 1;
}

/* Are both ports of one range, written on one line? */
bool bind_shares_line(const struct config_bind *a, const struct config_bind *b);
/* The address as it is written on the line, into `buf` (ADDR_TEXT_MAX bytes); returns `buf`. */
const char *bind_line_address(const struct config_bind *b, char *buf);
/* The address of those ports of its range that begin with that of `b` and end with `last`, likewise. */
const char *bind_ports_address(const struct config_bind *b, uint16_t last, char *buf);
/* What the ports of its line take with that many workers, in bytes. */
uint64_t bind_line_memory(const struct config_bind *b, unsigned workers);
/* The longest range of `c`; NULL = it has none. */
const struct config_bind *bind_longest_range(const struct config *c);
/* A line about each range of `c`, what it takes with that many workers; each begins with `prefix`. */
void bind_print_ranges(const struct config *c, unsigned workers, const char *prefix, FILE *out);
/* The same as objects in an array of `j`, "ranges". */
void bind_json_ranges(const struct config *c, unsigned workers, struct json *j);

#endif
