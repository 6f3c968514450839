/* SPDX-License-Identifier: MIT
 *
 * apply.h - a plan takes effect: all of it, or nothing.
 *
 * First everything that can fail is prepared, which nobody sees; then all of it is committed in one go, which
 * cannot fail and takes no memory, or undone. Connections that are accepted after apply_plan() go by the new
 * configuration. What leaves is retired (base/retire.h). Control thread.
 */
#ifndef WEIR_RELOAD_APPLY_H
#define WEIR_RELOAD_APPLY_H

#include <stddef.h>

#include "weir/balance/server_updates.h"
#include "weir/engine/engine.h"
#include "weir/health/agents.h"
#include "weir/health/prober.h"
#include "weir/host/limits.h"
#include "weir/host/privileges.h"
#include "weir/logging/logwriter.h"
#include "weir/names/resolver.h"
#include "weir/names/set_watch.h"
#include "weir/reload/plan.h"

/* The admin socket, or the HTTP endpoint, as its owner changes it. */
struct apply_admin {
	/* That of `g`, which outlives its use. 0, or -errno with `why`. NULL = there is none to change. */
	int (*prepare)(void *arg, const struct config_global *g, char *why, size_t room);
	void (*commit)(void *arg);
	void (*undo)(void *arg);
	void *arg;
};

/* What a plan changes. Borrows all of it. */
struct apply_parts {
	struct engine *engine; /* its workers run */
	struct server_updates *updates;
	struct prober *prober;
	struct agents *agents;
	struct resolver *resolver;
	struct set_watches *sets;
	struct logwriter *log; /* started */
	const struct privileges *privileges;
	const struct limits_facts *facts;
	struct apply_admin admin;
	struct apply_admin web; /* the HTTP endpoint, in the same way */
	/* Everything else now goes by `next`, and nothing refers to the one before it. Called within the
	 * commit: it must not fail. */
	void (*took_effect)(void *arg, const struct config *next);
	void *arg;
};

/* Targets of the log that another thread has opened, since a disk may hang. */
struct apply_logs {
	/* That of next->global.logs[i], which is then the caller's; NULL: none has been opened. */
	struct log_outlet *(*take)(void *arg, size_t i);
	void *arg;
};

/* Applies `plan` at once. `plan->next` must live until another configuration has taken effect. Takes from
 * `logs` the targets that the plan adds, and closes them if it fails; one that was not opened, or all if
 * `logs` is NULL, are opened here.
 * 0; or -errno with one line in `why` (`room` bytes; LOG_RECORD_MAX is enough), what is wrong, where it is
 * written and what to do; then everything is as before. */
int apply_plan(const struct apply_parts *parts, const struct plan *plan, const struct apply_logs *logs,
	       char *why, size_t room);

#endif
