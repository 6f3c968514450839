/* SPDX-License-Identifier: MIT
 *
 * admin_wait.h - `wait`: a client waits for a time, or for a server to become removable.
 *
 * Nothing tells control when the last session of a server ends, so it looks, the more rarely the longer it
 * takes; only while somebody waits. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_WAIT_H
#define WEIR_ADMIN_ADMIN_WAIT_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/admin/admin_commands.h"

struct client;

struct admin_wait {
	struct ev_timer timer; /* until it looks again */
	bool on;
	int64_t began_ns;
	int64_t end_ns;
};

void admin_wait_init(struct client *c);
/* The client waits for what its question says. */
void admin_wait_begin(struct client *c);
/* Looks: true if it has to wait longer; on_client() will be called. Else the answer has been added. */
bool admin_wait_go_on(struct client *c);
/* The client has gone. */
void admin_wait_forget(struct client *c);

#endif
