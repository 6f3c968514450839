/* SPDX-License-Identifier: MIT
 *
 * client_key.c - what of a client decides where the algorithms that hash send it.
 *
 * Any thread.
 */
#include "weir/balance/client_key.h"

#include <sys/socket.h>

#include "weir/base/hash.h"

/* The kernel's numbers of the families are its own: these go into the hash. */
enum { SEED_NONE = 0, SEED_UNIX = 1, SEED_IPV4 = 4, SEED_IPV6 = 6 };

uint64_t client_key(const struct addr_brief *a)
{
	if (a->family == AF_INET)
		return hash_bytes(a->ip, 4, SEED_IPV4);
	if (a->family == AF_INET6)
		return hash_bytes(a->ip, sizeof(a->ip), SEED_IPV6);
	return hash_bytes("", 0, a->family == AF_UNIX ? SEED_UNIX : SEED_NONE);
}
