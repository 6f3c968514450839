/* SPDX-License-Identifier: MIT
 *
 * name_watch.h - one name that is looked up again and again: the addresses that it has now.
 *
 * Queries, retries, the time of the next query and the holds are this room's; whoever watches a name gets the
 * list of addresses that count at the moment, and only has to make it true. Control thread.
 */
#ifndef WEIR_NAMES_NAME_WATCH_H
#define WEIR_NAMES_NAME_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* Maximum addresses of one name; what an answer has beyond is left out. */
#define NAME_ADDRESSES_MAX 1024

struct name_watch;
struct resolver;

enum name_kind {
	NAME_HOST, /* addresses of a host: A and AAAA records, or what getaddrinfo(3) finds */
	NAME_SRV,  /* the targets of SRV records; needs DNS */
};

/* What the latest query has brought. */
enum name_outcome {
	NAME_GOOD,    /* addresses */
	NAME_NX,      /* the name does not exist, or has no address */
	NAME_TIMEOUT, /* no answer */
	NAME_REFUSED, /* no name server wants to answer */
	NAME_OTHER,   /* a name server has a failure, or its answers are of no use */
	NAME_OUTCOMES
};

struct name_address {
	struct addr addr;  /* with its port */
	uint16_t weight;   /* of SRV, 0 to 65535; otherwise 1 */
	uint16_t priority; /* of SRV, the lowest first; otherwise 0 */
	uint16_t rank;     /* its place in the answer, from 0 */
};

/* How often a name is looked up, and how long its addresses stay when it no longer has them. */
struct name_terms {
	int64_t interval_ns;            /* `resolve-interval`; 0 = as the TTL says */
	int64_t hold_ns[NAME_OUTCOMES]; /* after a bad outcome; the first member is not used */
	int64_t hold_obsolete_ns;       /* after a good one that no longer has the address */
};

/* `list` is what the name has now: the addresses of the latest good answer, with those that a hold keeps,
 * sorted by address and free of duplicates. It is called after each query, also if nothing changed, and when
 * a hold ends. With a bad `outcome` the list still has the addresses until the hold ends; an empty list means
 * that there are none (any more) and `outcome` says why; with NAME_GOOD it is never empty. The list is valid
 * during the call, which may free the watch. */
typedef void name_answered(void *arg, enum name_outcome outcome, const struct name_address *list,
			   size_t count);

struct name_wish {
	enum name_kind kind;
	const char *host; /* copied; at most 255 bytes */
	uint16_t port;    /* NAME_HOST */
	int family;       /* AF_UNSPEC, or only AF_INET or AF_INET6 */
	struct name_terms terms;
	name_answered *answered;
	void *arg;
};

/* Takes all memory that a watch needs to begin, but asks nothing yet, so that a change can be prepared with
 * it and be given up by name_watch_free(). NULL on failure, with `*err` = -ENOMEM or another -errno; -ENOSYS
 * for NAME_SRV if the daemon does not resolve names by DNS. */
struct name_watch *name_watch_new(struct resolver *r, const struct name_wish *wish, int *err);
/* Begins. The first answer comes later, never from within this call. Does not fail. */
void name_watch_start(struct name_watch *w);
/* Other terms, from now on. They may be set before the start. */
void name_watch_set_terms(struct name_watch *w, const struct name_terms *terms);
/* Of the latest bad outcome: why, as a clause for a message; and since when nothing good has come, on the
 * monotonic clock, 0 = something has. */
const char *name_watch_why(const struct name_watch *w);
int64_t name_watch_bad_since_ns(const struct name_watch *w);
/* Ends it, with any query under way; NULL is fine. */
void name_watch_free(struct name_watch *w);

#endif
