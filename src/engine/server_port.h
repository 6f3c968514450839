/* SPDX-License-Identifier: MIT
 *
 * server_port.h - where a session connects to: the address of its server, with the client's port if the
 * server has none of its own (`server a = 10.0.0.1:*`).
 *
 * The client's port is that of our socket, or the one in the client's PROXY header if its frontend listens
 * there. A worker's thread.
 */
#ifndef WEIR_ENGINE_SERVER_PORT_H
#define WEIR_ENGINE_SERVER_PORT_H

#include <stdint.h>

#include "extra.h"
#include "session.h"

struct slab;

/* Prepares a worker's slab of the addresses that are made here. */
void server_port_init_slab(struct slab *slab);

/* The port that the server of the session is connected to; 0 = its client has none, which was logged. */
uint16_t server_port_wanted(struct session *s);
/* Call for each try, once s->at is set. 0; -ENOMEM; -EAFNOSUPPORT if the client has no port, because it came
 * by a Unix socket, which was logged. */
int server_port_choose(struct session *s);
/* The address of this try; valid until server_port_drop(). */
static inline const struct addr *server_port_addr(const struct session *s)
{
	return likely(!s->at->takes_client_port) ? &s->at->addr : session_ported_addr(s->extra);
}
/* Nothing connects any more: frees what server_port_choose() made. Harmless where it made nothing. */
void server_port_drop(struct session *s);
/* The address that the last try went to instead of the server's own; family 0 = none. */
static inline struct addr_brief server_port_found(const struct session *s)
{
	return s->at != NULL && s->at->takes_client_name && s->extra != NULL ? s->extra->at
									     : (struct addr_brief){0};
}
/* The port that the last try went to; 0 = that of the server's own address. */
static inline uint16_t server_port_last(const struct session *s)
{
	return s->at != NULL && s->at->takes_client_port && s->extra != NULL ? s->extra->server_port : 0;
}
/* The address of the server of the last try, for whoever reports it. Call only with s->at. */
struct addr server_port_shown(const struct session *s);

#endif
