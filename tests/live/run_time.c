/* SPDX-License-Identifier: MIT
 *
 * run_time.c - servers that an administrator adds, deletes and moves.
 *
 * Main thread.
 */
#include <errno.h>

#include "changes.h"
#include "echo.h"
#include "objects.h"
#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"
#include "weir/base/check.h"

static const struct mark by_lot = {.wall_ns = 1, .by = 1000};

/* It is in maintenance for a while, until a command finds it. */
enum change_result objects_run_time_add(void)
{
	struct live_backend *b = objects_backend(true);
	struct config_server config;
	struct server *s;
	int err;

	if (b->count == OBJECTS_SERVERS)
		return CHANGE_IMPOSSIBLE;
	objects_new_server(&config, false);
	err = run_time_add_server(objects_updates(), b->live, &config, &by_lot, &s);
	if (err)
		return CHANGE_REFUSED;
	check(s->added && s->admin == SERVER_ADMIN_MAINT);
	objects_note_added(b, s, &config);
	return CHANGE_MADE;
}

/* One that may be deleted now; 0 = none. */
static unsigned removable(const struct live_backend *b)
{
	const unsigned from = objects_draw(b->count);
	const char *why;

	for (unsigned i = 0; i < b->count; i++) {
		const unsigned at = (from + i) % b->count;

		if (at > 0 && run_time_is_removable(b->servers[at], &why))
			return at;
	}
	return 0;
}

enum change_result objects_run_time_delete(void)
{
	struct live_backend *b = objects_backend(true);
	const unsigned i = removable(b);
	const bool was_added = i > 0 && b->servers[i]->added;
	struct tombstone *t;

	if (i == 0)
		return CHANGE_IMPOSSIBLE;
	if (run_time_delete_server(objects_updates(), b->servers[i], &by_lot) != 0)
		return CHANGE_REFUSED;
	t = tombstone_find(b->live, b->configs[i].name);
	check((t == NULL) == was_added);
	tombstone_free(t); /* no file comes to change its line */
	objects_note_removed(b, i);
	return CHANGE_MADE;
}

/* Or back. -EAGAIN: it has moved, and its roster follows. */
enum change_result objects_run_time_move(void)
{
	struct live_backend *b = objects_backend(true);
	struct server *s = b->servers[objects_draw(b->count)];
	const struct addr *to = objects_draw(3) == 0 ? NULL : echo_addr(objects_draw(ECHO_SERVERS));
	const int err = run_time_set_addr(objects_updates(), s, to, &by_lot);

	if (err && err != -EAGAIN)
		return CHANGE_REFUSED;
	check((s->moved != NULL) == mark_is_set(&s->marks[SERVER_MARK_ADDR]));
	check(to == NULL || addr_equal(server_addr(s), to));
	return CHANGE_MADE;
}

/* ---- one server, again and again ---- */

void changes_command_server(void)
{
	struct live_backend *b = &objects.backends[0];
	struct config_server config;
	struct server *s;

	objects_new_server(&config, true);
	run_time_begin(objects_updates());
	check(run_time_add_server(objects_updates(), b->live, &config, &by_lot, &s) == 0);
	check(server_updates_set_admin(objects_updates(), s, SERVER_ADMIN_READY, "") == 0);
	check(run_time_end(objects_updates()) == 0);
	objects_note_added(b, s, &config);
}

bool changes_delete_server(void)
{
	struct live_backend *b = &objects.backends[0];
	struct server *s = b->servers[b->count - 1];
	int err;

	check(b->count > 1);
	if (s->admin != SERVER_ADMIN_MAINT)
		check(server_updates_set_admin(objects_updates(), s, SERVER_ADMIN_MAINT, "") == 0);
	err = run_time_delete_server(objects_updates(), s, &by_lot);
	check(err == 0 || err == -EBUSY);
	if (err == 0)
		b->count--;
	return err == 0;
}
