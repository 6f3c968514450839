/* SPDX-License-Identifier: MIT
 *
 * destination.h - the address that a client connected to.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_DESTINATION_H
#define WEIR_ENGINE_DESTINATION_H

#include <stdbool.h>

#include "weir/net/addr.h"

struct session;

/* The address in the client's PROXY header, or else that of our end of its connection. False if it has none,
 * as clients of Unix sockets. One getsockname(2) if its listener has more than one address. */
bool destination_of(const struct session *s, struct addr_brief *out);

#endif
