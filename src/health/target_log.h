/* SPDX-License-Identifier: MIT
 *
 * target_log.h - log lines about the health checks of a server, at a bounded rate; changes of its state are
 * logged elsewhere. Main thread.
 */
#ifndef WEIR_HEALTH_TARGET_LOG_H
#define WEIR_HEALTH_TARGET_LOG_H

#include "probe.h"
#include "target.h"

/* A check that learnt nothing. */
void target_log_shortage(const struct target *t, const struct probe_result *r);
/* One that failed and changed nothing. */
void target_log_failure(struct target *t, const struct probe_result *r);
/* One whose connection reached itself; it is also counted. */
void target_log_itself(struct target *t);

#endif
