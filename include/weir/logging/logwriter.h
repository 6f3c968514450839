/* SPDX-License-Identifier: MIT
 *
 * logwriter.h - reads the log rings of all threads and writes their lines to the targets.
 *
 * Never blocks the control loop once logwriter_start() has given each file a thread. While lines arrive it
 * polls every 20 ms, so that a busy daemon does not pay for a wake-up per line. If none has arrived, it lets
 * the rings wake it, so an idle daemon has no timer. If a target does not take lines, the rings fill up. What
 * they then drop is reported in one line.
 *
 * Targets come and go while lines flow. Records borrow from objects that come and go too: a mark tells when
 * no ring holds a record any more that was there when the mark was made. Main thread, except
 * logwriter_open_target() and logwriter_drop_target().
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
struct log_outlet; /* one target */

/* Opens the targets of `g` and sets the log level to the most verbose of them. NULL if out of memory or if a
 * file cannot be opened; then `*failed` (or NULL) is the target and `*err` the -errno. */
struct logwriter *logwriter_new(struct ev_loop *loop, const struct config_global *g,
				const struct config_log **failed, int *err);
/* From now on threads write to files, pipes and terminals. Call once the process has its final user. 0, or
 * -errno with the target whose thread cannot be created in `*failed`: the writer's own copy of it. */
int logwriter_start(struct logwriter *w, const struct config_log **failed);
/* Closes the targets; abandons a thread that hangs. Does not free the rings. */
void logwriter_free(struct logwriter *w);

/* Reads `ring` from now on (borrowed until logwriter_free). Control calls it at any time, before or after the
 * ring's thread has begun to use it. The list never shrinks: a ring whose thread has ended stays. 0 or
 * -ENOMEM. */
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

/* Adding a target takes three steps, so that a failure leaves everything as it was. This one opens the file
 * of `c` (borrowed for this call; NULL: stderr) and copies what is needed of it. NULL with -errno in `*err`:
 * -ENOMEM, or why the file cannot be opened. A file that this created is removed by
 * logwriter_undo_target() if it is still empty. Any thread: waits for a disk that hangs. */
struct log_outlet *logwriter_open_target(const struct config_log *c, int *err);
/* After logwriter_start(): the rest of what can fail, a thread or a socket. 0 or -errno (-ENOMEM, -EAGAIN,
 * -EMFILE, -ENFILE, -ENOBUFS; low_fds_advice() of sys/low_fds.h says what to do); either way the caller still
 * has `o`, and only commits or undoes it then. There may be as many syslog targets as descriptors: each
 * reserves a low number for itself. A syslog daemon that is missing is not an error. Does not wait. */
int logwriter_prepare_target(struct logwriter *w, struct log_outlet *o);
/* Takes the prepared `o`, which gets lines from now on. Changes the log level as needed. Cannot fail. */
void logwriter_commit_target(struct logwriter *w, struct log_outlet *o);
/* Instead of a commit, prepared or not: takes `o` and frees it. Only to remove a file that was created for it
 * does this touch a disk. */
void logwriter_undo_target(struct logwriter *w, struct log_outlet *o);
/* The same for one that is not prepared, when there is no writer any more. Any thread: waits for a disk that
 * hangs. */
void logwriter_drop_target(struct log_outlet *o);
/* `o` gets no more lines, and is no longer the caller's. It writes the lines that it has, waiting for a disk
 * as long as it takes and for a reader for half a minute, and is then freed; nothing here waits. What it lost
 * stays in the counts above. */
void logwriter_remove_target(struct logwriter *w, struct log_outlet *o);
/* The targets in their order: the first after NULL; NULL after the last. */
struct log_outlet *logwriter_next_target(const struct logwriter *w, const struct log_outlet *o);
/* The name of a syslog daemon that has to be resolved, NULL for other targets; and its address, which is what
 * the target writes to from now on. Until then lines are dropped and counted. */
const struct addr_spec *logwriter_target_host(const struct log_outlet *o);
void logwriter_set_address(struct log_outlet *o, const struct addr *a);
/* Does this target write the lines of `c` to the destination of `c`? */
bool logwriter_target_is(const struct log_outlet *o, const struct config_log *c);

/* A moment in the life of all rings. */
struct log_mark {
	uint64_t number;
};
/* Marks all records that the rings hold now; any number of marks may be under way. Takes no memory. */
void logwriter_mark(struct logwriter *w, struct log_mark *out);
/* Has every record before the mark been formatted or dropped? Nothing that only these refer to is in use any
 * more. At the latest this becomes true two seconds after the mark: if no target has room, records that a
 * mark waits for are dropped and counted. */
bool logwriter_has_read(const struct logwriter *w, const struct log_mark *mark);
/* Calls `on_read` whenever a mark has been reached, except within logwriter_mark(). Called by the loop; may
 * call anything here but logwriter_free(). NULL: no longer. */
void logwriter_on_read(struct logwriter *w, void (*on_read)(void *arg), void *arg);

#endif
