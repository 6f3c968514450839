/* SPDX-License-Identifier: MIT
 *
 * name_round.h - all questions about one name that are asked together, and what comes of them.
 *
 * For a host: A and AAAA. For SRV: that, and then the addresses of each target, unless they came along.
 * Control thread.
 */
#ifndef WEIR_NAMES_NAME_ROUND_H
#define WEIR_NAMES_NAME_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "dns.h"
#include "name_state.h"

struct name_round {
	struct dns *dns;        /* borrows */
	struct list asked;      /* owns: questions without an answer */
	bool begun;             /* and not ended */
	unsigned open;          /* answers awaited */
	struct name_found *found; /* owns */
	size_t found_count;
	size_t found_room;
	struct name_gap *gaps; /* owns */
	size_t gap_count;
	size_t gap_room;
	bool no_memory;
	int family;
	uint32_t ttl_s;   /* the lowest */
	unsigned server;  /* who answered last */
	const char *why;  /* of a bad outcome; static */
	void (*ended)(struct name_round *round); /* may free it */
};

/* A zeroed struct, but for list, dns and ended, is at rest. */
void name_round_init(struct name_round *r, void (*ended)(struct name_round *round));
/* Asks for what `wish` names; `ended` comes later. 0, or -ENOMEM, and then it does not. */
int name_round_begin(struct name_round *r, struct dns *dns, const struct name_wish *wish);
/* The result, once it has ended. Borrows from the round. */
struct name_result name_round_result(const struct name_round *r);
/* Withdraws what is under way and frees the result. */
void name_round_clear(struct name_round *r);

#endif
