/* SPDX-License-Identifier: MIT
 *
 * record.h - a session as a line of text: in the log when it ends, in `show sess` while it lives.
 *
 * The worker copies a small record; the reader of the log makes text of it. Floor 4.
 */
#ifndef WEIR_ENGINE_RECORD_H
#define WEIR_ENGINE_RECORD_H

#include <stddef.h>

#include "weir/engine/session.h"

/* One log record for an ended session. Worker's thread. */
void record_session_end(const struct session *s);
/* One line, with its newline, for `show sess`; returns its length, cut to `room`. Worker's thread. */
size_t record_session_line(const struct session *s, char *out, size_t room);

#endif
