/* SPDX-License-Identifier: MIT
 *
 * auth_sources.h - who has guessed how often: AUTH_FAILURES wrong passwords from one source within a minute,
 * and no other is verified until that minute is over.
 *
 * A source is an IPv4 address, an IPv6 /64 network or a user of this machine. The table is of fixed size:
 * with more sources than it has room for, those that began longest ago are forgotten. Main thread.
 */
#ifndef WEIR_WEB_AUTH_SOURCES_H
#define WEIR_WEB_AUTH_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base/clock.h"
#include "weir/base/keyed_hash.h"
#include "weir/net/addr.h"

#define AUTH_FAILURES	 5
#define AUTH_FAILURES_NS (60 * NS_PER_SEC)
#define AUTH_SOURCE_SETS 256
#define AUTH_SOURCE_WAYS 4

struct auth_sources {
	struct auth_source {
		struct keyed_hash key;
		int64_t since_ns; /* monotonic: of the first failure */
		unsigned count;	  /* 0 = unused */
	} sets[AUTH_SOURCE_SETS][AUTH_SOURCE_WAYS];
};

/* Which source a client is. `uid` is that of a client over a Unix socket. */
struct keyed_hash auth_source_of(const struct keyed_hash_key *key, const struct addr_brief *client,
				 uint32_t uid);
/* How long, in ns, this source has to wait; 0 = it may guess. */
int64_t auth_sources_wait_ns(const struct auth_sources *s, struct keyed_hash source, int64_t now_ns);
/* Counts a failure, or a guess that is about to be verified. */
void auth_sources_add(struct auth_sources *s, struct keyed_hash source, int64_t now_ns);
/* That guess was right, or has not been verified. */
void auth_sources_take_back(struct auth_sources *s, struct keyed_hash source, int64_t now_ns);

#endif
