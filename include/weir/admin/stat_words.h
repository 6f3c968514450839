/* SPDX-License-Identifier: MIT
 *
 * stat_words.h - HAProxy's words in `show stat` that are not names of ours.
 *
 * Shared by the code that writes the table and the code that reads it. Constants only.
 */
#ifndef WEIR_ADMIN_STAT_WORDS_H
#define WEIR_ADMIN_STAT_WORDS_H

/* svname of rows that are not servers. */
#define STAT_SVNAME_FRONTEND "FRONTEND"
#define STAT_SVNAME_BACKEND  "BACKEND"

/* status of a frontend. */
#define STAT_STATUS_OPEN "OPEN"
#define STAT_STATUS_FULL "FULL"
#define STAT_STATUS_STOP "STOP"
#define STAT_STATUS_PAUSED "PAUSED"
/* status of a server that is up and has no check. */
#define STAT_STATUS_NO_CHECK "no check"

#endif
