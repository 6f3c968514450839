/* SPDX-License-Identifier: MIT
 *
 * run_time.c - what an administrator changes of servers without the file: they come, go and move.
 *
 * What becomes of it when settings change, overrides.c says. Control thread.
 */
#include "weir/balance/run_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/live_change.h"
#include "weir/balance/server_set.h"
#include "weir/balance/tombstone.h"
#include "weir/base/check.h"
#include "live_parts.h"
#include "server_change.h"
#include "server_parts.h"

/* ---- together ---- */

void run_time_begin(struct server_updates *u)
{
	check(!u->together);
	u->together = true;
}

int run_time_end(struct server_updates *u)
{
	check(u->together);
	u->together = false;
	return updates_publish(u) ? 0 : -EAGAIN;
}

/* ---- a server comes ---- */

struct server *backend_find_server(const struct backend *b, const char *name)
{
	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	return NULL;
}

/* Those before `end`. */
static void settle_until(struct server_updates *u, const struct list *end, const struct backend *b,
			 const struct config_server *config)
{
	for (const struct list *l = u->observers.next; l != end; l = l->next) {
		const struct server_observer *o = list_entry(l, struct server_observer, link);

		if (o->settle_add != NULL)
			o->settle_add(o->arg, b, config);
	}
}

void updates_settle_add(struct server_updates *u, const struct backend *b,
			const struct config_server *config)
{
	settle_until(u, &u->observers, b, config);
}

int updates_prepare_add(struct server_updates *u, const struct backend *b,
			const struct config_server *config)
{
	for (const struct list *l = u->observers.next; l != &u->observers; l = l->next) {
		const struct server_observer *o = list_entry(l, struct server_observer, link);
		const int err = o->prepare_add != NULL ? o->prepare_add(o->arg, b, config) : 0;

		if (err) {
			settle_until(u, l, b, config);
			return err;
		}
	}
	return 0;
}

static void log_server(const struct server *s, const char *what, const struct mark *by)
{
	char text[ADDR_TEXT_MAX], who[MARK_WHO_MAX];

	log_line(LOG_LEVEL_INFO, "server %s/%s (%s) %s at run time by %s", s->backend->name, s->config->name,
		 addr_spec_format(&s->config->addr, text), what, mark_who(by, who));
}

int run_time_add_server(struct server_updates *u, struct backend *b, const struct config_server *config,
			const struct mark *by, struct server **out)
{
	struct server *s;
	int err;

	if (backend_find_server(b, config->name) != NULL || server_set_of_name(b, config->name) != NULL)
		return -EEXIST;
	err = updates_prepare_add(u, b, config);
	if (err)
		return err;
	s = server_prepare(b, config, &err);
	if (s != NULL) {
		s->added = true;
		s->marks[SERVER_MARK_ADDED] = *by;
		s->admin = SERVER_ADMIN_MAINT;
		server_begin_state(s);
		server_commit_add(u, s);
		log_server(s, "added", by);
		*out = s;
	}
	updates_settle_add(u, b, config);
	return s != NULL ? 0 : err;
}

/* ---- a server goes ---- */

bool run_time_is_removable(const struct server *s, const char **why)
{
	if (s->set != NULL) { /* its set would bring it back */
		*why = "This server cannot be removed at runtime due to other configuration elements "
		       "pointing to it.";
		return false;
	}
	if (s->admin != SERVER_ADMIN_MAINT) {
		*why = "Only servers in maintenance mode can be deleted.";
		return false;
	}
	if (atomic_load(&s->sessions) > 0 || atomic_load(&s->queued) > 0) {
		*why = "Server still has connections attached to it, cannot remove it.";
		return false;
	}
	return true;
}

int run_time_delete_server(struct server_updates *u, struct server *s, const struct mark *by)
{
	struct backend *b = s->owner;
	struct tombstone *t = NULL;
	const char *why;

	if (!run_time_is_removable(s, &why))
		return -EBUSY;
	if (!s->added) {
		check(tombstone_find(b, s->config->name) == NULL);
		t = tombstone_new(s->config, by);
		if (t == NULL)
			return -ENOMEM;
	}
	if (server_prepare_remove(s) != 0) {
		tombstone_free(t);
		return -ENOMEM;
	}
	if (t != NULL)
		list_push_back(&b->tombstones, &t->link);
	log_server(s, "deleted", by);
	server_remove(u, s);
	return 0;
}

