/* SPDX-License-Identifier: MIT
 *
 * log_causes.tbl.h - events that a stranger can cause so often that their log lines are limited, one row
 * each: LOG_CAUSE(NAME, word, what).
 *
 *   word  the value of "cause" in JSON lines with event=left_out: an interface, never renamed
 *   what  the same for people, in "N more lines were left out: WHAT"
 */
LOG_CAUSE(CONNECT, "connect", "failed connects to servers")
LOG_CAUSE(SHORTAGE, "shortage", "resource shortages on this machine")
LOG_CAUSE(SOURCE, "source", "problems with source addresses")
LOG_CAUSE(ACCEPT, "accept", "clients that could not be accepted")
LOG_CAUSE(RESOLVE, "resolve", "lookups of server names")
LOG_CAUSE(CHECK, "check", "failed health checks")
LOG_CAUSE(CHOICE, "choice", "server changes that ran out of memory")
LOG_CAUSE(ADMIN, "admin", "refused or closed connections to the admin socket")
LOG_CAUSE(WEB, "web", "refused connections to the HTTP endpoint")
LOG_CAUSE(DENIED, "denied", "denied clients (deny-from, allow-from, allow-uid, trusted)")
LOG_CAUSE(SOURCE_LIMIT, "source_limit", "clients over maxconn-per-source")
LOG_CAUSE(SOURCE_RATE, "source_rate", "clients over rate-limit-per-source")
LOG_CAUSE(EGRESS, "egress", "clients that asked for a name or an address that is refused")
LOG_CAUSE(HANDSHAKE, "handshake", "clients without a valid PROXY header")
