/* SPDX-License-Identifier: MIT
 *
 * observing.h - servers without a health check, on the loop: who is taken out by failed connects, and when a
 * client may try it again (balance/outage.h).
 *
 * The timer runs only while a server is out. Main thread.
 */
#ifndef WEIR_HEALTH_OBSERVING_H
#define WEIR_HEALTH_OBSERVING_H

#include <ev.h>
#include <stdbool.h>

#include "weir/balance/outage.h"
#include "weir/engine/engine.h"

/* All zero = not begun: then the functions below are harmless. */
struct observing {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct outages outages;
	struct ev_timer timer; /* until the next server is due */
	bool close;            /* sessions of a server that has left are to be closed */
};

void observing_init(struct observing *o, struct ev_loop *loop, struct engine *e, struct server_updates *u);
/* Workers have news. */
void observing_take_news(struct observing *o);
/* Before the server_updates are freed. */
void observing_stop(struct observing *o);

#endif
