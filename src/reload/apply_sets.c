/* SPDX-License-Identifier: MIT
 *
 * apply_sets.c - sets of servers of a plan, with the watches of their names: prepared, and committed or
 * undone.
 *
 * Members that change or go are steps of apply_backends.c. Control thread.
 */
#include <errno.h>
#include <stdio.h>

#include "apply_work.h"

/* ---- steps ---- */

static void commit_added_set(struct work *w, struct step *s)
{
	(void)w;
	server_set_commit_add(s->set);
	set_watches_start(s->set);
}

static void undo_added_set(struct work *w, struct step *s)
{
	(void)w;
	set_watches_drop(s->set);
	server_set_free(s->set);
}

static const struct step_way added_set = {STEP_ADD_SET, commit_added_set, undo_added_set};

static void commit_changed_set(struct work *w, struct step *s)
{
	server_set_commit_change(w->parts->updates, s->set);
}

static void undo_changed_set(struct work *w, struct step *s)
{
	(void)w;
	server_set_undo_change(s->set);
}

static const struct step_way changed_set = {STEP_CHANGE_SET, commit_changed_set, undo_changed_set};

static void commit_removed_set(struct work *w, struct step *s)
{
	server_set_remove(w->parts->updates, s->set);
}

static const struct step_way removed_set = {STEP_REMOVE_SET, commit_removed_set, NULL};

static void commit_watches(struct work *w, struct step *s)
{
	(void)w;
	set_watches_start_all(s->backend);
}

static void undo_watches(struct work *w, struct step *s)
{
	(void)w;
	set_watches_drop_all(s->backend);
}

static const struct step_way watches = {STEP_WATCH_SETS, commit_watches, undo_watches};

/* ---- lines ---- */

int work_validate_sets(const struct work *w)
{
	return set_watches_validate(w->plan->next, w->why, w->why_room);
}

static int refuse_watch(const struct work *w, int err, const struct server_set *set)
{
	(void)snprintf(w->why, w->why_room, "cannot look up '%s' of the set '%s' (%s:%u): %s",
		       set->config->addr.host, set->config->name, set->config->place.file,
		       set->config->place.line, set_watches_advice(err)); /* may be truncated */
	return err;
}

static int prepare_added_set(struct work *w, struct backend *b, const struct config_server *c)
{
	struct server_set *set = server_set_new(b, c);
	int err;

	if (set == NULL)
		return work_refuse(w, -ENOMEM, "cannot add the set '%s' to '%s' (%s:%u)", c->name,
				   b->config->name, c->place.file, c->place.line);
	err = set_watches_prepare(w->parts->sets, set);
	if (err) {
		err = refuse_watch(w, err, set);
		server_set_free(set);
		return err;
	}
	work_add(w, &added_set)->set = set;
	return 0;
}

static int prepare_changed_set(struct work *w, const struct plan_server *s)
{
	const int err = server_set_prepare_change(s->set, s->config);

	if (err)
		return work_refuse(w, err, "cannot change the set '%s' (%s:%u)", s->config->name,
				   s->config->place.file, s->config->place.line);
	work_add(w, &changed_set)->set = s->set;
	return 0;
}

int work_prepare_set(struct work *w, struct backend *b, const struct plan_server *s)
{
	switch (s->what) {
	case PLAN_KEPT:
		break;
	case PLAN_ADDED:
		return prepare_added_set(w, b, s->config);
	case PLAN_CHANGED:
		return prepare_changed_set(w, s);
	case PLAN_REMOVED:
		work_add(w, &removed_set)->set = s->set;
		break;
	}
	return 0;
}

int work_prepare_sets(struct work *w, struct backend *b)
{
	const struct server_set *failed = NULL;
	int err;

	work_add(w, &watches)->backend = b; /* drops those that have been prepared */
	err = set_watches_prepare_all(w->parts->sets, b, &failed);
	return err ? refuse_watch(w, err, failed) : 0;
}
