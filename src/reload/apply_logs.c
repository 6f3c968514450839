/* SPDX-License-Identifier: MIT
 *
 * apply_logs.c - targets of the log that come and go with a plan.
 *
 * Owns none of them: a step does, until it is committed or undone. Control thread.
 */
#include <errno.h>

#include "weir/base/check.h"
#include "weir/host/refusal.h"
#include "apply_work.h"

static void commit_added(struct work *w, struct step *s)
{
	logwriter_commit_target(w->parts->log, s->outlet);
}

static void undo_added(struct work *w, struct step *s)
{
	logwriter_undo_target(w->parts->log, s->outlet);
}

static const struct step_way added = {STEP_ADD_LOG, commit_added, undo_added};

static void commit_removed(struct work *w, struct step *s)
{
	logwriter_remove_target(w->parts->log, s->outlet);
}

static const struct step_way removed = {STEP_REMOVE_LOG, commit_removed, NULL};

/* The one that was opened for the target `i`, or one that is opened now. */
static struct log_outlet *take(const struct work *w, size_t i, int *err)
{
	struct log_outlet *o = w->logs != NULL ? w->logs->take(w->logs->arg, i) : NULL;

	return o != NULL ? o : logwriter_open_target(w->plan->logs[i].config, err);
}

static const char *path_of(const struct config_log *c)
{
	return c != NULL && c->kind == CONFIG_LOG_FILE ? c->path : "target";
}

static int prepare_added(struct work *w, size_t i)
{
	const struct config_log *c = w->plan->logs[i].config;
	struct log_outlet *o;
	int err = 0;

	o = take(w, i, &err);
	if (o == NULL) {
		refusal_of_log(c, err, w->why, w->why_room);
		return err;
	}
	work_add(w, &added)->outlet = o;
	err = logwriter_prepare_target(w->parts->log, o);
	if (err)
		return work_refuse(w, err, "cannot add the log %s", path_of(c));
	return 0;
}

int work_prepare_logs(struct work *w)
{
	int err = 0;

	for (size_t i = 0; i < w->plan->log_count && !err; i++) {
		const struct plan_log *l = &w->plan->logs[i];

		check(l->what != PLAN_CHANGED);
		if (l->what == PLAN_ADDED)
			err = prepare_added(w, i);
		else if (l->what == PLAN_REMOVED)
			work_add(w, &removed)->outlet = l->live;
	}
	return err;
}
