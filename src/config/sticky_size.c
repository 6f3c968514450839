/* SPDX-License-Identifier: MIT
 *
 * sticky_size.c - the memory of the tables of clients that keep their server.
 *
 * Main thread.
 */
#include "weir/config/sticky_size.h"

#include <inttypes.h>

#include "weir/base/json.h"
#include "weir/net/sticky_table.h"

#define KIB 1024u

void config_print_sticky(const struct config *c, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < c->backend_count; i++) {
		const struct config_backend *b = &c->backends[i];
		size_t kib;

		if (b->sticky.by == CONFIG_STICKY_OFF)
			continue;
		kib = (sticky_table_bytes(b->sticky.size) + KIB - 1) / KIB;
		fprintf(out,
			"%s'sticky' of %s (%s:%u) takes up to %zu %s of memory, for %" PRIu32 " client%s\n",
			prefix, b->name, b->place.file, b->place.line,
			kib < 10 * KIB ? kib : (kib + KIB - 1) / KIB, kib < 10 * KIB ? "KiB" : "MiB",
			b->sticky.size, b->sticky.size == 1 ? "" : "s");
	}
}

void config_json_sticky(const struct config *c, struct json *j)
{
	json_array(j, "sticky_tables");
	for (size_t i = 0; i < c->backend_count; i++) {
		const struct config_backend *b = &c->backends[i];

		if (b->sticky.by == CONFIG_STICKY_OFF)
			continue;
		json_object(j, NULL);
		json_string(j, "backend", b->name);
		json_string(j, "file", b->place.file);
		json_unsigned(j, "line", b->place.line);
		json_unsigned(j, "clients", b->sticky.size);
		json_unsigned(j, "memory_bytes", sticky_table_bytes(b->sticky.size));
		json_object_end(j);
	}
	json_array_end(j);
}
