/* SPDX-License-Identifier: MIT
 *
 * limited_by.h - who slowed a session down: the client, the server, the network, this proxy, or nobody.
 *
 * Any thread.
 */
#ifndef WEIR_ACCOUNT_LIMITED_BY_H
#define WEIR_ACCOUNT_LIMITED_BY_H

#include <stdint.h>

#include "weir/net/tcp_facts.h"

enum limited_by {
	LIMITED_UNKNOWN, /* it was not looked at */
#define LIMIT(name, word) LIMITED_##name,
#include "weir/account/limits.tbl.h"
#undef LIMIT
	LIMITS
};

/* Sessions that are looked at: at least this long, or with at least this many bytes. */
#define LIMITED_MIN_NS	  INT64_C(1000000000)
#define LIMITED_MIN_BYTES (UINT64_C(1) << 20)

/* Compares for how long the kernel was held back on both sides; what held it back the longest counts if that
 * was at least a quarter of `duration_ns`. A side that is no TCP socket counts as never held back; if neither
 * is one, the answer is LIMITED_UNKNOWN. */
enum limited_by limited_by(const struct tcp_facts *client, const struct tcp_facts *server,
			   int64_t duration_ns);
/* Its word, static; NULL for LIMITED_UNKNOWN. */
const char *limited_by_word(enum limited_by by);

#endif
