/* SPDX-License-Identifier: MIT
 *
 * prober.h - health checks: which server is asked when, and what its answers do to it.
 *
 * Has one check a server that the file wants checked; each asks by a connection of its own (probe.h),
 * and the machine of balance/health.h makes of the results whether the server is healthy. Beyond that it
 * takes the failed connects that workers have counted (`observe = connect`) for failed checks. Moves no byte
 * of a client. Where nothing is checked it has no timer. Main thread.
 */
#ifndef WEIR_HEALTH_PROBER_H
#define WEIR_HEALTH_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"

struct prober;
struct ev_loop;

/* Begins to check the servers of `e`, spread over the smallest interval, and publishes how that stands in
 * their `check`. Changes them by `u`, and learns from it which of them are in maintenance. Both are borrowed
 * until prober_free(). NULL with `*err` = -errno on failure. */
struct prober *prober_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err);
/* Ends all checks; NULL is fine. */
void prober_free(struct prober *p);

/* Workers have news: looks whether they have seen servers fail. Costs nothing without `observe`. */
void prober_take_news(struct prober *p);
/* A soft stop has begun: servers are asked on only while somebody waits for one of their backend, which may
 * begin late, as who is connected already may still have to say where he goes. */
void prober_drain(struct prober *p);

#endif
