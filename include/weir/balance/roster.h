/* SPDX-License-Identifier: MIT
 *
 * roster.h - the servers that may be chosen now, with their weights, and the tables of the algorithms that
 * hash.
 *
 * Immutable. Control builds one per change, so that no worker ever builds a table, and frees it once no
 * worker can have it any more (base/retire.h): a worker uses the one it finds until the end of its turn. It
 * contains backup servers only if there is no other (all of them with allbackups, otherwise the first); with
 * `panic`, if no server is up, all that have an address and are not in maintenance. With `persist`, it also
 * has the servers that clients may come back to, by address; if clients keep their server (sticky.h), all
 * servers of the backend by name. Any thread may read it.
 */
#ifndef WEIR_BALANCE_ROSTER_H
#define WEIR_BALANCE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/live.h"
#include "weir/config/config.h"

struct backend;
struct roster_scratch;
struct server;
struct sticky_table;

/* Prime, and large compared with the number of servers (Maglev, NSDI 2016, section 3.4). */
#define ROSTER_MAGLEV_SLOTS 65537u
/* Points on the ring per unit of weight, as in HAProxy. */
#define ROSTER_RING_POINTS 16u
/* A larger ring is thinned out: all servers get half the points, or a quarter and so on, but at least one
 * each. */
#define ROSTER_RING_MAX (1u << 18)

struct roster_entry {
	struct server *server; /* borrows */
	unsigned weight;       /* in sixteenths, > 0 */
	uint32_t slot;         /* of the server */
	uint64_t weight_end;   /* sum of the weights of this entry and all before it */
};

/* A place on the ring of `hash=consistent`. */
struct ring_point {
	uint64_t hash;
	uint32_t entry; /* index into by_key */
};

/* A server that clients may come back to, with the address that it had when the roster was made. */
struct roster_home {
	struct server *server; /* borrows */
	uint32_t ip;           /* in network byte order */
	uint16_t port;
};

/* A server of the backend, whether it may be chosen or not. */
struct roster_known {
	uint64_t id; /* see sticky_id_of(); 0 = none */
	struct server *server; /* borrows */
};

/* What a roster needs memory for. */
struct roster_room {
	size_t servers;
	size_t known; /* places for servers by id, a power of two; 0 = none */
	size_t points; /* on the ring; 0 = no ring */
	bool maglev;
	bool homes;
};

struct roster {
	struct retired retired;
	struct config_balancing how; /* how a server is chosen */
	uint64_t number;
	size_t count;
	uint64_t weight; /* sum */
	struct roster_entry *by_place; /* owns; in file order */
	struct roster_entry *by_key;   /* owns; sorted by server->key: the same on every machine */
	uint32_t *maglev;              /* owns; ROSTER_MAGLEV_SLOTS indexes into by_key; NULL if not wanted */
	struct ring_point *ring;       /* owns; sorted by hash; NULL if not wanted */
	size_t ring_count;
	struct roster_home *homes; /* owns; none are needed without `persist`; sorted by address */
	size_t home_count;
	/* Over the tables in which a hash is looked up, including keys and weights of the servers: two
	 * machines with the same file agree, however its lines are ordered. Without hashing: over keys and
	 * weights. */
	uint64_t checksum;
	struct sticky_table *sticky; /* holds; NULL = no client keeps its server */
	int64_t sticky_expire_ns;
	struct roster_known *known;  /* owns; NULL without `sticky`; open addressing */
	size_t known_mask;
	/* Only until it is filled. */
	struct roster_room room;
	struct roster_scratch *scratch; /* owns */
};

/* The tables in which a hash is looked up. */
#define ROSTER_RING   1u
#define ROSTER_MAGLEV 2u
/* That of servers by id. */
#define ROSTER_KNOWN  4u
/* That of servers by address. */
#define ROSTER_HOMES  8u

/* Those of a roster of a backend with this configuration. */
unsigned roster_tables_of(const struct config_backend *config);
/* What a roster of `b` needs as its servers are now, with `more` servers whose weights sum up to
 * `more_weight`, and any of `tables`. Control thread. */
struct roster_room roster_room_of(const struct backend *b, unsigned tables, size_t more, size_t more_weight);
/* Memory for a roster; NULL if there is none. Control thread. */
struct roster *roster_alloc(const struct roster_room *room);
/* Is there memory in `r`, which was only allocated, for what `room` says? */
bool roster_has_room(const struct roster *r, const struct roster_room *room);
/* Makes it a roster of the servers of `b` as they are now. Cannot fail. Control thread. */
void roster_fill(struct roster *r, const struct backend *b, uint64_t number);
/* The server at this IPv4 address (network byte order) and port that clients may come back to; NULL = none.
 * It is up or drains, so it need not be among those that may be chosen, and takes clients whatever its weight
 * is; one whose address has gone from its set takes none. Of several at one address, the first in the file.
 * Any thread. */
struct server *roster_find_home(const struct roster *r, uint32_t ip, uint16_t port);
/* Frees one that no worker has; NULL is harmless. Control thread. */
void roster_free(struct roster *r);
/* Frees it once no worker can have it. Control thread. */
void roster_retire(struct roster *r, struct live *live);

#endif
