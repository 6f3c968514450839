/* SPDX-License-Identifier: MIT
 *
 * log_target.h - one place where log lines go: stderr or a file, with a bounded buffer before it.
 *
 * Turns (level, time, text) into a line and writes lines without ever blocking. What does not
 * fit is counted as lost. Knows no loop: the logwriter waits for it. Main thread. Floor 5.
 */
#ifndef SLUICE_CONTROL_LOG_TARGET_H
#define SLUICE_CONTROL_LOG_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/base/log.h"
#include "sluice/config/config.h"

#define LOG_TARGET_BYTES 65536u
/* Longest line with its prefix and newline; less than PIPE_BUF, so that a pipe takes it whole. */
#define LOG_TARGET_LINE_MAX 2304u

enum log_target_kind {
	LOG_TARGET_NONE,   /* off, or a stderr that is closed: lines go nowhere and are not lost */
	LOG_TARGET_FILE,   /* always writable; a disk that is slow is waited for */
	LOG_TARGET_STREAM, /* pipe, terminal: poll(2), then a bounded write */
	LOG_TARGET_SOCKET, /* MSG_DONTWAIT */
};

struct log_target {
	const struct config_log *config; /* borrows; NULL = stderr at level info */
	enum log_target_kind kind;
	int fd;          /* owns when `is_file`, else it is stderr; -1 = none */
	bool is_file;    /* opened by us */
	bool is_journal; /* "<N>" of sd-daemon(3) instead of the time */
	size_t chunk;    /* one write is at most so long */
	int level;       /* lines above this number are not for this target */
	uint64_t lost;   /* lines that had no room, or that the kernel refused */
	size_t start;    /* first byte that is not yet written */
	size_t end;
	char bytes[LOG_TARGET_BYTES];
};

/* Opens the target that `c` describes. 0 or -errno (of a file). */
int log_target_open(struct log_target *t, const struct config_log *c);
void log_target_close(struct log_target *t);
/* Opens the file again by its name, for log rotation; on -errno the old one stays in use. Harmless
 * for the others. */
int log_target_reopen(struct log_target *t);

/* Is there room for any line? */
bool log_target_has_room(const struct log_target *t);
static inline bool log_target_is_empty(const struct log_target *t)
{
	return t->start == t->end;
}
/* Takes a line in; counts it as lost when there is no room. Writes nothing yet. */
void log_target_add(struct log_target *t, enum log_level level, int64_t wall_ns, const char *text,
		    size_t len);
/* Writes what can be written now. 0 when all is out, -EAGAIN when the target must be waited for.
 * After any other error the lines are dropped and counted, and the result is 0. */
int log_target_flush(struct log_target *t);

/* "2026-11-21T10:00:00.123Z warning TEXT\n" or "<4>TEXT\n"; returns the length. For tests too. */
size_t log_target_format(bool is_journal, enum log_level level, int64_t wall_ns, const char *text, size_t len,
			 char out[static LOG_TARGET_LINE_MAX]);

#endif
