/* SPDX-License-Identifier: MIT
 *
 * log_layout.h - what surrounds a log text: the time and the level, or what a protocol requires.
 *
 * Main thread.
 */
#ifndef WEIR_LOGGING_LOG_LAYOUT_H
#define WEIR_LOGGING_LOG_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/crash_report.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/config/log_format.h"

/* Longest text of a record, with its NUL. */
#define LOG_TEXT_MAX 1600u
/* Longest line with its newline. Less than PIPE_BUF, so that a pipe takes it whole, and what a syslog server
 * should accept in a datagram (RFC 5424, 6.1). A text and its surroundings always fit. */
#define LOG_LINE_MAX 2048u

enum log_head {
	LOG_HEAD_TIME,	       /* "2026-11-21T10:00:00.123Z warning TEXT" */
	LOG_HEAD_PRIORITY,     /* "<4>TEXT" of sd-daemon(3) */
	LOG_HEAD_SYSLOG_LOCAL, /* "<28>Nov 21 10:00:00 weir[PID]: TEXT", as syslog(3) sends to /dev/log */
	LOG_HEAD_SYSLOG,       /* "<28>1 2026-11-21T10:00:00.123Z HOST weir PID - - TEXT" of RFC 5424 */
};

struct log_layout {
	enum log_head head;
	enum log_style style; /* JSON: an object with time and level, without LOG_HEAD_TIME before it */
	struct log_format format; /* of the lines of sessions, likewise without LOG_HEAD_TIME; or none */
	int facility;	      /* syslog's numeric code */
	char host[65];	      /* for LOG_HEAD_SYSLOG */
};

/* Sets the style and the format from a valid `format=` (NULL = the default), which is borrowed. */
void log_layout_set_format(struct log_layout *l, const char *value);
/* Fills in the host name, "-" if there is none. */
void log_layout_find_host(struct log_layout *l);
/* Does the layout's own format make the text of `e`, rather than its style? */
bool log_layout_has_format(const struct log_layout *l, const struct log_entry *e);
/* Writes the text of such an entry, as log_entry_format() does for the others. */
size_t log_layout_format(const struct log_layout *l, const struct log_entry *e, char *out, size_t room);
/* Formats the line of `e`, whose text in the layout's style or format is `text`. Returns the length with the
 * newline. */
size_t log_layout_line(const struct log_layout *l, const struct log_entry *e, const char *text,
		       char out[static LOG_LINE_MAX]);
/* What surrounds a daemon's crash report in this layout. Its level is alert. */
void log_layout_frame(const struct log_layout *l, char out[static CRASH_REPORT_FRAME_MAX]);

/* syslog's number of a facility. */
int log_layout_facility(enum config_facility facility);

#endif
