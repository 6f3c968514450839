/* SPDX-License-Identifier: MIT
 *
 * engine_marks.tbl.h - one row per setting of the process that can be changed at run time:
 * ENGINE_MARK(NAME, word). The word is that of reports about what differs from the file.
 */
ENGINE_MARK(MAXCONN, "maxconn")
ENGINE_MARK(RATE_LIMIT, "rate-limit") /* clients per second; no file has it */
