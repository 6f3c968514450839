/* SPDX-License-Identifier: MIT
 *
 * egress_cache.h - the addresses of names that clients asked for, for as long as their TTL says.
 *
 * Strangers choose the names: the chains of the table cannot be predicted, and the name that was used least
 * recently leaves when there are too many. Addresses are as name servers gave them; whoever uses one judges
 * it. Control thread.
 */
#ifndef WEIR_NAMES_EGRESS_CACHE_H
#define WEIR_NAMES_EGRESS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/base/keyed_hash.h"
#include "weir/base/list.h"
#include "weir/engine/egress.h"

#define EGRESS_NAMES_MAX   10000u
#define EGRESS_CACHE_CHAINS 4096u

/* What is known of a name. */
struct egress_found {
	enum egress_outcome outcome;
	unsigned count;
	struct addr_brief list[EGRESS_ADDRESSES_MAX];
};

struct egress_cache {
	struct keyed_hash_key key;
	struct list *chains; /* owns; NULL before the first name */
	struct list recent;  /* the least recently used name is the first */
	size_t count;
	uint64_t left_early; /* names that made room for others before their time was over */
};

void egress_cache_init(struct egress_cache *c);
void egress_cache_free(struct egress_cache *c);
/* What is known of `name` at `now_ns`, on the monotonic clock, in `*found`. False if nothing is. */
bool egress_cache_find(struct egress_cache *c, const char *name, int family, int64_t now_ns,
		       struct egress_found *found);
/* Remembers it until `until_ns`. Without memory nothing is remembered. */
void egress_cache_put(struct egress_cache *c, const char *name, int family,
		      const struct egress_found *found, int64_t now_ns, int64_t until_ns);

#endif
