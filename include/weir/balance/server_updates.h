/* SPDX-License-Identifier: MIT
 *
 * server_updates.h - the only way to change a running server: health, address, administrator.
 *
 * When a network breaks, hundreds of health checks fail in one turn of the loop, and the table of a large
 * backend takes milliseconds to build: one roster per change would stop control for seconds. So changes are
 * batched per backend, and one roster per backend follows at the end of the turn. If a roster finds no memory
 * it stays pending and is tried again a second later. Slow starts advance from here too.
 *
 * Independent of any loop: it requests the calls that it needs through struct server_updates_loop, and
 * requests none while nothing changes. Control thread.
 */
#ifndef WEIR_BALANCE_SERVER_UPDATES_H
#define WEIR_BALANCE_SERVER_UPDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/base/list.h"
#include "weir/base/log.h"

struct server_set;

/* Requests to the loop. Neither function may call back directly. */
struct server_updates_loop {
	/* server_updates_publish() is due at the end of this turn. May be requested many times in a turn. */
	void (*at_end)(void *arg);
	/* server_updates_wake() is due at `at_ns` (monotonic), which replaces the time requested before. */
	void (*at)(void *arg, int64_t at_ns);
	void *arg;
};

/* Is notified of changes. Each function may be NULL, and may itself change servers, but neither adds nor
 * removes any. */
struct server_observer {
	struct list link;
	/* The administrator, or the agent, has set the state of `s`, possibly to the same value. */
	void (*admin_set)(void *arg, struct server *s);
	/* The same for its health. */
	void (*health_set)(void *arg, struct server *s);
	/* It is down from now on because its agent says so, or the administrator for its agent. */
	void (*agent_down)(void *arg, struct server *s);
	/* It is there from now on, and in a roster at the end of the turn; has other settings; is there no
	 * longer: the last call that may name it. For a backend, its servers are told one by one. */
	void (*server_added)(void *arg, struct server *s);
	void (*server_changed)(void *arg, struct server *s);
	void (*server_leaves)(void *arg, struct server *s);
	/* The set is there no longer: the last call that may name it. Those of a backend that leaves are not
	 * told. */
	void (*set_leaves)(void *arg, struct server_set *set);
	void (*backend_added)(void *arg, struct backend *b);
	void (*backend_changed)(void *arg, struct backend *b);
	void (*backend_leaves)(void *arg, struct backend *b);
	/* A server with these settings is about to be added at run time (run_time.h): takes what it will
	 * need. 0, or -errno with nothing taken. After 0, settle_add() follows, whether it was added or
	 * not. */
	int (*prepare_add)(void *arg, const struct backend *b, const struct config_server *config);
	void (*settle_add)(void *arg, const struct backend *b, const struct config_server *config);
	/* All batched changes are in force, so nobody chooses a server that is gone: at the end of a turn,
	 * and before anybody is told of them. */
	void (*in_force)(void *arg);
	void *arg;
};

struct server_updates {
	struct list backends; /* borrows */
	struct server_updates_loop loop;
	struct list observers; /* borrows each until server_updates_unobserve() */
	int64_t wake_ns;       /* the requested time; CLOCK_NEVER = none */
	bool together;         /* changes by the administrator are batched: run_time_begin() */
	struct log_limit limit;
};

static inline struct backend *server_updates_in(const struct list *l, const struct server_updates *u)
{
	return l != &u->backends ? list_entry(l, struct backend, link) : NULL;
}

/* Walks all backends. */
#define server_updates_foreach(u, b)                                                                         \
	for (struct backend *b = server_updates_in((u)->backends.next, u); (b) != NULL;                      \
	     (b) = server_updates_in((b)->link.next, u))

/* Starts for all backends of the daemon; `loop` is copied. Needs no memory. */
void server_updates_init(struct server_updates *u, struct backend **backends, size_t count,
			 const struct server_updates_loop *loop);
/* Publishes batched changes. All observers must have unregistered; makes no loop calls afterwards. */
void server_updates_free(struct server_updates *u);

/* Notifies `o` (borrowed) of changes from now on, in the order of registration. */
void server_updates_observe(struct server_updates *u, struct server_observer *o);
/* Ends that; must not be called from an observer. */
void server_updates_unobserve(struct server_observer *o);

/* The changes. Each writes history and one log line if state, weight or limit change; a call that changes
 * nothing leaves no trace. `cause` is copied. */

/* From health checks and observation: healthy or not. The server's state changes at once, the roster follows
 * at the end of this turn. Needs no memory. */
void server_updates_set_health(struct server_updates *u, struct server *s, bool healthy, const char *cause);
/* From health checks: healthy, but to take no new connections until the next server_updates_set_health(). */
void server_updates_set_stopping(struct server_updates *u, struct server *s, const char *cause);
/* From its agent: what it has said so far (copied), or nothing. What an administrator has set counts more.
 * If its administrative state changes, observers are told as of a change by the administrator. Needs no
 * memory. */
void server_updates_set_agent(struct server_updates *u, struct server *s, const struct server_agent *agent,
			      const char *cause);
/* From name resolution: gives the server an address (copied), or takes it away (NULL), and then the server is
 * unresolved. The address is used at once, the roster follows at the end of this turn. If the administrator
 * has moved it, the address is for the way back. 0, or -ENOMEM with nothing changed. */
int server_updates_set_addr(struct server_updates *u, struct server *s, const struct addr *a);

/* From the administrator, who gets an answer and may rely on it; observers are notified at the end of the
 * turn, as of the others. Between run_time_begin() and run_time_end() it is put in force by the latter, and
 * does not fail here. 0 if the change is in force; -ENOMEM if memory ran out and nothing was changed;
 * -EAGAIN if it was made, together with others of this turn, but memory ran out putting them in force, which
 * is tried again. */
int server_updates_set_admin(struct server_updates *u, struct server *s, enum server_admin admin,
			     const char *cause);
/* Healthy or not as if its health checks had said so; the next checks may say otherwise. STOPPING: no new
 * connections until a check passes. Has no effect on a server in maintenance, as in HAProxy. */
enum server_health { SERVER_HEALTH_DOWN, SERVER_HEALTH_STOPPING, SERVER_HEALTH_UP };
int server_updates_force_health(struct server_updates *u, struct server *s, enum server_health health,
				const char *cause);
/* 0..256; 0 takes no new connections, as drain does. */
int server_updates_set_weight(struct server_updates *u, struct server *s, unsigned weight, const char *cause);
/* 0 = no limit. */
int server_updates_set_maxconn(struct server_updates *u, struct server *s, unsigned maxconn,
			       const char *cause);

/* The calls that were requested. */

/* Puts the batched changes in force, and notifies the observers if all of them are. Also for a caller who
 * tells somebody before the end of the turn that they are; there is nothing left to do then. */
void server_updates_publish(struct server_updates *u);
/* Advances slow starts, removes members of sets that have drained, and tries again whatever ran out of
 * memory. `now_ns` is the monotonic clock. */
void server_updates_wake(struct server_updates *u, int64_t now_ns);

#endif
