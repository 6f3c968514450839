/* SPDX-License-Identifier: MIT
 *
 * set_reconcile.h - a set of servers meets the addresses that its name has now: who stays, leaves, comes.
 *
 * Computes only, and changes nothing:
 * - A member keeps its number while its address stays, and a newcomer gets the lowest number that is free.
 * - A member whose address has gone drains under its number, and is the same again if the address returns.
 * - Of more addresses than `max`, those with the lowest priority value are taken, of these the members, then
 *   those that drain, then the lowest addresses: a change of the others changes nothing.
 * - Without any address, all members stay if the rules say so.
 * Any thread.
 */
#ifndef WEIR_BALANCE_SET_RECONCILE_H
#define WEIR_BALANCE_SET_RECONCILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* One address of the name. */
struct set_address {
	struct addr addr; /* IPv4 or IPv6; port included */
	uint16_t weight;  /* of an SRV record, like the next */
	uint16_t priority;
};

/* A server of the set. */
struct set_member {
	struct addr addr;
	unsigned number; /* from 1 */
	bool leaves;     /* its address has gone */
	uint64_t order;  /* if it leaves: a later one has a higher number */
};

struct set_rules {
	size_t max;    /* servers in use, and as many that drain besides */
	bool keeps;    /* without an address, all stay */
	bool has_srv;  /* weight and priority of the addresses count */
	/* Has another server the name with this number? NULL = none has. */
	bool (*is_taken)(void *arg, unsigned number);
	void *arg;
};

/* The share of a server, as SRV records say it. */
struct set_share {
	unsigned weight; /* 0..256; 1 without SRV */
	bool backup;     /* another address has a lower priority value */
};

enum set_verdict {
	SET_STAYS,   /* it is in use, and remains so */
	SET_RETURNS, /* it drained, and is in use again */
	SET_LEAVES,  /* it drains from now on */
	SET_DRAINS,  /* it goes on draining */
	SET_GOES,    /* it is removed at once, as too many drain: those that left first go first */
};

/* What becomes of one member. */
struct set_fate {
	enum set_verdict verdict;
	bool has_share; /* it is in the answer, which says `share` */
	struct set_share share;
};

struct set_arrival {
	const struct set_address *address; /* borrows from the list */
	unsigned number;
	struct set_share share;
};

struct set_plan {
	struct set_fate *fates; /* owns: one per member, in their order */
	struct set_arrival *arrivals; /* owns: by address */
	size_t arrival_count;
	size_t surplus; /* addresses that are not used because of `max` */
};

/* What becomes of `members` now that the name has the addresses of `list`, in any order; a repeated address
 * counts once, with its lowest priority value. 0; or -ENOMEM, and nothing to free. */
int set_reconcile(struct set_plan *p, const struct set_rules *rules, const struct set_member *members,
		  size_t member_count, const struct set_address *list, size_t count);
/* Harmless on a zeroed plan. */
void set_plan_free(struct set_plan *p);

#endif
