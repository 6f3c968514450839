/* SPDX-License-Identifier: MIT
 *
 * agents.h - agent checks: asks the agent of each server that has one for its weight and state.
 *
 * An agent is a program beside a server that answers each connection with a line of HAProxy's words
 * (agent_words.h). It never overrides an administrator, and one that cannot be reached changes nothing. Has
 * no timer if no server has an agent. Main thread.
 */
#ifndef WEIR_HEALTH_AGENTS_H
#define WEIR_HEALTH_AGENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"

struct agents;
struct ev_loop;

/* Begins to ask the agents of the servers of `e`, each after a part of its interval, and publishes what they
 * say in `agent` and `agent_view`. Changes servers through `u`. Borrows both until agents_free(). NULL on
 * failure, with `*err` = -errno. */
struct agents *agents_new(struct ev_loop *loop, struct engine *e, struct server_updates *u, int *err);
/* Asks no more. NULL is harmless. */
void agents_free(struct agents *a);
/* Takes what `count` more servers with agents need, so that adding them cannot fail. 0, or -errno with
 * nothing taken: -ENOMEM, -EMFILE, -ENFILE. */
int agents_prepare(struct agents *a, size_t count);
/* The change for which that was taken is over, whether they came or not. */
void agents_settle(struct agents *a, size_t count);
/* The process drains: agents are asked only for servers that clients wait for. */
void agents_drain(struct agents *a);

#endif
