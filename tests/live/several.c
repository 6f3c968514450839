/* SPDX-License-Identifier: MIT
 *
 * several.c - several changes of one backend and of one frontend, prepared in any order, as a reload would.
 *
 * All are committed, or all undone. Main thread.
 */
#include "objects.h"
#include "weir/balance/live_change.h"
#include "weir/base/check.h"

enum part { PART_ADD, PART_CHANGE, PART_REMOVE, PART_BACKEND, PART_FRONTEND, PARTS };

struct several {
	enum part order[PARTS];
	unsigned prepared;
	struct live_backend *b;
	struct server *added, *removed;
	unsigned removed_at, changed_at;
	struct server_settings *changed;
	struct backend_settings *back;
	struct config_server add, change;
	struct config_backend config;
	struct frontend_step step;
	struct live_place *place;
	struct endpoint *ep;
};

static struct several all;

/* ---- each ---- */

static bool prepare_entrance(struct several *a)
{
	struct entry_error error;

	if (!objects_prepare(&a->step))
		return false;
	if (a->place == NULL)
		return true;
	a->ep = entries_prepare_endpoint(&objects.rig->engine.entries, a->step.change.frontend,
					 &a->step.change, &a->place->config, NULL, &error);
	if (a->ep == NULL)
		objects_undo(&a->step);
	return a->ep != NULL;
}

static bool prepare(struct several *a, enum part part)
{
	int err;

	switch (part) {
	case PART_ADD:
		a->added = server_prepare(a->b->live, &a->add, &err);
		return a->added != NULL;
	case PART_CHANGE:
		a->changed = server_prepare_change(a->b->servers[a->changed_at], &a->change, &err);
		return a->changed != NULL;
	case PART_REMOVE:
		a->removed = a->b->servers[a->removed_at];
		return server_prepare_remove(a->removed) == 0;
	case PART_BACKEND:
		a->back = backend_prepare_change(a->b->live, &a->config, &err);
		return a->back != NULL;
	case PART_FRONTEND:
	case PARTS:
		break;
	}
	return prepare_entrance(a);
}

static void undo(struct several *a, enum part part)
{
	switch (part) {
	case PART_ADD:
		server_undo_add(a->added);
		return;
	case PART_CHANGE:
		server_undo_change(a->changed);
		return;
	case PART_REMOVE:
		server_undo_remove(a->removed);
		return;
	case PART_BACKEND:
		backend_undo_change(a->back);
		return;
	case PART_FRONTEND:
	case PARTS:
		break;
	}
	if (a->ep != NULL)
		entries_undo_endpoint(&objects.rig->engine.entries, a->ep);
	objects_undo(&a->step);
}

static void commit(struct several *a, enum part part)
{
	switch (part) {
	case PART_ADD:
		server_commit_add(objects_updates(), a->added);
		return;
	case PART_CHANGE:
		server_commit_change(objects_updates(), a->changed);
		return;
	case PART_REMOVE:
		server_remove(objects_updates(), a->removed);
		return;
	case PART_BACKEND:
		backend_commit_change(objects_updates(), a->back);
		return;
	case PART_FRONTEND:
	case PARTS:
		break;
	}
	objects_commit(&a->step);
	if (a->ep == NULL)
		return;
	entries_commit_endpoint(&objects.rig->engine.entries, a->ep);
	objects_note_endpoint(a->place, a->ep, a->step.of);
}

/* ---- all ---- */

/* False if the backend has too few or too many servers. */
static bool draw(struct several *a)
{
	*a = (struct several){.b = objects_backend(true)};
	if (a->b->count < 2 || a->b->count == OBJECTS_SERVERS)
		return false;
	for (unsigned i = 0; i < PARTS; i++) {
		const unsigned at = objects_draw(i + 1);

		a->order[i] = a->order[at];
		a->order[at] = (enum part)i;
	}
	objects_new_server(&a->add, false);
	a->changed_at = 0;
	a->change = a->b->configs[0];
	objects_draw_server(&a->change, true);
	a->removed_at = 1 + objects_draw(a->b->count - 1);
	a->config = a->b->config;
	objects_draw_backend(&a->config);
	objects_plan_change(&a->step, objects_frontend(true));
	a->place = objects_free_place();
	if (a->place != NULL)
		objects_draw_bind(a->place);
	return true;
}

static void undo_all(struct several *a)
{
	while (a->prepared > 0)
		undo(a, a->order[--a->prepared]);
}

enum change_result objects_several(void)
{
	struct several *a = &all;

	if (!draw(a))
		return CHANGE_IMPOSSIBLE;
	for (; a->prepared < PARTS; a->prepared++)
		if (!prepare(a, a->order[a->prepared])) {
			undo_all(a);
			return CHANGE_REFUSED;
		}
	if (objects_draw(10) == 0) {
		undo_all(a);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	for (unsigned i = 0; i < PARTS; i++)
		commit(a, a->order[i]);
	a->b->configs[a->changed_at] = a->change;
	a->b->config = a->config;
	objects_note_removed(a->b, a->removed_at);
	objects_note_added(a->b, a->added, &a->add);
	return CHANGE_MADE;
}
