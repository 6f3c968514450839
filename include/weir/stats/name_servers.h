/* SPDX-License-Identifier: MIT
 *
 * name_servers.h - the name servers that are asked, and what was counted for each, for those who show them.
 *
 * The room that asks them and the room that shows them do not know each other: control hands the source over.
 * Control thread.
 */
#ifndef WEIR_STATS_NAME_SERVERS_H
#define WEIR_STATS_NAME_SERVERS_H

#include <stddef.h>
#include <stdint.h>

#include "weir/config/config.h"

#define NAME_SERVERS_MAX     CONFIG_RESOLVERS_MAX
#define NAME_SERVER_NAME_MAX 64

struct name_server_counts {
#define NAME_SERVER_COUNT(member, word, help) uint64_t member;
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
};

/* Adds each count of `from`. */
static inline void name_server_counts_add(struct name_server_counts *to,
					  const struct name_server_counts *from)
{
#define NAME_SERVER_COUNT(member, word, help) to->member += from->member;
#include "weir/stats/name_server_counts.tbl.h"
#undef NAME_SERVER_COUNT
}

struct name_server_view {
	char name[NAME_SERVER_NAME_MAX]; /* its address, with the port unless it is 53 */
	struct name_server_counts counts;
};

struct name_servers_source {
	/* Fills `list` in the order of the configuration; returns how many there are: 0 if no name was ever
	 * resolved by DNS. */
	size_t (*read)(void *from, struct name_server_view list[NAME_SERVERS_MAX]);
	void *from; /* borrows */
};

#endif
