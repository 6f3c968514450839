/* SPDX-License-Identifier: MIT
 *
 * plan_overrides.h - what was set at run time, and stays after the plan has taken effect.
 *
 * By the rules of balance/run_time.h, entry/halt.h and engine/engine_settings.h: it stays unless the file's
 * value for it changes. Control thread.
 */
#ifndef WEIR_SRC_RELOAD_PLAN_OVERRIDES_H
#define WEIR_SRC_RELOAD_PLAN_OVERRIDES_H

#include "weir/engine/run_time_view.h"
#include "weir/reload/plan.h"

/* Each reports what stays of one thing, with the value that the new configuration has for it. */
void plan_overrides_server(const struct plan_backend *pb, const struct plan_server *ps,
			   run_time_report *report, void *arg);
void plan_overrides_frontend(const struct plan_frontend *pf, run_time_report *report, void *arg);
void plan_overrides_global(const struct plan *p, const struct plan_input *in, run_time_report *report,
			   void *arg);

#endif
