/* SPDX-License-Identifier: MIT
 *
 * log_levels.tbl.h - one row for each level of the log, the gravest first: LOG_LEVEL(NAME, number, word).
 *
 * The number is syslog's, and sd-daemon's too. The word stands in lines and in `level=` of a log line.
 */
LOG_LEVEL(ALERT, 1, "alert")
LOG_LEVEL(ERROR, 3, "error")
LOG_LEVEL(WARNING, 4, "warning")
LOG_LEVEL(NOTICE, 5, "notice")
LOG_LEVEL(INFO, 6, "info")
LOG_LEVEL(DEBUG, 7, "debug")
