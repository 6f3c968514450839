/* SPDX-License-Identifier: MIT
 *
 * live.h - servers, backends, frontends and endpoints that come, change and go in the middle of it all.
 *
 * Control's actions (control.c), each prepared first, and now and then undone instead of committed. One
 * thread. Tests only.
 */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include <stdbool.h>

#include "weir/balance/server_updates.h"

/* In some seeds backends lose all their servers, or go with clients in their queues. Takes no random
 * number. */
bool live_is_rough(void);

/* The rig is open. */
void live_open(struct server_updates *u);
void live_change_server(void);
void live_change_backend(void);
void live_change_frontend(void);
void live_change_endpoint(void);
/* Everybody can be served: each backend has a server, and some endpoint hears. */
void live_calm(void);
/* Nothing leaves any more: nothing that has left is there. */
void live_check_rest(void);
/* Before the engine is freed. */
void live_close(void);

#endif
