/* SPDX-License-Identifier: MIT
 *
 * source_rate.h - `rate-limit-per-source`: how often one source may connect. Part of config.h.
 */
#ifndef WEIR_CONFIG_SOURCE_RATE_H
#define WEIR_CONFIG_SOURCE_RATE_H

#include <stdint.h>
#include <stdio.h>

struct config;
struct config_frontend;
struct json;

/* New connections of one source. */
struct config_source_rate {
	unsigned count; /* in `period_ns`; 0 = no limit, and the rest is 0 too */
	unsigned burst; /* that may come at once after a quiet time */
	int64_t period_ns;
};

/* The most memory, in bytes, that rate-limit-per-source of this frontend takes; 0 without it. */
uint64_t config_rate_memory(const struct config_frontend *f);
/* A line about each frontend that has it; each begins with `prefix`. Main thread. */
void config_print_rate_memory(const struct config *c, const char *prefix, FILE *out);
/* The same as objects in an array of `j`, "source_rates". */
void config_json_rate_memory(const struct config *c, struct json *j);

#endif
