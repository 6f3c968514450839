/* SPDX-License-Identifier: MIT
 *
 * session_format.h - the line of a session in a format of the configuration: tcplog, or fields by name.
 *
 * On the thread that reads the log.
 */
#ifndef WEIR_ACCOUNT_SESSION_FORMAT_H
#define WEIR_ACCOUNT_SESSION_FORMAT_H

#include <stddef.h>

#include "weir/account/session_record.h"
#include "weir/base/log.h"
#include "weir/config/log_format.h"

/* Writes the text of an entry for which session_record_is() holds, at most `room` bytes with its NUL. A
 * longer text is cut and marked as cut. One line of ASCII. Returns the length. */
size_t session_format_line(const struct log_format *f, const struct log_entry *e, char *out, size_t room);

#endif
