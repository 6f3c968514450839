/* SPDX-License-Identifier: MIT
 *
 * log_names.h - resolves the names of syslog daemons, for the targets of the log that have one.
 *
 * Logging never waits for a name: lines of a target are dropped and counted until it has an address, and it
 * keeps its last one if the name cannot be resolved any more. Control thread.
 */
#ifndef WEIR_CONTROL_LOG_NAMES_H
#define WEIR_CONTROL_LOG_NAMES_H

#include <ev.h>

#include "weir/base/list.h"
#include "weir/logging/logwriter.h"
#include "weir/names/resolver.h"

struct log_names {
	struct ev_loop *loop;	   /* borrows, as the next two */
	struct resolver *resolver; /* NULL = not begun */
	struct logwriter *log;
	struct list list;      /* owns */
	struct ev_timer retry; /* memory was short */
};

/* Resolves the names of the targets that there are. */
void log_names_begin(struct log_names *n, struct ev_loop *loop, struct resolver *r, struct logwriter *log);
/* Targets have come or gone: before the loop turns again. Harmless if it has not begun. */
void log_names_follow(struct log_names *n);
/* Before the resolver is freed. Harmless if it has not begun. */
void log_names_end(struct log_names *n);

#endif
