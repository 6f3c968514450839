/* SPDX-License-Identifier: MIT
 *
 * agent.h - the agent of one server: when it is asked next, and what its answer does.
 *
 * Found from the server through its view. Keeps no pointer to a configuration. What an agent says counts
 * while it is there and enabled, and is withdrawn with it. Changes servers only through
 * balance/server_updates.h. Main thread.
 */
#ifndef WEIR_HEALTH_AGENT_H
#define WEIR_HEALTH_AGENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/server_updates.h"
#include "weir/base/list.h"
#include "weir/base/log.h"
#include "weir/engine/engine.h"
#include "agent_words.h"
#include "probe.h"

struct agents {
	struct ev_loop *loop;  /* borrows */
	struct engine *engine; /* borrows */
	struct list list;      /* owns; in the order in which they came */
	struct list spares;    /* owns: memory for more */
	size_t spare_count;
	size_t reserved;       /* spares that prepared changes may still need */
	size_t count;          /* of `list` */
	size_t claimed;        /* descriptors: low_fds.h */
	bool draining;
	bool close;            /* an agent has `close` set */
	struct server_updates *updates;  /* borrows */
	struct server_observer observer; /* for changes through `updates` */
};

struct agent {
	struct list link;
	struct agents *owner;  /* borrows */
	struct server *server; /* borrows */
	struct probe probe;
	struct agent_line line;
	struct addr asked;     /* where it is being, or was last, asked */
	struct ev_timer timer; /* until the next question; stopped during one */
	int64_t began_ns;
	uint64_t seed;  /* for the jitter: from the names, so that a run is repeatable */
	uint64_t waits; /* number of waits so far, each with its own jitter */
	bool close;     /* close the server's sessions once no new one can choose it */
	struct log_limit limit; /* for log lines about it */
	struct agent_view view;
};

/* Does its configuration say that the server has an agent? */
bool agent_is_wanted(const struct server *s);
/* NULL if it has none. */
struct agent *agent_of(const struct server *s);
/* Begins to ask the agent of `s`. Takes `a`, in any state. */
void agent_init(struct agent *a, struct agents *owner, struct server *s);
/* Ends that; nothing that it said counts any more, if the server stays. */
void agent_end(struct agent *a, bool server_stays);
/* The configuration of the server or of its backend has changed, or the agent was enabled or disabled. */
void agent_change(struct agent *a);
/* It has said that the server is down. */
void agent_went_down(struct agent *a);

#endif
