/* SPDX-License-Identifier: MIT
 *
 * refusal.c - why this machine does not grant what a configuration asks for, as text.
 *
 * Owns the sentences around the reasons that others find. Main thread.
 */
#include "weir/host/refusal.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/host/listen_error.h"
#include "weir/host/socket_preflight.h"

/* Each snprintf() below may cut the end off. */

void refusal_of_bind(const struct refusal_bind *r, char *why, size_t room)
{
	const struct config_bind *b = r->bind;
	char address[ADDR_TEXT_MAX], text[LISTEN_ERROR_MAX], option[OPTION_ERROR_MAX];

	check(r->err < 0);
	(void)snprintf(why, room, "cannot listen on %s (%s:%u): %s", addr_spec_format(&b->addr, address),
		       b->place.file, b->place.line,
		       r->refused == SOCK_OPTION_NONE
			       ? listen_error_by(r->err, &b->addr, r->holder, text)
			       : bind_option_error(r->refused, r->err, r->frontend, b, option));
}

void refusal_of_servers(const struct config_backend *b, const char *reason, char *why, size_t room)
{
	(void)snprintf(why, room, "cannot connect to servers of '%s' (%s:%u): %s", b->name, b->place.file,
		       b->place.line, reason);
}

void refusal_of_limits(const struct limits_facts *facts, const struct limits_wish *wish,
		       const struct limits_plan *plan, char *why, size_t room)
{
	char pipes[16] = "auto", range[ADDR_TEXT_MAX + 128] = "", address[ADDR_TEXT_MAX];

	if (wish->range != NULL)
		(void)snprintf(range, sizeof(range), "; %s (%s:%u) takes %u of them",
			       bind_line_address(wish->range, address), wish->range->place.file,
			       wish->range->place.line, bind_line_ports(wish->range));
	if (wish->maxpipes >= 0)
		(void)snprintf(pipes, sizeof(pipes), "%d", wish->maxpipes); /* at most eleven bytes */
	if (plan->maxconn_fitting == 0 || wish->maxconn == 0)
		(void)snprintf(why, room,
			       "%llu descriptors are not enough for %u worker%s, %u listener%s and maxpipes "
			       "%s%s; raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)",
			       (unsigned long long)facts->fds, wish->workers, wish->workers == 1 ? "" : "s",
			       wish->endpoints, wish->endpoints == 1 ? "" : "s", pipes, range);
	else
		(void)snprintf(why, room,
			       "maxconn %u does not fit into %llu descriptors: maxconn %u would%s; set that, "
			       "or raise the limit of open files (LimitNOFILE= of the unit, or ulimit -n)",
			       wish->maxconn, (unsigned long long)facts->fds, plan->maxconn_fitting, range);
}

int refusal_of_ranges(const struct config *c, unsigned workers, char *why, size_t room)
{
	struct limits_facts facts;
	struct limits_wish wish;
	struct limits_plan plan;
	unsigned endpoints = 0;
	int err;

	for (size_t i = 0; i < c->frontend_count; i++)
		endpoints += (unsigned)c->frontends[i].bind_count;
	wish = limits_wish_of(c, endpoints, workers);
	if (wish.range == NULL)
		return 0;
	(void)limits_raise_fds(); /* the limit that results is read below */
	limits_read(&facts);
	err = limits_plan(&facts, &wish, &plan);
	if (err)
		refusal_of_limits(&facts, &wish, &plan, why, room);
	return err;
}

void refusal_of_log(const struct config_log *c, int err, char *why, size_t room)
{
	check(err < 0);
	if (c != NULL && c->kind == CONFIG_LOG_FILE)
		(void)snprintf(why, room,
			       "cannot open the log file %s: %s; check its folder and who may write there",
			       c->path, strerror(-err));
	else
		(void)snprintf(why, room, "cannot open the log: %s", strerror(-err));
}

bool refusal_of_programs(const struct config *c, uid_t euid, char *why, size_t room)
{
	for (size_t i = 0; i < c->backend_count && euid == 0; i++) {
		const struct config_backend *b = &c->backends[i];

		if (b->check.kind != CONFIG_CHECK_EXEC)
			continue;
		(void)snprintf(why, room,
			       "'check = exec' of '%s' (%s:%u) is refused while weir runs as root: name an "
			       "unprivileged user in [global] ('user'), or start weir as one (User= of the "
			       "unit)",
			       b->name, b->place.file, b->place.line);
		return true;
	}
	return false;
}
