/* SPDX-License-Identifier: MIT
 *
 * outage.h - servers without a health check that failed connects have taken out (`observe = connect`), and
 * the one connection of a client that tries such a server again.
 *
 * Control decides who leaves and who comes back. It offers a server that is due in its backend, in a place
 * that all workers see and from which one of them takes it: so there is one trial at a time, however many
 * workers there are. The session that has taken it says how it ended. The last server of a backend that is up
 * never leaves, and those that have left return when no other is up. Independent of any loop.
 */
#ifndef WEIR_BALANCE_OUTAGE_H
#define WEIR_BALANCE_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/balance/backend.h"
#include "weir/balance/server_updates.h"

/* Control offers it, a worker takes it and says how it ended, of which control takes note: NONE again. */
enum server_trial {
	SERVER_TRIAL_NONE,
	SERVER_TRIAL_OFFERED,
	SERVER_TRIAL_TAKEN,
	SERVER_TRIAL_PASSED,
	SERVER_TRIAL_FAILED,
	SERVER_TRIAL_GIVEN_UP, /* without a result: the client left, or no socket could be made */
};

/* Is a trial on offer? Any thread. */
static inline bool outage_has_trial(const struct backend *b)
{
	return atomic_load_explicit(&b->trial, memory_order_relaxed) != NULL;
}

/* Takes it: the caller must outage_end_trial(), and notify control now and then. NULL: another thread was
 * first. Any thread. */
struct server *outage_take_trial(struct backend *b);
void outage_end_trial(struct server *s, enum server_trial how);

struct outages {
	struct list out;                 /* borrows: servers that have left */
	struct server_updates *updates;  /* borrows */
	struct server_observer observer;
	size_t observing; /* backends that observe; valid unless `stale` */
	bool stale;
	/* A server has left; nobody chooses it at the end of the turn. */
	void (*went_down)(void *arg, struct server *s);
	/* All changes of a turn are in force: outages_settle() is due. */
	void (*in_force)(void *arg);
	void *arg;
};

/* Begins with no server out. Needs no memory, then or later. */
void outages_init(struct outages *o, struct server_updates *u);
/* Those that are out stay as they are. */
void outages_free(struct outages *o);
/* Looks at what workers have seen and at what is due. Returns when to call again, CLOCK_NEVER = when workers
 * have news. */
int64_t outages_settle(struct outages *o, int64_t now_ns);

#endif
