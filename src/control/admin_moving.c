/* SPDX-License-Identifier: MIT
 *
 * admin_moving.c - the configured admin socket during a reload: prepared, committed or undone, with words.
 *
 * Owns the socket that has been prepared. Main thread.
 */
#include "admin_moving.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/host/listen_error.h"
#include "weir/sys/low_fds.h"

void admin_moving_explain(const struct admin_socket *s, const struct config_global *g, int err, char *why,
			  size_t room)
{
	char address[ADDR_TEXT_MAX], text[LISTEN_ERROR_MAX];
	const char *at = addr_spec_format(&g->admin, address);

	/* Each may be truncated. */
	if (s->kept != NULL)
		(void)snprintf(why, room, "cannot change mode and owner of the admin socket %s: %s", at,
			       listen_error_of_owner(err));
	else if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		(void)snprintf(why, room, "cannot open the admin socket %s: %s; %s", at, strerror(-err),
			       low_fds_advice(err));
	else if (err == -EADDRINUSE && s->path.holder == getpid())
		(void)snprintf(why, room,
			       "cannot open the admin socket %s: this weir listens there already; use "
			       "another path",
			       at);
	else
		(void)snprintf(why, room, "cannot open the admin socket %s: %s", at,
			       listen_error_by(err, &g->admin, s->path.holder, text));
}

int admin_moving_prepare(void *arg, const struct config_global *g, char *why, size_t room)
{
	struct admin_moving *m = arg;
	const int err = admin_prepare_socket(&m->next, g, m->now);

	if (err) {
		admin_moving_explain(&m->next, g, err, why, room);
		admin_undo_socket(&m->next);
	}
	return err;
}

void admin_moving_commit(void *arg)
{
	struct admin_moving *m = arg;

	admin_commit_socket(m->admin, &m->next);
}

void admin_moving_undo(void *arg)
{
	struct admin_moving *m = arg;

	admin_undo_socket(&m->next);
}
