/* SPDX-License-Identifier: MIT
 *
 * servers.c - random changes of servers.
 *
 * Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "echo.h"
#include "objects.h"
#include "weir/balance/live_change.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/same.h"

struct server_updates *objects_updates(void)
{
	return &objects.rig->updates.updates;
}

void objects_draw_server(struct config_server *c, bool is_first)
{
	const struct addr *a = echo_addr(objects_draw(ECHO_SERVERS));

	c->addr.addr = *a;
	c->addr.kind = addr_is_unix(a) ? ADDR_UNIX : ADDR_IP;
	c->addr.port = addr_port(a);
	c->weight = is_first ? 1 + objects_draw(4) : objects_draw(5);
	c->maxconn = is_first || objects_draw(3) > 0 ? 0 : 1 + objects_draw(8);
	c->maxqueue = 0;
	c->slowstart_ns = objects_draw(8) == 0 ? NS_PER_SEC : 0;
}

void objects_new_server(struct config_server *c, bool is_first)
{
	*c = objects.rig->config->backends[0].servers[0];
	(void)snprintf(c->name, sizeof(c->name), "s%u", ++objects.names); /* fits */
	objects_draw_server(c, is_first);
}

void objects_note_added(struct live_backend *b, struct server *s, const struct config_server *config)
{
	b->servers[b->count] = s;
	b->configs[b->count++] = *config;
}

void objects_note_removed(struct live_backend *b, unsigned i)
{
	b->count--;
	memmove(&b->servers[i], &b->servers[i + 1], (b->count - i) * sizeof(b->servers[0]));
	memmove(&b->configs[i], &b->configs[i + 1], (b->count - i) * sizeof(b->configs[0]));
}

enum change_result objects_add_server(void)
{
	struct live_backend *b = objects_backend(true);
	struct config_server config;
	struct server *s;
	int err;

	if (b->count == OBJECTS_SERVERS)
		return CHANGE_IMPOSSIBLE;
	objects_new_server(&config, false);
	s = server_prepare(b->live, &config, &err);
	if (s == NULL)
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		server_undo_add(s);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	server_commit_add(objects_updates(), s);
	objects_note_added(b, s, &config);
	return CHANGE_MADE;
}

enum change_result objects_change_server(void)
{
	struct live_backend *b = objects_backend(true);
	const unsigned i = objects_draw(b->count);
	struct config_server config = b->configs[i];
	struct server_settings *v;
	int err;

	objects_draw_server(&config, i == 0);
	v = server_prepare_change(b->servers[i], &config, &err);
	if (v == NULL)
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		server_undo_change(v);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	server_commit_change(objects_updates(), v);
	b->configs[i] = config;
	return CHANGE_MADE;
}

enum change_result objects_remove_server(void)
{
	struct live_backend *b = objects_backend(true);
	unsigned i;

	if (b->count < 2)
		return CHANGE_IMPOSSIBLE;
	i = 1 + objects_draw(b->count - 1);
	if (server_prepare_remove(b->servers[i]) != 0)
		return CHANGE_REFUSED;
	if (objects_draw(10) == 0) {
		server_undo_remove(b->servers[i]);
		return CHANGE_UNDONE;
	}
	objects_will_commit();
	server_remove(objects_updates(), b->servers[i]);
	objects_note_removed(b, i);
	return CHANGE_MADE;
}

/* -EAGAIN: it is made, and put in force later. */
static enum change_result commanded(int err)
{
	return err == 0 || err == -EAGAIN ? CHANGE_MADE : CHANGE_REFUSED;
}

enum change_result objects_command_server(void)
{
	struct live_backend *b = objects_backend(true);
	struct server *s;
	unsigned i;

	if (b->count < 2)
		return CHANGE_IMPOSSIBLE;
	i = 1 + objects_draw(b->count - 1);
	s = b->servers[i];
	switch (objects_draw(4)) {
	case 0:
		server_updates_set_health(objects_updates(), s, objects_draw(2) == 0, "drawn by lot");
		return CHANGE_MADE;
	case 1:
		return commanded(server_updates_set_weight(objects_updates(), s, objects_draw(5),
							   "drawn by lot"));
	case 2:
		return commanded(server_updates_set_maxconn(objects_updates(), s, objects_draw(8),
							    "drawn by lot"));
	default:
		return commanded(server_updates_set_admin(objects_updates(), s,
							  (enum server_admin)objects_draw(3),
							  "drawn by lot"));
	}
}

void objects_check_servers(const struct live_backend *b)
{
	check(b->live->server_count == b->count);
	for (unsigned i = 0; i < b->count; i++) {
		check(b->live->servers[i] == b->servers[i]);
		check(config_server_same(b->servers[i]->config, &b->configs[i]));
		check(server_settings(b->servers[i])->config == b->servers[i]->config);
	}
}
