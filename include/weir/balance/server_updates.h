/* SPDX-License-Identifier: MIT
 *
 * server_updates.h - the one door through which a running server changes: health, address, administrator.
 *
 * When a network breaks, hundreds of health checks fail in one turn of the loop, and the table of a large
 * backend takes milliseconds to make: one roster per change would stop control for seconds. So changes are
 * gathered per backend, and one roster per backend follows at the end of the turn. A roster that finds no
 * memory stays owed and is tried again a second later. Slow starts move on from here too.
 *
 * Knows no loop: it asks for the calls that it needs through struct server_updates_loop, and where nothing
 * changes it asks for none. Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_UPDATES_H
#define WEIR_BALANCE_SERVER_UPDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/base/list.h"
#include "weir/base/log.h"

/* What it asks of the loop. Neither function may call back from within. */
struct server_updates_loop {
	/* server_updates_publish() is due at the end of this turn. May be asked for many times in a turn. */
	void (*at_end)(void *arg);
	/* server_updates_wake() is due at `at_ns` (monotonic), which replaces the time asked for before. */
	void (*at)(void *arg, int64_t at_ns);
	void *arg;
};

/* Who wants to know of changes. Either function may be NULL, and may itself change servers. */
struct server_observer {
	struct list link;
	/* The administrator has set the state of `s`, possibly to what it was. */
	void (*admin_set)(void *arg, struct server *s);
	/* The end of a turn: all that was gathered is in force, so nobody chooses a server that has gone. */
	void (*in_force)(void *arg);
	void *arg;
};

struct server_updates {
	struct backend *backends; /* borrows until server_updates_free() */
	size_t backend_count;
	struct server_updates_loop loop;
	struct list observers; /* borrows each until server_updates_unobserve() */
	int64_t wake_ns;       /* the time that was asked for; CLOCK_NEVER = none */
	struct log_limit limit;
};

/* Begins for all backends of the daemon; `loop` is copied. Needs no memory. */
void server_updates_init(struct server_updates *u, struct backend *backends, size_t count,
			 const struct server_updates_loop *loop);
/* Publishes what is gathered. All observers have left; no loop calls come after this. */
void server_updates_free(struct server_updates *u);

/* `o` (borrowed) learns of changes from now on, in the order of registration. */
void server_updates_observe(struct server_updates *u, struct server_observer *o);
/* Ends that; not from within a call of an observer. */
void server_updates_unobserve(struct server_observer *o);

/* The changes. Each writes history and one log line if state, weight or limit change; what changes nothing
 * leaves no trace. `cause` is copied. */

/* By health checks and by observation: healthy or not. The server's state changes at once, the roster follows
 * at the end of this turn. Needs no memory. */
void server_updates_set_health(struct server_updates *u, struct server *s, bool healthy, const char *cause);
/* By name resolution: gives the server an address (copied). The address is used at once, the roster follows
 * at the end of this turn. 0, or with nothing changed: -ENOMEM, or -ENOSPC if the server has had
 * KNOWN_ADDRS_MAX others and this one is new. */
int server_updates_set_addr(struct server_updates *u, struct server *s, const struct addr *a);

/* By the administrator, who is answered and may rely on the answer. 0 if the change is in force; -ENOMEM if
 * there was no memory and nothing was changed; -EAGAIN if it was changed, together with others of this turn,
 * but there was no memory yet to put them in force, which is tried again. */
int server_updates_set_admin(struct server_updates *u, struct server *s, enum server_admin admin,
			     const char *cause);
/* 0..256; 0 takes no new connections, as drain does. */
int server_updates_set_weight(struct server_updates *u, struct server *s, unsigned weight, const char *cause);
/* 0 = no limit. */
int server_updates_set_maxconn(struct server_updates *u, struct server *s, unsigned maxconn,
			       const char *cause);

/* The calls that were asked for. */

/* Puts in force what was gathered, and tells the observers if all of it is. */
void server_updates_publish(struct server_updates *u);
/* Moves slow starts on, and tries again what found no memory. `now_ns` is the monotonic clock. */
void server_updates_wake(struct server_updates *u, int64_t now_ns);

#endif
