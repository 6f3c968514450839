/* SPDX-License-Identifier: MIT
 *
 * egress.h - sessions whose client chooses its server by name (`server a = sni@443`). A worker's thread.
 */
#ifndef WEIR_ENGINE_EGRESS_SESSION_H
#define WEIR_ENGINE_EGRESS_SESSION_H

#include <stdbool.h>

#include "weir/engine/egress.h"
#include "extra.h"
#include "session.h"

struct addr;
struct worker;

/* Prepares what a worker has for them. */
void egress_init_worker(struct worker *w);

/* Is a judged address left that this try may go to? */
bool egress_has_next(const struct session *s);
/* The session has a place at a server sni@ and no address: asks, and the session waits, in state RESOLVING;
 * or it is closing, as its client asks for no name that is allowed. */
void egress_ask(struct session *s);
/* The next judged address, with its port; call only if there is one. The session remembers it. */
void egress_choose(struct session *s, struct addr *to);
/* The last try failed with `err`. Does it not count, because nothing leads from this machine to that address
 * and the name has another one? Whoever goes on adds it to those skipped. */
bool egress_skips(const struct session *s, int err);
/* Tries of the session that did not count. */
static inline unsigned egress_skipped(const struct session *s)
{
	return s->extra != NULL ? s->extra->skipped : 0;
}
/* Nothing connects any more: what is left of the answer is given back. A question that is under way comes
 * back later, for nobody. Harmless where there is none. */
void egress_drop(struct session *s);

/* The worker was notified that questions were answered: each session that still waits has an address now, and
 * is passed to `go_on`, or is closing. */
void egress_take(struct worker *w, void (*go_on)(struct session *s));
/* The worker ends, without sessions: takes back its questions, wherever they are, and frees them. Control has
 * given back its own. */
void egress_end_worker(struct worker *w);

#endif
