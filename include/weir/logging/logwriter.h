/* SPDX-License-Identifier: MIT
 *
 * logwriter.h - reads the log rings of all threads and writes their lines to the targets.
 *
 * Never blocks the control loop once logwriter_start() has given each file a thread. While lines arrive it
 * polls every 20 ms, so that a busy daemon does not pay for a wake-up per line. If none has arrived, it lets
 * the rings wake it, so an idle daemon has no timer. If a target does not take lines, the rings fill up. What
 * they then drop is reported in one line. Main thread.
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

/* Opens the targets of `g` and sets the log level to the most verbose of them. NULL if out of memory or if a
 * file cannot be opened; then `*failed` (or NULL) is the target and `*err` the -errno. */
struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err);
/* From now on threads write to files, pipes and terminals. Call once the process has its final user. 0, or
 * -errno with the target whose thread cannot be created in `*failed` (NULL for stderr). */
int logwriter_start(struct logwriter *w, const struct config_log **failed);
/* Closes the targets; abandons a thread that hangs. Does not free the rings. */
void logwriter_free(struct logwriter *w);

/* Reads `ring` from now on (borrowed until logwriter_free). 0 or -ENOMEM. */
int logwriter_add_ring(struct logwriter *w, struct log_ring *ring);
/* Something may be in the rings: called for each wake-up of control. */
void logwriter_wake(struct logwriter *w);
/* Reads and writes pending lines for at most `timeout_ms`; with 0, one pass. False if that was not enough.
 * For shutdown, and before control gives up its terminal. */
bool logwriter_flush(struct logwriter *w, int timeout_ms);
/* Changes the owner of files created since the start. Call before privileges are dropped. */
void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid);
/* Reopens all files, for SIGUSR1. A log line reports when that is done, or what failed. */
void logwriter_reopen(struct logwriter *w);
/* Is a line of this level written to stderr? */
bool logwriter_has_stderr(const struct logwriter *w, enum log_level level);
/* Lines lost since the start, by full rings and by targets. */
uint64_t logwriter_dropped(const struct logwriter *w);
/* Of these, the lines for which there was no room because a target was too slow. */
uint64_t logwriter_dropped_slow(const struct logwriter *w);
/* How long we have waited for a target, in ns: the maximum over all targets; 0 = for none. */
int64_t logwriter_waiting_ns(const struct logwriter *w);
/* The three values above, for figure_source.publish with a struct logwriter. */
void logwriter_publish(void *writer, figure_report *report, void *to);

#endif
