/* SPDX-License-Identifier: MIT
 *
 * logwriter.h - reads the log rings of all threads and writes their lines to the targets.
 *
 * Never blocks the control loop once logwriter_start() has given each file a thread. While lines come it
 * looks every 20 ms, so that a busy daemon does not pay a wake-up for each line; when none came it lets the
 * rings wake it, so that an idle daemon has no timer. A target that does not take lines is waited for, and
 * the rings fill: what they then drop is told in one line. Main thread.
 */
#ifndef WEIR_LOGGING_LOGWRITER_H
#define WEIR_LOGGING_LOGWRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/figure.h"
#include "weir/base/log.h"
#include "weir/config/config.h"

struct ev_loop;
struct logwriter;

/* Opens the targets of `g` and sets the log level to the most talkative of them. NULL without memory
 * or when a file cannot be opened; then `*failed` (or NULL) is the target and `*err` the -errno. */
struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err);
/* Files, pipes and terminals are written by threads from now on: call when this process is who it will be. 0,
 * or -errno, with `*failed` (or NULL, for stderr) the target whose thread cannot be made. */
int logwriter_start(struct logwriter *w, const struct config_log **failed);
/* Closes the targets; a thread that hangs is left behind. The rings are not freed. */
void logwriter_free(struct logwriter *w);

/* Reads `ring` from now on (borrowed until logwriter_free). 0 or -ENOMEM. */
int logwriter_add_ring(struct logwriter *w, struct log_ring *ring);
/* Something may be in the rings: called for each wake-up of control. */
void logwriter_wake(struct logwriter *w);
/* Reads and writes what is there, for `timeout_ms` at most; with 0 one turn. False when that was not enough.
 * For the end, and before control lets go of a terminal. */
bool logwriter_flush(struct logwriter *w, int timeout_ms);
/* Files that were made since the start change their owner: before privileges are dropped. */
void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid);
/* Has all files opened again, for SIGUSR1. A log line says when that is done, or what could not be. */
void logwriter_reopen(struct logwriter *w);
/* Does a line of this level reach stderr? */
bool logwriter_has_stderr(const struct logwriter *w, enum log_level level);
/* Lines lost since the start: by full rings, and by targets. */
uint64_t logwriter_dropped(const struct logwriter *w);
/* Those of them for which there was no room, because a target was too slow. */
uint64_t logwriter_dropped_slow(const struct logwriter *w);
/* For how long a target has been waited for: the longest, in ns; 0 = none. */
int64_t logwriter_waiting_ns(const struct logwriter *w);
/* These three, as figure_source.publish of a struct logwriter. */
void logwriter_publish(void *writer, figure_report *report, void *to);

#endif
