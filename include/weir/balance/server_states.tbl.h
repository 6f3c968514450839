/* SPDX-License-Identifier: MIT
 *
 * server_states.tbl.h - one row per state of a server, the best first: SERVER_STATE(NAME, text, word).
 *
 * Both spellings are interfaces: the text is HAProxy's, for `show stat` and the log, the word is that of
 * `show info`.
 */
SERVER_STATE(UP, "UP", "up")
SERVER_STATE(DRAIN, "DRAIN", "drain") /* takes no new connections; still health-checked */
SERVER_STATE(NOLB, "NOLB", "nolb") /* the same, because its health check asks for it */
SERVER_STATE(DOWN, "DOWN", "down") /* according to its health checks */
SERVER_STATE(UNRESOLVED, "DOWN (unresolved)", "unresolved") /* its name has no address yet */
SERVER_STATE(MAINT, "MAINT", "maint") /* takes no new connections and is not health-checked */
