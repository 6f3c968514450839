/* SPDX-License-Identifier: MIT
 *
 * log_reopens.h - opening all log files again, for rotation: how often that was requested, and reported.
 *
 * Main thread.
 */
#ifndef WEIR_LOGGING_LOG_REOPENS_H
#define WEIR_LOGGING_LOG_REOPENS_H

#include "log_outlets.h"

struct log_reopens {
	unsigned asked; /* how many were requested, and how many of these were reported */
	unsigned told;
};

/* Reopens all files. */
void log_reopens_ask(struct log_reopens *r, struct log_outlets *all);
/* Logs one line per reopen that all threads have completed. */
void log_reopens_tell(struct log_reopens *r, const struct log_outlets *all);

#endif
