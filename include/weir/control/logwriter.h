/* SPDX-License-Identifier: MIT
 *
 * logwriter.h - reads the log rings of all threads and writes their lines to the targets.
 *
 * Never blocks the control loop. While lines come it looks every 20 ms, so that a busy daemon does
 * not pay a wake-up for each line; when none came it lets the rings wake it, so that an idle daemon
 * has no timer. A target that does not take lines is waited for, and the rings fill: what they
 * then drop is told in one line. Main thread. Floor 5.
 */
#ifndef WEIR_CONTROL_LOGWRITER_H
#define WEIR_CONTROL_LOGWRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/log.h"
#include "weir/config/config.h"

struct ev_loop;
struct logwriter;

/* Opens the targets of `g` and sets the log level to the most talkative of them. NULL without memory
 * or when a file cannot be opened; then `*failed` (or NULL) is the target and `*err` the -errno. */
struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err);
/* Closes the targets. The rings are not freed. */
void logwriter_free(struct logwriter *w);

/* Reads `ring` from now on (borrowed until logwriter_free). 0 or -ENOMEM. */
int logwriter_add_ring(struct logwriter *w, struct log_ring *ring);
/* Something may be in the rings: called for each wake-up of control. */
void logwriter_wake(struct logwriter *w);
/* Reads and writes all that is there, waiting for slow targets at most `timeout_ms`. For the end. */
void logwriter_flush(struct logwriter *w, int timeout_ms);
/* Files that were made since the start change their owner: before privileges are dropped. */
void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid);
/* Opens all files again. 0, or the last -errno with `*failed` the path it is about (borrowed). */
int logwriter_reopen(struct logwriter *w, const char **failed);
/* Does a line of this level reach stderr? */
bool logwriter_has_stderr(const struct logwriter *w, enum log_level level);
/* Lines lost since the start: by full rings, and by targets. */
uint64_t logwriter_dropped(const struct logwriter *w);

#endif
