/* SPDX-License-Identifier: MIT
 *
 * admission.h - may this client come in, and to which backend does it go?
 *
 * Asked once, when the client's address is known. Where that is the peer's own, the listener asks, so that
 * who is kept out is no session, and has neither a slot of maxconn nor a place of rate-limit. Behind a PROXY
 * header it is the one in it; the listener then asks for `trusted` and allow-uid, and until the header has
 * come maxconn-per-source counts the peer.
 * deny-from goes before allow-from. The client of a Unix socket lies in no network, so both pass it by:
 * allow-uid and the socket's mode are for it.
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_ADMISSION_H
#define WEIR_ENGINE_ADMISSION_H

#include <stdbool.h>

struct addr_brief;
struct endpoint;
struct engine;
struct frontend;
struct session;
struct worker;

/* May this peer send a PROXY header where one is read? */
bool admission_trusts(const struct frontend *fe, const struct addr_brief *peer);
/* Judges a peer by its own address and user. True: it was turned away (counted, logged, reset), and `fd`,
 * which this takes then, is closed. False: it may become a session. For the listener, where
 * frontend->choosy. */
bool admission_turn_away(struct worker *w, const struct endpoint *ep, int fd, const struct addr_brief *peer);
/* The session waits for its PROXY header, which has not come at once: maxconn-per-source counts the peer. One
 * that is over it has a moment only, as the headers of a balancer that opens many may all be on their way. */
void admission_owes_header(struct session *s);
/* The time for its header is over. */
void admission_header_late(struct session *s);
/* Applies deny-from, allow-from, allow-uid, maxconn-per-source and use-backend. True: s->backend is the
 * one to use. False: the session is closing, with its reason, or waits in SESSION_HELD for another session
 * of its source to end. */
bool admission_admit(struct session *s);
/* Asks that, and goes on: who is let in looks for a server. */
void admission_enter(struct session *s);
/* Such a wait is over: `has_place` in its source. Goes on with the session, or refuses it. */
void admission_held_no_more(struct session *s, bool has_place);
/* Engine-wide state (the tables of maxconn-per-source); control thread. 0 or -ENOMEM. */
int admission_init(struct engine *e);
void admission_free(struct engine *e);

#endif
