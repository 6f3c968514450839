/* SPDX-License-Identifier: MIT
 *
 * close_reasons.tbl.h - one row per way in which a session ends: REASON(NAME, letter1, letter2 or 0,
 * is_error, words).
 *
 * The first letter is HAProxy's "what ended it"; the second is the state it ended in ('Q' in a queue, 'C'
 * connecting, 'D' data, '-' normal), where 0 means that the session's state determines it. The name, in lower
 * case, is the `reason` of a JSON log line, so rows may be added but are never renamed.
 */
REASON(NORMAL, '-', '-', 0, "both sides closed")
REASON(CLIENT_GONE, 'C', 0, 0, "client left before a server answered")
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
REASON(QUEUE_TIMEOUT, 's', 'Q', 1, "timeout-queue")
REASON(QUEUE_FULL, 'S', 'Q', 1, "maxqueue is reached")
REASON(SERVER_DOWN, 'D', 0, 1, "the server was marked down")
REASON(KILLED, 'K', 0, 0, "ended by the administrator")
REASON(REMOVED, 'K', 0, 0, "its frontend, backend or server was removed")
REASON(DRAINED, 'K', 0, 0, "idle during a drain")
REASON(DENIED, 'P', 'C', 1, "not allowed from this address")
REASON(DENIED_UID, 'P', 'C', 1, "not allowed for this user")
REASON(SOURCE_LIMIT, 'P', 'C', 1, "maxconn-per-source is reached")
REASON(PROXY_TIMEOUT, 'c', 'C', 1, "timeout-handshake")
REASON(PROXY_TRUNCATED, 'C', 'C', 1, "client left within its PROXY header")
REASON(PROXY_UNTRUSTED, 'P', 'C', 1, "not trusted to send a PROXY header")
REASON(PROXY_NOT_HEADER, 'P', 'C', 1, "no PROXY header came")
REASON(PROXY_BAD_V1, 'P', 'C', 1, "PROXY v1 header breaks the grammar")
REASON(PROXY_BAD_VERSION, 'P', 'C', 1, "PROXY header of unknown version or command")
REASON(PROXY_BAD_FAMILY, 'P', 'C', 1, "PROXY header of unknown family")
REASON(PROXY_BAD_LENGTH, 'P', 'C', 1, "PROXY header is too short for its addresses")
REASON(PROXY_BAD_TLV, 'P', 'C', 1, "PROXY header with a broken TLV")
REASON(PROXY_BAD_CHECKSUM, 'P', 'C', 1, "PROXY header with a wrong checksum")
REASON(PROXY_TOO_LONG, 'P', 'C', 1, "PROXY header is too long")
REASON(NO_RESOURCE, 'R', 0, 1, "out of descriptors, ports or memory")
REASON(NO_SOCKET, 'R', 0, 1, "this machine refused a socket to the server")
REASON(RING_LOST, 'R', 0, 1, "the kernel dropped completions of io_uring")
REASON(STOPPED, 'K', 0, 0, "the daemon stopped")
REASON(INTERNAL, 'I', 0, 1, "internal error")
