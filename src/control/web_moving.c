/* SPDX-License-Identifier: MIT
 *
 * web_moving.c - the HTTP endpoint in this daemon: what it shows of other rooms, and its socket in a reload.
 *
 * Owns the socket that has been prepared. Main thread.
 */
#include "web_moving.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/log.h"
#include "weir/host/listen_error.h"
#include "weir/sys/low_fds.h"
#include "startup.h"

/* ---- what it shows ---- */

static void show_csv(void *arg, const struct chunks *sums, bool cleared, struct text *out)
{
	const struct daemon *d = arg;
	/* Ours never fall; HAProxy's begin when the counters were cleared. */
	const struct admin_question all = {.ours = !cleared, .iid = -1, .types = -1, .sid = -1};

	admin_show_stat(&d->admin_context, &all, sums, out);
}

static void show_info(void *arg, struct text *out)
{
	const struct daemon *d = arg;
	const struct admin_peer nobody = {.uid = (uid_t)-1, .level = CONFIG_ADMIN_USER};
	struct admin_question q;

	(void)admin_command(&d->admin_context, &nobody, "show info", out, &q); /* it is answered at once */
}

static const char *why_not_ready(void *arg)
{
	const struct daemon *d = arg;

	return d->state == DAEMON_READY ? NULL : daemon_state_word(d->state);
}

static bool is_ending(void *arg)
{
	return daemon_state_is_end(((const struct daemon *)arg)->state);
}

static void say_address(const struct web_socket *s)
{
	char address[ADDR_TEXT_MAX];

	if (s->fd >= 0)
		log_line(LOG_LEVEL_INFO, "the HTTP endpoint is at %s", addr_format(&s->addr, address));
}

struct web *web_moving_serve(struct daemon *d, int *err)
{
	const struct web_context ctx = {
		.engine = &d->engine,
		.stats = d->stats,
		.figures = d->figures,
		.figure_count = DAEMON_FIGURE_SOURCES,
		.started_ns = d->admin_context.started_ns,
		.driver = d->driver.driver->name,
		.sources = {.csv = show_csv,
			    .info = show_info,
			    .why_not_ready = why_not_ready,
			    .is_ending = is_ending,
			    .arg = d},
	};

	say_address(&d->web_socket);
	return web_new(d->loop, &d->web_socket, &ctx, err);
}

/* ---- a reload ---- */

void web_moving_explain(const struct web_socket *s, const struct config_global *g, int err, char *why,
			size_t room)
{
	char address[ADDR_TEXT_MAX], text[LISTEN_ERROR_MAX];
	const char *at = addr_spec_format(&g->stats.addr, address);

	/* Each may be truncated. */
	if (s->kept != NULL)
		(void)snprintf(why, room, "cannot change mode and owner of the HTTP endpoint %s: %s", at,
			       listen_error_of_owner(err));
	else if (err == -ENOSYS)
		(void)snprintf(why, room,
			       "cannot open the HTTP endpoint %s: this weir was built without libmicrohttpd; "
			       "remove 'bind' from [stats]",
			       at);
	else if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		(void)snprintf(why, room, "cannot open the HTTP endpoint %s: %s; %s", at, strerror(-err),
			       low_fds_advice(err));
	else if (err == -EADDRINUSE && s->path.holder == getpid())
		(void)snprintf(why, room,
			       "cannot open the HTTP endpoint %s: this weir listens there already; use "
			       "another path",
			       at);
	else
		(void)snprintf(why, room, "cannot open the HTTP endpoint %s: %s", at,
			       listen_error_by(err, &g->stats.addr, s->path.holder, text));
}

int web_moving_prepare(void *arg, const struct config_global *g, char *why, size_t room)
{
	struct web_moving *m = arg;
	int err = privileges_raise_bind(m->privileges);

	if (err) {
		(void)snprintf(why, room, /* may be truncated */
			       "cannot use the right to bind the HTTP endpoint: %s; restart the daemon",
			       strerror(-err));
		return err;
	}
	err = web_prepare_socket(m->web, &m->next, &g->stats);
	privileges_lower_bind(m->privileges);
	if (err) {
		web_moving_explain(&m->next, g, err, why, room);
		web_undo_socket(m->web, &m->next);
	}
	return err;
}

void web_moving_commit(void *arg)
{
	struct web_moving *m = arg;

	if (m->next.kept == NULL)
		say_address(&m->next);
	web_commit_socket(m->web, &m->next);
}

void web_moving_undo(void *arg)
{
	struct web_moving *m = arg;

	web_undo_socket(m->web, &m->next);
}
