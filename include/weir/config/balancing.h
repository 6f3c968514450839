/* SPDX-License-Identifier: MIT
 *
 * balancing.h - how a server is chosen, and which clients keep theirs: the part of config.h about that.
 *
 * Immutable, as all of it. Any thread.
 */
#ifndef WEIR_CONFIG_BALANCING_H
#define WEIR_CONFIG_BALANCING_H

#include <stdint.h>

/* In the order of the words of the table. */
enum config_balance {
	CONFIG_BALANCE_ROUNDROBIN,
	CONFIG_BALANCE_LEASTCONN,
	CONFIG_BALANCE_RANDOM,
	CONFIG_BALANCE_FIRST,
	CONFIG_BALANCE_SOURCE,
	CONFIG_BALANCE_MAGLEV,
};
/* How `source` maps a hash to a server: by the remainder of a division, or on a ring. */
enum config_hash { CONFIG_HASH_MODULO, CONFIG_HASH_CONSISTENT };
/* The part of a server that is hashed; never its position in the file. AUTO: the address of a member of a
 * set, whose name may pass to another address, and the name of any other server. */
enum config_hash_key { CONFIG_HASH_KEY_AUTO, CONFIG_HASH_KEY_NAME, CONFIG_HASH_KEY_ADDRESS };
/* Which clients have one server: those of an address, or those that connect to an address; in the order of
 * setting_sticky.c. */
enum config_sticky_by { CONFIG_STICKY_OFF, CONFIG_STICKY_SRC, CONFIG_STICKY_DST };

#define CONFIG_DRAWS_MAX 100

/* How a server is chosen. */
struct config_balancing {
	enum config_balance algorithm;
	unsigned draws; /* CONFIG_BALANCE_RANDOM; 1 to CONFIG_DRAWS_MAX */
	enum config_hash hash; /* CONFIG_BALANCE_SOURCE */
	enum config_hash_key hash_key;
	unsigned balance_factor; /* percent of the average load, > 100; 0 = off; for algorithms that hash */
};

/* Which clients keep their server. All zero = none. */
struct config_sticky {
	enum config_sticky_by by;
	int64_t expire_ns; /* since a client was last sent to its server */
	uint32_t size;	   /* clients, or addresses that they connect to */
};

#endif
