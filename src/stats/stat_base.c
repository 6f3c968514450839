/* SPDX-License-Identifier: MIT
 *
 * stat_base.c - what had been counted when an administrator cleared the counters.
 *
 * Control thread.
 */
#include "weir/stats/stat_base.h"

int stat_bases_init(struct stat_bases *b, struct slot_space *objects)
{
	int err;

	b->objects = objects;
	chunks_init(&b->table, sizeof(struct stat_base));
	b->table.emptied = true;
	err = slot_space_add_table(objects, &b->table);
	if (err)
		chunks_free(&b->table);
	return err;
}

void stat_bases_free(struct stat_bases *b)
{
	slot_space_remove_table(b->objects, &b->table);
	chunks_free(&b->table);
}

/* A count that began anew, as with another health check, is below its base. */
static void subtract(uint64_t *from, uint64_t base)
{
	if (*from >= base)
		*from -= base;
}

void stat_counts_subtract(struct stat_counts *from, const struct stat_counts *base)
{
	subtract(&from->total, base->total);
	subtract(&from->failures, base->failures);
	subtract(&from->chosen, base->chosen);
	subtract(&from->denied, base->denied);
	subtract(&from->probe_failures, base->probe_failures);
	subtract(&from->probe_downs, base->probe_downs);
	subtract(&from->connects, base->connects);
	subtract(&from->retries, base->retries);
	subtract(&from->redispatches, base->redispatches);
}
