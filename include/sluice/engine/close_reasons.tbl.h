/* SPDX-License-Identifier: MIT
 *
 * close_reasons.tbl.h - one row for each way a session ends:
 * REASON(NAME, letter1, letter2 or 0, is_error, words).
 *
 * The first letter is HAProxy's "what ended it"; the second is the state it ended in ('C'
 * connecting, 'D' data, '-' normal), and 0 means: take it from the session's state. The name, in lower
 * case, is the `reason` of a JSON log line, so a row may come but is never renamed.
 */
REASON(NORMAL, '-', '-', 0, "both sides closed")
REASON(CLIENT_GONE, 'C', 'C', 0, "client left before a server answered")
REASON(CLIENT_RESET, 'C', 0, 1, "client reset the connection")
REASON(SERVER_RESET, 'S', 0, 1, "server reset the connection")
REASON(CLIENT_LOST, 'C', 0, 1, "client vanished")
REASON(SERVER_LOST, 'S', 0, 1, "server vanished")
REASON(CLIENT_TIMEOUT, 'c', 0, 1, "timeout-client")
REASON(SERVER_TIMEOUT, 's', 0, 1, "timeout-server")
REASON(HALF_CLOSED_TIMEOUT, 'c', 0, 1, "timeout-half-closed")
REASON(LIFETIME, 'L', 0, 0, "max-lifetime")
REASON(CONNECT_TIMEOUT, 's', 'C', 1, "timeout-connect")
REASON(CONNECT_REFUSED, 'S', 'C', 1, "server refused the connection")
REASON(CONNECT_FAILED, 'S', 'C', 1, "server could not be reached")
REASON(NO_SERVER, 'S', 'C', 1, "no server is usable")
REASON(NO_RESOURCE, 'R', 0, 1, "out of descriptors, ports or memory")
REASON(STOPPED, 'K', 0, 0, "the daemon stopped")
REASON(INTERNAL, 'I', 0, 1, "internal error")
