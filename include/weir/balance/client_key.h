/* SPDX-License-Identifier: MIT
 *
 * client_key.h - the key of a client for the algorithms that hash.
 *
 * The same on every machine. Any thread.
 */
#ifndef WEIR_BALANCE_CLIENT_KEY_H
#define WEIR_BALANCE_CLIENT_KEY_H

#include <stdint.h>

#include "weir/net/addr.h"

/* Hash of the address without its port; all clients of Unix sockets, and those without an address, have one
 * key each. */
uint64_t client_key(const struct addr_brief *a);

#endif
