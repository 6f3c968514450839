/* SPDX-License-Identifier: MIT
 *
 * rig.h - the engine with its workers, and of control what changes live objects: no signals, no reload.
 *
 * Control is the main thread of the test, on the loop, the log and the retirement of the daemon.
 */
#ifndef WEIR_TESTS_LIVE_RIG_H
#define WEIR_TESTS_LIVE_RIG_H

#include <ev.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/retiring.h"
#include "control/updates_loop.h"
#include "weir/engine/engine.h"
#include "weir/logging/logwriter.h"

#define RIG_WORKERS 4u

struct rig {
	struct ev_loop *loop; /* owns */
	struct config *config; /* owns: one frontend, one backend, one server, as templates for others */
	struct log_ring *ring; /* owns; this thread's */
	struct logwriter *log; /* owns */
	struct retiring retiring;
	struct updates_loop updates;
	struct ev_async news;
	struct ev_timer pause;
	atomic_bool news_sent;
	unsigned turns;
	struct engine engine;
};

/* What must be as before once everything has left. */
struct rig_state {
	size_t fds;
	size_t bytes; /* memory.h */
	size_t blocks;
	uint32_t objects, endpoints, versions; /* slots that are taken */
	size_t retired;
	uint64_t sessions, timers, pending_ops;
	unsigned frontends, backends;
};

/* The file for its log, before rig_open(). */
extern const char *rig_log;

/* Starts it; the frontend's only bind is at `text`, its only server at `server`. */
void rig_open(struct rig *r, const struct io_driver *driver, const char *bind, const char *server);
/* The same by a whole configuration, which it takes. */
void rig_open_config(struct rig *r, const struct io_driver *driver, struct config *config);
/* The configuration that `text` is; aborts if it cannot be used. The caller frees it. */
struct config *rig_read(const char *text);
void rig_close(struct rig *r);
/* One turn of control's loop, which does not sleep. */
void rig_turn(struct rig *r);
/* Turns for so long, and sleeps between. */
void rig_rest(struct rig *r, int64_t ns);
/* What waits to be freed, and the endpoints that are deaf. */
size_t rig_count_leaving(const struct rig *r);
/* Turns until these are at most so many. False if that takes longer than `ns`. */
bool rig_settle(struct rig *r, size_t leaving, int64_t ns);
void rig_look(const struct rig *r, struct rig_state *out);
/* Prints what differs; the memory may be greater by `spare` bytes. True if nothing does. */
bool rig_is_as(const struct rig_state *before, const struct rig_state *after, size_t spare);
/* Notes all that only ever counts up; aborts the test if any has fallen since the last call. */
void rig_watch_totals(struct rig *r);
/* Is everything asleep for so long? Prints what is not. */
bool rig_is_idle(struct rig *r, int64_t ns);

#endif
