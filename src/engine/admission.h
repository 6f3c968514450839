/* SPDX-License-Identifier: MIT
 *
 * admission.h - may this client come in, and to which backend does it go?
 *
 * Decided once, when the client's address is known. If that is the peer's own address, the listener decides,
 * so that a client that is kept out never becomes a session, and takes neither a slot of maxconn nor a place
 * of rate-limit. Behind a PROXY header it is the address in the header; the listener then applies `trusted`
 * and allow-uid, and until the header has arrived maxconn-per-source counts the peer. deny-from takes
 * precedence over allow-from. The client of a Unix socket belongs to no network, so both skip it: allow-uid
 * and the socket's mode apply to it. A worker's thread.
 */
#ifndef WEIR_ENGINE_ADMISSION_H
#define WEIR_ENGINE_ADMISSION_H

#include <stdbool.h>

struct addr_brief;
struct client_hello;
struct endpoint_settings;
struct session;
struct worker;

/* Judges a peer by its own address and user. True: it was turned away (counted, logged, reset), and `fd`,
 * which this then takes, is closed. False: it may become a session. For the listener, if the
 * settings are choosy. */
bool admission_turn_away(struct worker *w, const struct endpoint_settings *entry, int fd,
			 const struct addr_brief *peer);
/* The session waits for its PROXY header, which has not arrived at once: maxconn-per-source counts the peer.
 * A peer over that limit still gets a short time, as the headers of a balancer that opens many connections
 * may all be in flight. */
void admission_owes_header(struct session *s);
/* The time for the session's header is over. */
void admission_header_late(struct session *s);
/* Applies deny-from, allow-from, allow-uid and maxconn-per-source. True: the session is let in. False: it is
 * closing, with its reason, or waits in SESSION_HELD for another session of its source to end. */
bool admission_admit(struct session *s);
/* Calls admission_admit() and goes on: an admitted session is sniffed, or applies use-backend and looks for a
 * server. */
void admission_enter(struct session *s);
/* Applies use-backend: s->back is of the backend to use afterwards. `hello`: what its client has sent; NULL =
 * no hello. `proto`: what it speaks, one of enum config_proto; 0 = nothing is known. False: the session is
 * closing, because it goes nowhere. */
bool admission_choose_backend(struct session *s, const struct client_hello *hello, unsigned proto);
/* A wait in SESSION_HELD is over. `has_place`: the session has a place in its source, and goes on; otherwise
 * it is refused. */
void admission_held_no_more(struct session *s, bool has_place);

#endif
