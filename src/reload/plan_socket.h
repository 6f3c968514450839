/* SPDX-License-Identifier: MIT
 *
 * plan_socket.h - what the socket of an endpoint can be used for, by its settings alone.
 *
 * Control thread.
 */
#ifndef WEIR_SRC_RELOAD_PLAN_SOCKET_H
#define WEIR_SRC_RELOAD_PLAN_SOCKET_H

#include <stdbool.h>

#include "weir/entry/endpoint.h"

/* Can its socket serve the bind `b` of `fe`, if options are set on it? */
bool endpoint_can_become(const struct endpoint *ep, const struct config_frontend *fe,
			 const struct config_bind *b);
/* Would the wildcard bind `b` accept every client that the socket of `ep` accepts? */
bool endpoint_is_covered(const struct endpoint *ep, const struct config_bind *b);

#endif
