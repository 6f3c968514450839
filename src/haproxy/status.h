/* SPDX-License-Identifier: MIT
 *
 * status.h - the statuses that `http-check expect` takes. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_STATUS_H
#define WEIR_SRC_HAPROXY_STATUS_H

#include <stdbool.h>

#include "weir/config/arena.h"

/* Ranges for a list of statuses or a pattern, "200-299,404"; `negated`: all others. NULL: none are known. */
const char *haproxy_statuses(struct arena *a, const char *text, bool is_pattern, bool negated);

#endif
