/* SPDX-License-Identifier: MIT
 *
 * frontend_marks.tbl.h - one row per thing about a frontend that can be changed at run time:
 * FRONTEND_MARK(NAME, word). The word is that of reports about what differs from the file.
 */
FRONTEND_MARK(STATE, "state") /* as set by the administrator: disabled, shut down */
FRONTEND_MARK(MAXCONN, "maxconn")
