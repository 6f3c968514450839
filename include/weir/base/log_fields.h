/* SPDX-License-Identifier: MIT
 *
 * log_fields.h - the members of a JSON log line, written one after the other into one buffer.
 *
 * Whatever the bytes are, the result is ASCII, one line and valid JSON: a control byte, or one above
 * 126, stands in a value as the four characters \xNN, as it does in format=text. A value that does
 * not fit is cut and says so; a member that does not fit at all is left out. Any thread.
 *
 * The names are a stable interface: scripts and log stores read them. One is never renamed and never
 * changes its unit; new ones may come. A member that has no value is left out. The line of a session in
 * format=text has the same names but for worker, and "-" where there is no value.
 *
 *   every line     ts              UTC, "2026-11-21T13:05:07.123Z"
 *                  level           alert, error, warning, notice, info, debug
 *                  event           session (a connection has ended), server_state, server_weight,
 *                                  server_maxconn (a server is not what it was), backend_down (its last
 *                                  server has gone), left_out (lines that a limit held back), message
 *                                  (everything else)
 *   all but        message         the sentence that format=text shows
 *    session
 *   server_...     backend         name of its section
 *                  server          its name
 *                  from, to        of a state "UP", "DOWN", "MAINT", "DRAIN" or "DOWN
 *                                  (unresolved)", else a number
 *                  reason          why: what the check said, or who wanted it; "" when nothing is to say
 *   server_state   usable          servers of the backend that take new connections now
 *                  servers         all of them
 *                  sessions        of the server, in this moment
 *                  queued          connections that wait for it
 *   backend_down   backend         name of its section
 *                  used            servers that 'panic' uses all the same
 *                  servers         all of them
 *   left_out       cause           a word, the row of log_causes.tbl.h
 *                  count           lines
 *   session        frontend        name of its section
 *                  backend         name of its section
 *                  server          name of the last server tried
 *                  client          "IP:PORT", "[IP]:PORT", or "unix:" for a client by Unix socket
 *                  server_address  the address of that server, as it was when the session ended
 *                  duration_s      from accept to close, seconds
 *                  queue_s         of that, in queues; only when it had to wait
 *                  queue           how many waited there when it came; only then, too
 *                  connect_s       from the first connect until a server answered, without queues; only
 *                                  when one did
 *                  bytes_in        from the client to the server
 *                  bytes_out       from the server to the client
 *                  bytes_spliced   of both, moved inside the kernel
 *                  unacked_in, unacked_out
 *                                  bytes that the server, and the client, had not acknowledged when we
 *                                  closed (our FIN and our PROXY header among them); only when there were
 *                                  some, and at a normal end only where it was asked: the taker had ended
 *                                  its own side before the last of them
 *                  tries           connects begun
 *                  reason          why it ended: a word, the name of a row of close_reasons.tbl.h
 *                  reason_text     the same as a sentence; it may change
 *                  ts_code         HAProxy's two letters (termination state), "--" = normal
 *                  worker          number of the worker thread
 *                  id              as in `show sess`: used again after the next start
 *                  unique_id       of the client's PROXY header, or the one that the server was sent; ours
 *                                  ends with id
 */
#ifndef WEIR_BASE_LOG_FIELDS_H
#define WEIR_BASE_LOG_FIELDS_H

#include <stddef.h>

#include "weir/base/json.h"

/* What ends a text that was cut. */
#define LOG_CUT_MARK "..."

struct log_fields {
	struct text text; /* over the caller's buffer; always ends with NUL */
	struct json json; /* borrows `text`, so it is not to be copied */
};

void log_fields_init(struct log_fields *f, char *out, size_t room);
/* "key":"value". The key is ours and needs no escapes. */
void log_fields_text(struct log_fields *f, const char *key, const char *value);
void log_fields_bytes(struct log_fields *f, const char *key, const char *value, size_t len);
/* "key":VALUE, as printf makes it: a number. */
void log_fields_number(struct log_fields *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies text with control bytes and bytes above 126 as \xNN; cut with a mark, ends with NUL. Returns
 * the length. */
size_t log_plain(const char *in, size_t len, char *out, size_t room);

#endif