/* ---- a server moves ---- */

static bool is_in_file(const struct server *s, const struct addr *a)
{
	const struct addr_spec *spec = &s->config->addr;

	return spec->kind != ADDR_NAME && spec->addr.len == a->len &&
	       memcmp(&spec->addr.sa, &a->sa, a->len) == 0;
}

static struct server_move *move_to(const struct server *s, const struct addr *a)
{
	const struct addr *found = server_found_addr(s);
	struct server_move *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->addr = *a;
	m->has_found = found != NULL;
	if (found != NULL)
		m->found = *found;
	return m;
}

static const char *address_of(const struct server *s, char buf[static ADDR_TEXT_MAX])
{
	const struct addr *a = server_addr(s);

	return a != NULL ? addr_format(a, buf) : "none";
}

/* As the lines of change_log.h. */
static void log_move(const struct server *s, const char *was, const struct mark *by)
{
	char text[ADDR_TEXT_MAX], who[MARK_WHO_MAX];
	const char *now = address_of(s, text);

	if (strcmp(was, now) != 0)
		log_line(LOG_LEVEL_INFO, "server %s/%s: address %s, was %s: set at run time by %s",
			 s->backend->name, s->config->name, now, was, mark_who(by, who));
}

int run_time_set_addr(struct server_updates *u, struct server *s, const struct addr *a, const struct mark *by)
{
	struct server_move *before = s->moved, *next = NULL;
	char text[ADDR_TEXT_MAX];
	const char *was = address_of(s, text);
	int err;

	if (a != NULL && is_in_file(s, a))
		a = NULL;
	if (a == NULL && before == NULL)
		return 0;
	if (a != NULL) {
		next = move_to(s, a);
		if (next == NULL)
			return -ENOMEM;
	}
	err = updates_move(u, s, a != NULL ? a : server_found_addr(s), "its address was set");
	if (err && err != -EAGAIN) {
		free(next);
		return err;
	}
	s->moved = next;
	free(before);
	run_time_mark(s, SERVER_MARK_ADDR, by);
	log_move(s, was, by);
	return err;
}

/* ---- its health checks ---- */

static void checks_changed(struct server_updates *u, struct server *s, enum server_mark what,
			   const struct mark *by)
{
	run_time_mark(s, what, by);
	TELL(u, server_changed, s);
}

int run_time_set_check_addr(struct server_updates *u, struct server *s, const struct addr *a,
			    const struct mark *by)
{
	struct addr *next = NULL;

	if (a != NULL) {
		next = malloc(sizeof(*next));
		if (next == NULL)
			return -ENOMEM;
		*next = *a;
	}
	free(s->check_addr);
	s->check_addr = next;
	checks_changed(u, s, SERVER_MARK_CHECK_ADDR, by);
	return 0;
}

void run_time_set_check_port(struct server_updates *u, struct server *s, uint16_t port, const struct mark *by)
{
	s->check_port = port == s->config->check_port ? 0 : port;
	checks_changed(u, s, SERVER_MARK_CHECK_PORT, by);
}

void run_time_set_checks(struct server_updates *u, struct server *s, bool enabled, const struct mark *by)
{
	s->checks_off = !enabled;
	checks_changed(u, s, SERVER_MARK_CHECKS, by);
}

void run_time_set_agent(struct server_updates *u, struct server *s, bool enabled, const struct mark *by)
{
	s->agent_off = !enabled;
	checks_changed(u, s, SERVER_MARK_AGENT, by);
}

void run_time_say_agent(struct server_updates *u, struct server *s, bool up, const char *cause)
{
	struct server_agent next = s->agent;

	next.down = !up;
	server_updates_set_agent(u, s, &next, cause);
}
