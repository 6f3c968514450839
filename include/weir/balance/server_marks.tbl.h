/* SPDX-License-Identifier: MIT
 *
 * server_marks.tbl.h - one row per thing about a server that can be changed at run time: SERVER_MARK(NAME,
 * word). The word is that of reports about what differs from the file.
 */
SERVER_MARK(STATE, "state")           /* as set by the administrator: ready, drain, maint */
SERVER_MARK(WEIGHT, "weight")
SERVER_MARK(MAXCONN, "maxconn")
SERVER_MARK(ADDR, "address")          /* port included */
SERVER_MARK(CHECK_ADDR, "check-addr")
SERVER_MARK(CHECK_PORT, "check-port")
SERVER_MARK(HEALTH, "health")         /* set, until a health check finds out something else */
SERVER_MARK(CHECKS, "checks")         /* disabled */
SERVER_MARK(AGENT, "agent")           /* disabled */
SERVER_MARK(ADDED, "added")           /* no file names it */
