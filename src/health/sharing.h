/* SPDX-License-Identifier: MIT
 *
 * sharing.h - identical checks of one address are made once, and their result is that of all (`check-share`).
 *
 * Whoever is due first asks. Whoever is due meanwhile waits for the result, and everybody with the same
 * question takes it and is due next at the same time. Each server counts on its own. A question is the same
 * if nothing about the connection, what is sent, what is expected and when it is asked differs; addresses are
 * compared when a check begins, because names and administrators move servers. Main thread.
 */
#ifndef WEIR_HEALTH_SHARING_H
#define WEIR_HEALTH_SHARING_H

#include <stdbool.h>

#include "probe.h"
#include "target.h"

/* `t` is about to ask t->asked. True: somebody else is asking that, and `t` takes its result. */
bool sharing_waits(struct target *t);
/* The address that `t` will ask is known. */
void sharing_place(struct target *t, const struct addr *to);
/* `t` has this result of t->asked: so have the others, through target_take(). */
void sharing_spread(struct target *t, const struct probe_result *r, int64_t thousandths);
/* `t` asks no more, or something else: whoever waits begins anew. */
void sharing_break(struct target *t);
/* The same, and `t` shares no more until sharing_place(). */
void sharing_leave(struct target *t);

#endif
