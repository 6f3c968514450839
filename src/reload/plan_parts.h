/* SPDX-License-Identifier: MIT
 *
 * plan_parts.h - the parts of a plan, each made in a file of its own; plan.c calls them in this order.
 *
 * After an error the lists hold what was made so far, and plan_free() frees it. Control thread.
 */
#ifndef WEIR_SRC_RELOAD_PLAN_PARTS_H
#define WEIR_SRC_RELOAD_PLAN_PARTS_H

#include "weir/reload/plan.h"

/* Backends and their servers. 0 or -ENOMEM. */
int plan_backends(struct plan *p, const struct engine *e);
/* The servers of one of them. 0 or -ENOMEM. */
int plan_servers(struct plan_backend *pb);
/* Frontends without their binds. 0 or -ENOMEM. */
int plan_frontends(struct plan *p, const struct engine *e);
/* The binds of all frontends. 0, -ENOMEM, or -EINVAL with `why`. */
int plan_binds(struct plan *p, const struct engine *e, char *why, size_t room);
/* Targets of the log. 0 or -ENOMEM. */
int plan_logs(struct plan *p, const struct logwriter *w);
/* Whatever else is in [global]. */
void plan_global(struct plan *p, const struct plan_input *in);
/* Does only a restart change the option of [global] with this key? */
bool plan_needs_restart(const char *key);

/* The bind at `k`, the first of its sockets, is bound anew although its frontend had this address: the bind
 * until now, whose socket goes on as another one of them. NULL = it is not so. */
const struct config_bind *plan_bind_before(const struct plan_frontend *pf, size_t k);

/* Are both binds of one line: its sockets, or the ports of its range? NULL is of none. */
bool plan_is_one_line(const struct config_bind *a, const struct config_bind *b);
/* Which of the binds of the line that begins at `k` says what becomes of it: of a range, the first port whose
 * socket stays; else `k`. */
size_t plan_speaker(const struct plan_frontend *pf, size_t k);
/* How many are removed from `k`, which is, on: ports of one range, without a gap. */
size_t plan_count_removed(const struct plan_frontend *pf, size_t k);

#endif
