/* SPDX-License-Identifier: MIT
 *
 * log_target.h - one destination of log lines: stderr, a file or syslog, with a bounded buffer in front.
 *
 * Formats entries as lines and writes them without blocking. It writes to sockets itself. Once started, it
 * writes to files, pipes and terminals through a thread (log_file.h); until then directly, and a disk may
 * block it. What does not fit is counted as lost, and reported in one line when lines can be written again.
 * Knows no loop: the logwriter waits for it. Main thread, except log_target_open().
 */
#ifndef WEIR_LOGGING_LOG_TARGET_H
#define WEIR_LOGGING_LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/crash_report.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "log_file.h"
#include "log_layout.h"
#include "log_made.h"
#include "log_out.h"
#include "log_settings.h"
#include "log_syslog.h"

#define LOG_TARGET_BYTES 65536u

enum log_target_kind {
	LOG_TARGET_NONE,   /* off, or stderr is closed: lines are discarded, not lost */
	LOG_TARGET_OUT,    /* a descriptor */
	LOG_TARGET_SYSLOG, /* one message per line */
};

struct log_target {
	struct config_log config; /* owns a copy, without its place */
	enum log_target_kind kind;
	int fd;       /* owns if `is_file`, else it is stderr; -1 = none, or the thread has it */
	bool made;    /* the file did not exist before */
	struct log_made made_file; /* if `made` */
	bool is_file; /* opened by us */
	struct log_out out;    /* used until there is a thread */
	struct log_file *file; /* owns: the thread; NULL = none */
	int64_t stall_told_ns; /* how much of its stall time has been reported */
	int level;    /* the target does not take numerically higher levels */
	struct log_layout layout;
	struct log_syslog syslog;
	struct crash_report_target crash_report; /* the same destination, if the process crashes */
	uint64_t lost; /* no room, or refused by the kernel; log_target_lost() is the total */
	uint64_t no_room; /* of these, the lines for which there was no room */
	bool claimed;	  /* a descriptor: low_fds.h */
	bool leaving;	  /* no line comes any more */
	bool told_thread; /* so it ends once it has written everything */
	uint64_t lost_told;
	int64_t told_ns; /* when losses were last reported */
	size_t start;	 /* first byte not yet written */
	size_t end;
	char bytes[LOG_TARGET_BYTES];
};

/* Opens the target described by `c` (NULL: stderr at level info), and copies what it needs of it. Connects to
 * no syslog daemon yet. 0 or -errno (no memory, or for a file); -ELOOP or -EMLINK if we are root and the path
 * is a link in a folder that others may write to. Then nothing is open. Any thread; waits for a disk that
 * hangs. */
int log_target_open(struct log_target *t, const struct config_log *c);
/* Connects to the syslog daemon if that is the target. 0 or -errno, which need not be an error: the next line
 * retries. See log_target_is_absent(). Does not wait. */
int log_target_connect(struct log_target *t);
/* A file's path, "stderr" or the address of a syslog daemon; perhaps in `buf`. */
const char *log_target_name(const struct log_target *t, char buf[static ADDR_TEXT_MAX]);
/* From now on, until log_target_leave() or log_target_close(), it gets the lines of a crash. */
void log_target_report_crashes(struct log_target *t);
/* Abandons a thread that hangs. */
void log_target_close(struct log_target *t);
/* Removes the file if log_target_open() has created it and it is still the same one, and empty. */
void log_target_unmake(const struct log_target *t);
/* If it is a file, pipe or terminal, a thread writes from now on, and calls `wake` when log_target_flush()
 * has something to do: see log_file.h. 0 or -errno. */
int log_target_start(struct log_target *t, void (*wake)(void *arg), void *arg);
/* Gives a file created by root to the user that we are about to become, so that this user can reopen it. A
 * file that existed before keeps its owner. */
void log_target_give(struct log_target *t, uid_t uid, gid_t gid);
/* Reopens the file by its name, for log rotation; false if the target is not a file or not started.
 * log_target_opened() returns how often that has been done; `*err` is then 0, or -errno and the old file
 * stays in use. */
bool log_target_reopen(struct log_target *t);
unsigned log_target_opened(const struct log_target *t, int *err);
/* Logs why the last reopen failed; true if it succeeded. */
bool log_target_tell_opened(const struct log_target *t);

/* The syslog daemon, whose name is in the configuration, is at `a` from now on. */
void log_target_set_address(struct log_target *t, const struct addr *a);
/* Does the syslog daemon take no lines at present? The next line tries to reconnect. */
static inline bool log_target_is_absent(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG && t->syslog.fd < 0;
}
/* A daemon that starts without its syslog runs anyway, but a mistyped address must be noticed. Says nothing
 * about a name. Call before control has a ring: then the line goes to stderr whatever the targets are. */
void log_target_tell_absent(const struct log_target *t);
/* What to wait for if log_target_flush() returns -EAGAIN. */
static inline int log_target_fd(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG ? t->syslog.fd : t->fd;
}
/* Lines lost by this target. */
uint64_t log_target_lost(const struct log_target *t);
/* How long, in ns, its thread has waited for the disk since log_target_tell_stall(), in waits of a second or
 * longer. */
int64_t log_target_stalled_ns(const struct log_target *t);
/* How long the thread's current write has taken, in ns. */
int64_t log_target_waiting_ns(const struct log_target *t);
/* Formats "17 log lines were lost: the log file X was not written for 3 s", and marks the time as
 * reported. */
void log_target_tell_stall(struct log_target *t, uint64_t lines, char *buf, size_t room);
/* Does this target take lines of this level? */
static inline bool log_target_wants(const struct log_target *t, enum log_level level)
{
	return t->kind != LOG_TARGET_NONE && (int)level <= t->level;
}
/* Is there room for a line of any length? */
bool log_target_has_room(const struct log_target *t);
static inline bool log_target_is_empty(const struct log_target *t)
{
	return t->start == t->end;
}
/* Adds a line if its level is wanted; counts it as lost if there is no room. `text` is the entry's text in
 * the style of `t->layout`, shorter than LOG_TEXT_MAX. Writes nothing yet. */
void log_target_add(struct log_target *t, const struct log_entry *e, const char *text);
/* Writes what can be written now, or passes it to the thread. 0 if nothing is left, -EAGAIN if the target has
 * no room yet (a thread wakes us). After any other error the lines are dropped and counted, and the result is
 * 0. */
int log_target_flush(struct log_target *t);
/* No line is added any more. The target ends on its own, without anyone waiting for it: flush it until it has
 * left, each time that it has room or its thread wakes us. */
void log_target_leave(struct log_target *t);
/* After log_target_leave(): is everything written, and has its thread ended? Tells the thread to. */
bool log_target_has_left(struct log_target *t);
/* After log_target_leave(): drops and counts lines for which a pipe or socket has no room. A disk that hangs
 * keeps its lines, as nothing can end its thread. */
void log_target_hurry(struct log_target *t);
/* Lines lost because this target was too slow: part of log_target_lost(). */
uint64_t log_target_late(const struct log_target *t);
/* Is everything written or passed to the kernel? Waits for at most `timeout_ms`. */
bool log_target_wait(struct log_target *t, int timeout_ms);

#endif
