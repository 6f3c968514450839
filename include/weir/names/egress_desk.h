/* SPDX-License-Identifier: MIT
 *
 * egress_desk.h - answers workers that ask for the addresses of names which clients chose
 * (engine/egress.h).
 *
 * By DNS alone, as absolute names: no hosts file, no search domain. What an answer says is remembered for its
 * TTL, from EGRESS_TTL_MIN_S to EGRESS_TTL_MAX_S, and that there is none for EGRESS_BAD_TTL_S; so
 * is, at most, an answer that lacks what one of its two questions asked for. Addresses of one family wait
 * 50 ms for those of the other; if these come later, they are for those who ask later. At most
 * EGRESS_QUERIES_MAX names are looked up at a time, and EGRESS_SOURCE_MAX that one source asked for first (an
 * IPv4 address, or the /64 of an IPv6 one). A lookup goes on when its clients have left: it has its place in
 * these limits until it ends, so that leaving early buys nobody more. At most EGRESS_WAITING_MAX clients wait
 * for one lookup, not counting those that have left. Control thread.
 */
#ifndef WEIR_NAMES_EGRESS_DESK_H
#define WEIR_NAMES_EGRESS_DESK_H

#include "weir/base/figure.h"

#define EGRESS_QUERIES_MAX 64
#define EGRESS_SOURCE_MAX  8
/* Clients that wait for one lookup. */
#define EGRESS_WAITING_MAX 1024
#define EGRESS_TTL_MIN_S   1
#define EGRESS_TTL_MAX_S   300
#define EGRESS_BAD_TTL_S   5

struct egress_desk_state;
struct engine;
struct resolver;

/* Begins to answer when it is notified; takes nothing else before the first question. Borrows both. NULL
 * without memory. */
struct egress_desk_state *egress_desk_new(struct resolver *r, struct engine *e);
/* Gives back each question, without an answer. Before resolver_free(). NULL is fine. */
void egress_desk_free(struct egress_desk_state *d);
/* Workers may have asked. Takes only so many questions, and has the engine notified if there are more. */
void egress_desk_heed(struct egress_desk_state *d);

/* For a figure_source whose `from` is a struct egress_desk_state, or NULL before there is one. */
void egress_desk_publish(void *desk, figure_report *report, void *to);

#endif
