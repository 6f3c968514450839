/* SPDX-License-Identifier: MIT
 *
 * log_outlets.h - all targets of the log: those that take lines, and those that have been removed and still
 * write.
 *
 * Each is allocated on its own and comes and goes while lines flow. Nothing here waits, except
 * log_outlets_open(), log_outlets_drop(), log_outlets_wait() and log_outlets_free(). Main thread, except
 * log_outlets_open() and log_outlets_drop().
 */
#ifndef WEIR_LOGGING_LOG_OUTLETS_H
#define WEIR_LOGGING_LOG_OUTLETS_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "log_target.h"

struct log_outlets {
	struct ev_loop *loop; /* borrows */
	struct list list;     /* owns: those that take lines */
	struct list leaving;  /* owns: those that only finish */
	bool started;	      /* files have threads */
	void (*wake)(void *arg); /* called by the threads */
	void (*room)(void *arg); /* called when a target may have room again */
	void *arg;
	uint64_t gone_lost; /* lines lost by targets that are freed, and of these the late ones */
	uint64_t gone_late;
};

/* One target. */
struct log_outlet {
	struct list node;	  /* of `list` or `leaving`; unlinked until committed */
	struct log_outlets *all;  /* borrows; NULL until prepared */
	struct ev_io writable;	  /* active while waiting for the target */
	struct ev_timer patience; /* active while leaving */
	unsigned reopens_before;  /* requested before this target was there */
	struct log_target target;
};

void log_outlets_init(struct log_outlets *all, struct ev_loop *loop);
/* Closes all; abandons threads that hang. */
void log_outlets_free(struct log_outlets *all);
/* Starts the threads. 0, or -errno with the target that has none in `*failed`. */
int log_outlets_start(struct log_outlets *all, struct log_target **failed);

/* A new outlet, not linked yet; NULL with -errno. See log_target_open(). */
struct log_outlet *log_outlets_open(const struct config_log *c, int *err);
/* What else can fail: a thread, or a socket. 0 or -errno; either way the outlet is still the caller's. */
int log_outlets_prepare(struct log_outlets *all, struct log_outlet *o);
/* Takes `o`: it gets lines from now on. */
void log_outlets_commit(struct log_outlets *all, struct log_outlet *o);
/* Takes `o`, which never got a line, and frees it, later if it has a thread. */
void log_outlets_undo(struct log_outlets *all, struct log_outlet *o);
/* The same for one that is not prepared, when there are no others any more. */
void log_outlets_drop(struct log_outlet *o);
/* It gets no more lines; it is freed once it has written those that it has. */
void log_outlets_remove(struct log_outlets *all, struct log_outlet *o);
/* See log_target_set_address(). */
void log_outlets_set_address(struct log_outlet *o, const struct addr *a);
/* The next in the list, the first after NULL; NULL after the last. */
struct log_outlet *log_outlets_next(const struct log_outlets *all, const struct log_outlet *o);
#define log_outlets_foreach(all, o)                                                                        \
	for (struct log_outlet *o = log_outlets_next(all, NULL); (o) != NULL; (o) = log_outlets_next(all, o))

/* Has any room for a line, or is there none to wait for? With one target, lines wait in the ring until there
 * is room. With several, a stuck target does not hold up the others and loses lines. */
bool log_outlets_have_room(const struct log_outlets *all);
/* Writes what can be written now, also from those that leave. */
void log_outlets_flush(struct log_outlets *all);
/* For a wake-up by a thread: the same for those with threads, even if their buffers are empty. */
void log_outlets_hear(struct log_outlets *all);
/* Waits briefly for each target that holds lines, not beyond the deadline. Is everything written? */
bool log_outlets_wait(struct log_outlets *all, int64_t deadline_ns);
/* Reports what the targets want: log_set_level() of the most verbose one, log_want_counts() if any needs
 * them. */
void log_outlets_set_wanted(const struct log_outlets *all);
/* Lines lost by all targets that there are or were, and of these the ones for which there was no room. */
uint64_t log_outlets_lost(const struct log_outlets *all);
uint64_t log_outlets_late(const struct log_outlets *all);
/* How long the current write of the slowest target has taken, in ns, without those that leave. */
int64_t log_outlets_waiting_ns(const struct log_outlets *all);

#endif
