/* SPDX-License-Identifier: MIT
 *
 * client_key.c - the key of a client for the algorithms that hash.
 *
 * Any thread.
 */
#include "weir/balance/client_key.h"

#include <sys/socket.h>

#include "weir/base/hash.h"

/* The kernel's family numbers may differ between systems: these go into the hash instead. */
enum { SEED_NONE = 0, SEED_UNIX = 1, SEED_IPV4 = 4, SEED_IPV6 = 6 };

uint64_t client_key(const struct addr_brief *a)
{
	if (a->family == AF_INET)
		return hash_bytes(a->ip, 4, SEED_IPV4);
	if (a->family == AF_INET6)
		return hash_bytes(a->ip, sizeof(a->ip), SEED_IPV6);
	return hash_bytes("", 0, a->family == AF_UNIX ? SEED_UNIX : SEED_NONE);
}
