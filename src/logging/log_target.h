/* SPDX-License-Identifier: MIT
 *
 * log_target.h - one place where log lines go: stderr, a file or syslog, with a bounded buffer before it.
 *
 * Turns entries into lines and writes lines without ever blocking: sockets itself, files, pipes and terminals
 * by a thread (log_file.h) once it has been started; until then it writes them itself, and a disk may make it
 * wait. What does not fit is counted as lost, and told in one line when lines go again. Knows no loop: the
 * logwriter waits for it. Main thread.
 */
#ifndef WEIR_LOGGING_LOG_TARGET_H
#define WEIR_LOGGING_LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/last_words.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "log_file.h"
#include "log_layout.h"
#include "log_out.h"
#include "log_syslog.h"

#define LOG_TARGET_BYTES 65536u

enum log_target_kind {
	LOG_TARGET_NONE,   /* off, or a stderr that is closed: lines go nowhere and are not lost */
	LOG_TARGET_OUT,    /* a descriptor */
	LOG_TARGET_SYSLOG, /* one message a line */
};

struct log_target {
	const struct config_log *config; /* borrows; NULL = stderr at level info */
	enum log_target_kind kind;
	int fd;       /* owns when `is_file`, else it is stderr; -1 = none, or the thread has it */
	bool made;    /* a file that was not there before */
	bool is_file; /* opened by us */
	struct log_out out;    /* while there is no thread */
	struct log_file *file; /* owns: the thread; NULL = none */
	int64_t stall_told_ns; /* of its time that the lines about losses have told */
	int level;    /* lines above this number are not for this target */
	struct log_layout layout;
	struct log_syslog syslog;
	struct last_words_target last_words; /* the same place, for the end of the process */
	uint64_t lost; /* lines that had no room, or that the kernel refused us; log_target_lost() is all */
	uint64_t no_room; /* those of them for which there was no room */
	uint64_t lost_told;
	int64_t told_ns; /* when that was told last */
	size_t start;	 /* first byte that is not yet written */
	size_t end;
	char bytes[LOG_TARGET_BYTES];
};

/* Opens the target that `c` describes. 0 or -errno (of a file); -ELOOP or -EMLINK for root and a link in a
 * folder that others may write. A syslog daemon that is not there is no error: log_target_is_absent(). */
int log_target_open(struct log_target *t, const struct config_log *c);
/* A thread that hangs is left behind. */
void log_target_close(struct log_target *t);
/* From now on a thread writes, if it is a file, a pipe or a terminal, and calls `wake` when
 * log_target_flush() has something to do: see log_file.h. 0 or -errno. */
int log_target_start(struct log_target *t, void (*wake)(void *arg), void *arg);
/* A file that was made by root now belongs to the user that we are about to become, so that he can open
 * it again. One that was there keeps its owner. */
void log_target_give(struct log_target *t, uid_t uid, gid_t gid);
/* Has the file opened again by its name, for log rotation; false when the target is none that has been
 * started. log_target_opened() is how often that has been done; `*err` is then 0, or -errno, and the old
 * file stays in use. */
bool log_target_reopen(struct log_target *t);
unsigned log_target_opened(const struct log_target *t, int *err);
/* Logs why the last time failed; true when it did not. */
bool log_target_tell_opened(const struct log_target *t);

/* A syslog daemon that does not take lines now; it is asked for again when there is one for it. */
static inline bool log_target_is_absent(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG && t->syslog.fd < 0;
}
/* A daemon that starts without its syslog goes on; who mistyped its address must learn of it. Call before
 * control has a ring: then the line goes to stderr whatever the targets are. */
void log_target_tell_absent(const struct log_target *t);
/* What to wait for when log_target_flush() says -EAGAIN. */
static inline int log_target_fd(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG ? t->syslog.fd : t->fd;
}
/* Lines lost by it. */
uint64_t log_target_lost(const struct log_target *t);
/* Has its thread waited for the disk for a second or longer since log_target_tell_stall()? Then how long,
 * in ns, else 0. */
int64_t log_target_stalled_ns(const struct log_target *t);
/* For how long the thread has been in its present write, in ns. */
int64_t log_target_waiting_ns(const struct log_target *t);
/* "17 log lines were lost: the log file X was not written for 3 s", and the time is told. */
void log_target_tell_stall(struct log_target *t, uint64_t lines, char *buf, size_t room);
/* Are lines of this level for this target? */
static inline bool log_target_wants(const struct log_target *t, enum log_level level)
{
	return t->kind != LOG_TARGET_NONE && (int)level <= t->level;
}
/* Is there room for any line? */
bool log_target_has_room(const struct log_target *t);
static inline bool log_target_is_empty(const struct log_target *t)
{
	return t->start == t->end;
}
/* Takes a line in, if its level is wanted; counts it as lost when there is no room. `text` is that of
 * the entry in the style of `t->layout`, shorter than LOG_TEXT_MAX. Writes nothing yet. */
void log_target_add(struct log_target *t, const struct log_entry *e, const char *text);
/* Writes what can be written now, or gives it to the thread. 0 when all is gone, -EAGAIN when the target must
 * be waited for (with a thread: it wakes us). After any other error the lines are dropped and counted, and
 * the result is 0. */
int log_target_flush(struct log_target *t);
/* Is everything out, or given to the kernel? Waits for it at most `timeout_ms`. */
bool log_target_wait(struct log_target *t, int timeout_ms);

#endif
