/* SPDX-License-Identifier: MIT
 *
 * sticky_size.c - the memory of the tables of clients that keep their server.
 *
 * Main thread.
 */
#include "weir/config/sticky_size.h"

#include <inttypes.h>

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
