/* SPDX-License-Identifier: MIT
 *
 * sticky_size.c - the memory of the tables of clients that keep their server.
 *
 * Main thread.
 */
#include "weir/config/sticky_size.h"

#include <inttypes.h>

#include "weir/base/json.h"

#define KIB 1024u

static size_t bytes_of(const struct config_sticky *how)
{
	return sticky_table_bytes(config_sticky_keys(how), how->size);
}

/* What has an entry in the table. */
static const char *noun_of(const struct config_sticky *how)
{
	if (how->by == CONFIG_STICKY_DST)
		return how->size == 1 ? "address" : "addresses";
	return how->size == 1 ? "client" : "clients";
}

void config_print_sticky(const struct config *c, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < c->backend_count; i++) {
		const struct config_backend *b = &c->backends[i];
		size_t kib;

		if (b->sticky.by == CONFIG_STICKY_OFF)
			continue;
		kib = (bytes_of(&b->sticky) + KIB - 1) / KIB;
		fprintf(out,
			"%s'sticky' of %s (%s:%u) takes up to %zu %s of memory, for %" PRIu32 " %s\n",
			prefix, b->name, b->place.file, b->place.line,
			kib < 10 * KIB ? kib : (kib + KIB - 1) / KIB, kib < 10 * KIB ? "KiB" : "MiB",
			b->sticky.size, noun_of(&b->sticky));
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
		json_unsigned(j, b->sticky.by == CONFIG_STICKY_DST ? "addresses" : "clients", b->sticky.size);
		json_unsigned(j, "memory_bytes", bytes_of(&b->sticky));
		json_object_end(j);
	}
	json_array_end(j);
}
