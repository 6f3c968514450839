/* SPDX-License-Identifier: MIT
 *
 * target.h - one server that is checked: when the next check begins, and what its result does.
 *
 * Found from the server through its view. Keeps no pointer to a configuration: `server` has the present one.
 * Changes servers only through balance/server_updates.h, which also logs the change. Main thread.
 */
#ifndef WEIR_HEALTH_TARGET_H
#define WEIR_HEALTH_TARGET_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/health.h"
#include "weir/balance/server_updates.h"
#include "weir/base/list.h"
#include "weir/base/log.h"
#include "weir/engine/engine.h"
#include "probe.h"

/* Lists of those that share: sharing.h. */
#define PROBER_PLACES 64

struct prober {
	struct ev_loop *loop;   /* borrows */
	struct engine *engine;  /* borrows */
	struct list targets;    /* owns; in the order in which they came */
	struct list spares;     /* owns: memory for more */
	size_t spare_count;
	size_t reserved;        /* spares that prepared changes may still need */
	size_t count;           /* of targets */
	size_t claimed;         /* descriptors: low_fds.h */
	struct ev_timer spread; /* first checks are due to be spread */
	size_t observed;        /* targets that are also observed */
	struct list places[PROBER_PLACES]; /* borrow targets that share, by the hash of their address */
	bool draining;
	bool close; /* a target has `close` set */
	struct server_updates *updates;  /* borrows */
	struct server_observer observer; /* for changes through `updates` */
	struct log_limit shortage_limit;
	struct probe_gate gate; /* of TLS handshakes */
	struct exec_runner execs;
};

/* What is checked: a result says nothing about anything else. */
struct target_aim {
	struct addr_spec addr;
	struct addr other; /* for checks only; its length 0 = none */
	uint16_t port; /* the same; 0 = none */
	enum config_send_proxy header;
};

struct target {
	struct list link;
	struct list sharing; /* in `place` */
	struct list *place;  /* borrows: one of the owner's `places`; NULL = it does not share */
	struct prober *owner;  /* borrows */
	struct server *server; /* borrows */
	struct target_aim aim;
	struct probe probe;
	struct health health;
	struct addr asked; /* the address that is being or was last checked, with the port for that */
	struct ev_timer timer; /* until the next check; stopped during a check */
	int64_t began_ns; /* 0 = not checked yet */
	uint64_t seed;  /* for the jitter: from the names, so that a run is repeatable */
	uint64_t waits; /* number of waits so far, each with its own jitter */
	bool fresh; /* its first check is not scheduled yet */
	bool observed;
	bool close; /* close the server's sessions once no new one can choose it */
	struct log_limit limit; /* for log lines about its failures */
	struct probe_view view;
};

/* How it is checked: `check` of its backend with the words of its own line. Borrows from both. */
struct config_check target_check(const struct server *s);
/* Does its configuration say that it is checked? */
bool target_is_wanted(const struct server *s);
/* NULL if it is not checked. */
struct target *target_of(const struct server *s);
/* Begins to check `s`, as at startup; the first check waits for target_start(). Takes `t`, in any state. */
void target_init(struct target *t, struct prober *p, struct server *s);
/* Ends that; the server has no view any more. */
void target_end(struct target *t);
/* Schedules the first check in `wait_ns`. */
void target_start(struct target *t, int64_t wait_ns);
/* For sharing.h. The address that it would check now; false: none yet. */
bool target_address(const struct target *t, struct addr *to);
/* Is it checked at present? */
bool target_is_due(const struct target *t);
/* Begins its next check in this turn of the loop. */
void target_begin_now(struct target *t);
/* Takes the result of a check by `from` as its own. */
void target_take(struct target *t, const struct target *from, const struct probe_result *r,
		 int64_t thousandths);
/* The configuration of the server or of its backend has changed. True = target_start() is due. */
bool target_change(struct target *t);
/* The administrator has set the state of the server. */
void target_take_admin(struct target *t);
/* The same for its health. */
void target_take_health(struct target *t);
/* Looks whether workers have seen the server fail. */
void target_take_news(struct target *t);

#endif
