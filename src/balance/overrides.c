/* SPDX-License-Identifier: MIT
 *
 * overrides.c - what is set at run time meets new settings: it stays unless the file's value has changed.
 *
 * Owns the addresses that are set at run time. Control thread.
 */
#include "overrides.h"

#include <stdlib.h>
#include <string.h>

#include "weir/balance/run_time.h"
#include "weir/config/same.h"

static const char *const mark_words[SERVER_MARKS] = {
#define SERVER_MARK(name, word) [SERVER_MARK_##name] = word,
#include "weir/balance/server_marks.tbl.h"
#undef SERVER_MARK
};

const char *run_time_mark_word(enum server_mark what)
{
	return mark_words[what];
}

static enum server_admin admin_in_file(const struct config_server *config)
{
	return config->disabled ? SERVER_ADMIN_MAINT : SERVER_ADMIN_READY;
}

bool run_time_differs(const struct server *s, enum server_mark what)
{
	switch (what) {
	case SERVER_MARK_STATE:
		return s->added || s->admin != admin_in_file(s->config);
	case SERVER_MARK_WEIGHT:
		return s->weight != s->config->weight;
	case SERVER_MARK_MAXCONN:
		return s->maxconn != s->config->maxconn;
	case SERVER_MARK_ADDR:
		return s->moved != NULL;
	case SERVER_MARK_CHECK_ADDR:
		return s->check_addr != NULL;
	case SERVER_MARK_CHECK_PORT:
		return s->check_port != 0;
	case SERVER_MARK_CHECKS:
		return s->checks_off;
	case SERVER_MARK_AGENT:
		return s->agent_off;
	case SERVER_MARK_ADDED:
		return s->added;
	case SERVER_MARK_HEALTH:
	case SERVER_MARKS:
		break;
	}
	return true;
}

void run_time_mark(struct server *s, enum server_mark what, const struct mark *by)
{
	if (run_time_differs(s, what))
		s->marks[what] = *by;
	else
		mark_clear(&s->marks[what]);
}

/* ---- what stays ---- */

static bool is_same_mark(const struct mark *a, const struct mark *b)
{
	return a->wall_ns == b->wall_ns && a->by == b->by;
}

/* Checks rest since it came, as they do in HAProxy; nobody has suspended them. */
static bool rests_since_it_came(const struct server *s)
{
	return s->added && is_same_mark(&s->marks[SERVER_MARK_CHECKS], &s->marks[SERVER_MARK_ADDED]);
}

/* A port that is set counts in place of that of the server, or else of the backend. */
static bool is_check_port_same(const struct server *s, const struct config_server *next,
			       const struct config_backend *backend)
{
	return next->check_port == s->config->check_port &&
	       (next->check_port != 0 || backend->check.port == s->owner->config->check.port);
}

bool run_time_stays(const struct server *s, enum server_mark what, const struct config_server *next,
		    const struct config_backend *backend)
{
	const struct config_server *was = s->config;
	const bool is_adopted = s->added && next != NULL;

	if (next == NULL)
		next = was;
	switch (what) {
	case SERVER_MARK_STATE:
		return is_adopted || next->disabled == was->disabled;
	case SERVER_MARK_WEIGHT:
		return !is_adopted && next->weight == was->weight;
	case SERVER_MARK_MAXCONN:
		return !is_adopted && next->maxconn == was->maxconn;
	case SERVER_MARK_ADDR:
		return !is_adopted && config_addr_same(&was->addr, &next->addr);
	case SERVER_MARK_CHECK_PORT:
		return !is_adopted && is_check_port_same(s, next, backend);
	case SERVER_MARK_CHECK_ADDR:
		return !is_adopted && addr_equal(&was->check_addr, &next->check_addr);
	case SERVER_MARK_ADDED:
		return !is_adopted;
	case SERVER_MARK_CHECKS:
		return next->check == was->check && !(is_adopted && rests_since_it_came(s));
	case SERVER_MARK_HEALTH: /* one that is not checked any more is up: the prober sees to it */
		return next->check || !was->check;
	case SERVER_MARK_AGENT:
		return (next->check_agent.port == 0) == (was->check_agent.port == 0);
	case SERVER_MARKS:
		break;
	}
	return true;
}

/* ---- new settings ---- */

/* A server that was added is where it is; the file says where it is from now on. */
static bool stays_moved(const struct server *s, const struct config_server *now)
{
	return s->moved != NULL && run_time_stays(s, SERVER_MARK_ADDR, now, s->owner->config);
}

const struct addr *overrides_address(const struct server *s, const struct config_server *now,
				     struct addr *buf)
{
	const struct addr_spec *was = &s->config->addr;
	const struct addr *a = server_found_addr(s);

	if (stays_moved(s, now))
		return &s->moved->addr;
	if (now->addr.kind != ADDR_NAME)
		return &now->addr.addr;
	if (a == NULL || was->kind != ADDR_NAME || was->family != now->addr.family ||
	    strcmp(was->host, now->addr.host) != 0)
		return NULL;
	*buf = *a;
	if (buf->sa.sa_family == AF_INET)
		buf->in.sin_port = htons(now->addr.port);
	else
		buf->in6.sin6_port = htons(now->addr.port);
	return buf;
}

static void drop_move(struct server *s)
{
	free(s->moved);
	s->moved = NULL;
}

static void drop_check_addr(struct server *s)
{
	free(s->check_addr);
	s->check_addr = NULL;
}

/* It belongs to the file from now on. */
static void adopt(struct server *s)
{
	s->added = false;
	if (!mark_is_set(&s->marks[SERVER_MARK_STATE]))
		s->marks[SERVER_MARK_STATE] = s->marks[SERVER_MARK_ADDED];
}

void overrides_meet(struct server *s, const struct config_server *now)
{
	const struct config_backend *backend = s->owner->config;

	if (!run_time_stays(s, SERVER_MARK_STATE, now, backend))
		s->admin = admin_in_file(now);
	if (!run_time_stays(s, SERVER_MARK_WEIGHT, now, backend))
		s->weight = now->weight;
	if (!run_time_stays(s, SERVER_MARK_MAXCONN, now, backend))
		s->maxconn = now->maxconn;
	if (!run_time_stays(s, SERVER_MARK_ADDR, now, backend))
		drop_move(s);
	if (!run_time_stays(s, SERVER_MARK_CHECK_ADDR, now, backend))
		drop_check_addr(s);
	if (!run_time_stays(s, SERVER_MARK_CHECK_PORT, now, backend))
		s->check_port = 0;
	if (!run_time_stays(s, SERVER_MARK_CHECKS, now, backend))
		s->checks_off = false;
	if (!run_time_stays(s, SERVER_MARK_AGENT, now, backend))
		s->agent_off = false;
	if (s->added)
		adopt(s);
}

void overrides_meet_backend(struct server *s, const struct config_backend *next)
{
	if (run_time_stays(s, SERVER_MARK_CHECK_PORT, NULL, next))
		return;
	s->check_port = 0;
	mark_clear(&s->marks[SERVER_MARK_CHECK_PORT]);
}

void overrides_settle(struct server *s)
{
	for (int what = 0; what < SERVER_MARKS; what++)
		if (!run_time_differs(s, (enum server_mark)what))
			mark_clear(&s->marks[what]);
}

void overrides_free(struct server *s)
{
	drop_move(s);
	drop_check_addr(s);
}
