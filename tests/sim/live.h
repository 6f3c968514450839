/* SPDX-License-Identifier: MIT
 *
 * live.h - servers, backends, frontends and endpoints that come, change and go in the middle of it all.
 *
 * Control's actions (control.c), each prepared first, and now and then undone instead of committed: one
 * change at a time (live.c), or those of a new configuration as one (live_reload.c). One thread. Tests only.
 */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"

struct worker;

/* At most so many of each are there at once. */
#define LIVE_SERVERS 4 /* in a backend */
#define LIVE_BACKENDS 4
#define LIVE_FRONTENDS 4
#define LIVE_ENDPOINTS 6

/* In some seeds backends lose all their servers, or go with clients in their queues. Takes no random
 * number. */
bool live_is_rough(void);

/* The rig is open. */
void live_open(struct server_updates *u);
void live_change_server(void);
void live_change_backend(void);
void live_change_frontend(void);
void live_change_endpoint(void);
/* An administrator adds, deletes or moves a server. */
void live_change_run_time(void);
/* A new configuration: many of these at once, or none. */
void live_reload(void);
/* Everybody can be served: each backend has a server, and some endpoint hears. */
void live_calm(void);
/* What holds between two turns. */
void live_judge(void);
/* The same of one worker: it follows the orders of control. */
void live_judge_worker(const struct worker *w);
/* Nothing leaves any more: nothing that has left is there. */
void live_check_rest(void);
/* Before the engine is freed. */
void live_close(void);


/* ---- what the parts of this need of each other ---- */

struct server_updates *live_updates(void);
/* Gives a name that nothing has had, at least not lately. */
void live_name(char *name, char kind);
/* Fails the seed if a worker still keeps something under this number. */
void live_check_new(uint32_t slot);
struct backend *live_some_backend(void);
struct frontend *live_some_frontend(void);
/* Begins to look for lost clients, and ends it; live_judge.c. */
void live_judge_open(void);
void live_judge_close(void);

#endif
