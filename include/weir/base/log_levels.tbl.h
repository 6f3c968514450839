/* SPDX-License-Identifier: MIT
 *
 * log_levels.tbl.h - one row per log level, the most severe first: LOG_LEVEL(NAME, number, word).
 *
 * The number is syslog's, which sd-daemon uses too. The word appears in log lines, and in `level=` of the
 * configuration.
 */
LOG_LEVEL(ALERT, 1, "alert")
LOG_LEVEL(ERROR, 3, "error")
LOG_LEVEL(WARNING, 4, "warning")
LOG_LEVEL(NOTICE, 5, "notice")
LOG_LEVEL(INFO, 6, "info")
LOG_LEVEL(DEBUG, 7, "debug")
