/* SPDX-License-Identifier: MIT
 *
 * host_set.h - a set of host patterns and a test whether one of them matches a name.
 *
 * Built once, then immutable. A lookup hashes the name once and probes a table per label, whatever the number
 * of patterns. Build on the main thread; look up on any thread.
 */
#ifndef WEIR_NET_HOST_SET_H
#define WEIR_NET_HOST_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/net/host_pattern.h"

/* What a set can hold; host_set_new() asserts it. */
#define HOST_SET_MAX (1u << 24)

struct host_set; /* opaque */

/* Builds a set from `count` patterns, in any order, repeated or not. NULL when out of memory. */
struct host_set *host_set_new(const struct host_pattern *patterns, size_t count);
/* An empty set with room for `count` patterns whose names have `bytes` bytes. NULL when out of memory. */
struct host_set *host_set_room(size_t count, size_t bytes);
/* Adds a pattern; there must be room for it. Not while others look up. */
void host_set_add(struct host_set *set, const struct host_pattern *p);
/* The set also has the patterns of `other`, which it borrows for as long as it is used. False when out of
 * memory. */
bool host_set_include(struct host_set *set, const struct host_set *other);
void host_set_free(struct host_set *set); /* NULL is allowed */

/* Does a pattern match the name (as for host_pattern_matches())? */
bool host_set_has(const struct host_set *set, const char *name, size_t len);
/* Does the set match every name that `narrow` matches? Then `*wide` is the pattern that covers it:
 * "a.example.com" and "*.a.example.com" count as ".a.example.com". */
bool host_set_covers(const struct host_set *set, const struct host_pattern *narrow,
		     struct host_pattern *wide);

#endif
