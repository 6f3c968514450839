/* SPDX-License-Identifier: MIT
 *
 * rate_memory.c - how much memory rate-limit-per-source takes, reported before a start.
 *
 * Main thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "weir/base/json.h"
#include "weir/config/config.h"
#include "weir/net/source_rates.h"

#define MIB (UINT64_C(1) << 20)

uint64_t config_rate_memory(const struct config_frontend *f)
{
	return f->source_rate.count > 0 ? source_rates_bytes(SOURCE_RATES_MAX) : 0;
}

void config_print_rate_memory(const struct config *c, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < c->frontend_count; i++) {
		const struct config_frontend *f = &c->frontends[i];

		if (config_rate_memory(f) > 0)
			fprintf(out,
				"%s%s (%s:%u): rate-limit-per-source takes up to %" PRIu64
				" MiB of memory, for %u sources\n",
				prefix, f->name, f->place.file, f->place.line,
				(config_rate_memory(f) + MIB - 1) / MIB, SOURCE_RATES_MAX);
	}
}

void config_json_rate_memory(const struct config *c, struct json *j)
{
	json_array(j, "source_rates");
	for (size_t i = 0; i < c->frontend_count; i++) {
		const struct config_frontend *f = &c->frontends[i];

		if (config_rate_memory(f) == 0)
			continue;
		json_object(j, NULL);
		json_string(j, "frontend", f->name);
		json_string(j, "file", f->place.file);
		json_unsigned(j, "line", f->place.line);
		json_unsigned(j, "sources", SOURCE_RATES_MAX);
		json_unsigned(j, "memory_bytes", config_rate_memory(f));
		json_object_end(j);
	}
	json_array_end(j);
}
