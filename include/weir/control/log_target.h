/* SPDX-License-Identifier: MIT
 *
 * log_target.h - one place where log lines go: stderr, a file or syslog, with a bounded buffer before it.
 *
 * Turns entries into lines and writes lines without ever blocking. What does not fit is counted as
 * lost, and told in one line when lines go again. Knows no loop: the logwriter waits for it. Main
 * thread. Floor 5.
 */
#ifndef WEIR_CONTROL_LOG_TARGET_H
#define WEIR_CONTROL_LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/base/last_words.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/control/log_layout.h"
#include "weir/control/log_syslog.h"

#define LOG_TARGET_BYTES 65536u

enum log_target_kind {
	LOG_TARGET_NONE,   /* off, or a stderr that is closed: lines go nowhere and are not lost */
	LOG_TARGET_FILE,   /* always writable; a disk that is slow is waited for */
	LOG_TARGET_STREAM, /* pipe, terminal, device: poll(2), then a bounded write */
	LOG_TARGET_SOCKET, /* MSG_DONTWAIT */
	LOG_TARGET_SYSLOG, /* one message a line */
};

struct log_target {
	const struct config_log *config; /* borrows; NULL = stderr at level info */
	enum log_target_kind kind;
	int fd;       /* owns when `is_file`, else it is stderr; -1 = none */
	bool made;  /* a file that was not there before */
	bool is_file; /* opened by us */
	bool begun;   /* the last byte written was not the end of a line */
	bool torn;    /* and the rest of that line was dropped */
	size_t chunk; /* one write is at most so long */
	int level;    /* lines above this number are not for this target */
	struct log_layout layout;
	struct log_syslog syslog;
	struct last_words_target last_words; /* the same place, for the end of the process */
	uint64_t lost; /* lines that had no room, or that the kernel refused */
	uint64_t lost_told;
	int64_t told_ns; /* when that was told last */
	size_t start;	 /* first byte that is not yet written */
	size_t end;
	char bytes[LOG_TARGET_BYTES];
};

/* Opens the target that `c` describes. 0 or -errno (of a file); -ELOOP for root and a link in a folder
 * that others may write. A syslog daemon that is not there is no error: log_target_is_absent(). */
int log_target_open(struct log_target *t, const struct config_log *c);
void log_target_close(struct log_target *t);
/* A file that was made by root now belongs to the user that we are about to become, so that he can open
 * it again. One that was there keeps its owner. */
void log_target_give(struct log_target *t, uid_t uid, gid_t gid);
/* Opens the file again by its name, for log rotation; on -errno the old one stays in use. Harmless
 * for the others. */
int log_target_reopen(struct log_target *t);

/* A syslog daemon that does not take lines now; it is asked for again when there is one for it. */
static inline bool log_target_is_absent(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG && t->syslog.fd < 0;
}
/* What to wait for when log_target_flush() says -EAGAIN. */
static inline int log_target_fd(const struct log_target *t)
{
	return t->kind == LOG_TARGET_SYSLOG ? t->syslog.fd : t->fd;
}
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
/* Writes what can be written now. 0 when all is out, -EAGAIN when the target must be waited for.
 * After any other error the lines are dropped and counted, and the result is 0. */
int log_target_flush(struct log_target *t);

#endif
