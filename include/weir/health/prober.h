/* SPDX-License-Identifier: MIT
 *
 * prober.h - health checks: when each server is probed, and what the results do to it.
 *
 * Checks each server that has checks configured. Each check uses a connection of its own (probe.h), and
 * the state machine in balance/health.h decides from the results whether the server is healthy. With
 * `observe = connect`, failed connects counted by workers also count as failed checks. Forwards no client
 * data. Has no timer if no server is checked. Main thread.
 */
#ifndef WEIR_HEALTH_PROBER_H
#define WEIR_HEALTH_PROBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"

struct prober;
struct ev_loop;

/* Begins to check the servers of `e`, spread over the smallest interval, and publishes their state in
 * `probe`. Changes servers through `u`, which also reports which of them are in maintenance. Borrows both
 * until prober_free(). NULL on failure, with `*err` = -errno. */
struct prober *prober_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err);
/* Ends all checks. NULL is harmless. */
void prober_free(struct prober *p);

/* Takes memory for a change, before it is committed (live_change.h), in which at most this many servers come
 * to be checked: those that are added, and those whose configuration, or that of their backend, changes. Also
 * claims a descriptor for each, with what libev needs to watch it (sys/low_fds.h).
 * Checks begin, change and end as server_updates.h tells. A server stays up or down whatever changes. As long
 * as it is asked the same question at the same address, its failures and good checks so far count on, also
 * towards another `rise` or `fall`. Otherwise they do not apply any more: it is checked as one that has just
 * come, and that first check alone decides. A server that is not checked any more is up.
 * 0, or with nothing taken -ENOMEM, -EMFILE or -ENFILE: low_fds_advice() says what to do. */
int prober_prepare(struct prober *p, size_t servers);
/* The change is committed or was given up: frees what it did not need. */
void prober_settle(struct prober *p, size_t servers);

/* Programs of `check = exec`: as many as `limit` run at once, 0 until the first commit. Takes descriptors for
 * them; 0 or -errno, as prober_prepare(). Either of the others comes next: the limit is in effect, or what
 * was taken is given back. */
int prober_prepare_execs(struct prober *p, unsigned limit);
void prober_commit_execs(struct prober *p);
void prober_undo_execs(struct prober *p);
/* Their RLIMIT_NOFILE, copied; without this call, the one that this process had at prober_new(). */
void prober_set_exec_files(struct prober *p, const struct rlimit *files);

/* Workers have news: looks for servers that they have seen fail. Costs nothing without `observe`. */
void prober_take_news(struct prober *p);
/* A graceful shutdown has begun: a server is checked only while a client waits for its backend. This may
 * start late, because a connected client may not have sent what routes it yet. */
void prober_drain(struct prober *p);

#endif
