/* SPDX-License-Identifier: MIT
 *
 * log_fields.h - the members of a JSON log line, written one after another into one buffer.
 *
 * Whatever the input bytes, the result is ASCII, one line and valid JSON: a control byte, or one above
 * 126, is written as the four characters \xNN, as it is in format=text. A value that does
 * not fit is cut and marked as cut; a member that does not fit at all is left out. Any thread.
 *
 * The names are a stable interface: scripts and log stores read them. A name is never renamed and never
 * changes its unit; new names may be added. A member without a value is left out. A session line in
 * format=text has the same names except worker, and "-" where there is no value.
 *
 *   every line     ts              UTC, "2026-11-21T13:05:07.123Z"
 *                  level           alert, error, warning, notice, info, debug
 *                  event           session (a connection has ended), server_state, server_weight,
 *                                  server_maxconn (a server has changed), backend_down (its last usable
 *                                  server has gone), left_out (lines that a limit suppressed), message
 *                                  (everything else)
 *   all but        message         the sentence that format=text shows
 *    session
 *   server_...     backend         name of its section
 *                  server          its name
 *                  from, to        of a state "UP", "DOWN", "MAINT", "DRAIN", "NOLB" or
 *                                  "DOWN (unresolved)", else a number
 *                  reason          why: the health check's result, or who asked for it; "" if there is none
 *   server_state   usable          servers of the backend that take new connections now
 *                  servers         all of them
 *                  sessions        of the server, at this moment
 *                  queued          connections waiting for it
 *   backend_down   backend         name of its section
 *                  used            servers that 'panic' uses although they are down
 *                  servers         all of them
 *   left_out       cause           a word, the row of log_causes.tbl.h
 *                  count           lines
 *   session        frontend        name of its section
 *                  backend         name of its section
 *                  server          name of the last server tried
 *                  client          "IP:PORT", "[IP]:PORT", or "unix:" for a client by Unix socket
 *                  server_address  the address of that server, as it was when the session ended
 *                  duration_s      from accept to close, seconds
 *                  queue_s         the part of it spent in queues; only if the client had to wait
 *                  queue           how many clients were queued when it arrived; likewise only then
 *                  connect_s       from the first connect until a server answered, queues excluded; only
 *                                  if one did
 *                  bytes_in        from the client to the server
 *                  bytes_out       from the server to the client
 *                  bytes_spliced   the part of both that was moved inside the kernel
 *                  unacked_in, unacked_out
 *                                  bytes that the server, and the client, had not acknowledged when we
 *                                  closed (our FIN and our PROXY header included); only if there were any.
 *                                  At a normal end this is queried only for a receiver that had already
 *                                  half-closed when the last of them were sent
 *                  limited_by      who slowed the session down, if it took over 1 s or moved over 1 MiB:
 *                                  client, server (it read too slowly), network, us (a send buffer of
 *                                  ours was too small), or none; only if a side is a TCP socket
 *                  tries           connects started
 *                  reason          why it ended: one word, the name of a row of close_reasons.tbl.h
 *                  reason_text     the same as a sentence; it may change
 *                  ts_code         HAProxy's two letters (termination state), "--" = normal
 *                  worker          number of the worker thread
 *                  id              as in `show sess`; reused after a restart
 *                  sample          how many sessions this line stands for (log-sample); only if more than
 *                                  one
 *                  unique_id       of the client's PROXY header, or the one sent to the server; ours
 *                                  ends with id
 *                  sni             server name that the client asked for, in lower case: in its TLS
 *                                  hello, or in the PROXY header of a sender in `trusted`; "" for a hello
 *                                  without one; only if the frontend looks at it (sniff, or sni= and alpn=
 *                                  of use-backend). In quotes in format=text
 */
#ifndef WEIR_BASE_LOG_FIELDS_H
#define WEIR_BASE_LOG_FIELDS_H

#include <stddef.h>

#include "weir/base/json.h"

/* Marks the end of a text that was cut. */
#define LOG_CUT_MARK "..."

struct log_fields {
	struct text text; /* over the caller's buffer; always NUL-terminated */
	struct json json; /* borrows `text`, so this struct must not be copied */
};

void log_fields_init(struct log_fields *f, char *out, size_t room);
/* "key":"value". Keys are our own and need no escapes. */
void log_fields_text(struct log_fields *f, const char *key, const char *value);
void log_fields_bytes(struct log_fields *f, const char *key, const char *value, size_t len);
/* "key":VALUE, formatted by printf: a number. */
void log_fields_number(struct log_fields *f, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Copies text with control bytes and bytes above 126 as \xNN; cut with a mark, NUL-terminated. Returns the
 * length. */
size_t log_plain(const char *in, size_t len, char *out, size_t room);

#endif
