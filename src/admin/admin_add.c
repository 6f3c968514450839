/* SPDX-License-Identifier: MIT
 *
 * admin_add.c - `add server` and `del server`, in HAProxy's grammar.
 *
 * The words of the server are read by settings/server_words.h, and the change is made by
 * balance/run_time.h. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/run_time.h"
#include "weir/balance/server_set.h"
#include "weir/base/check.h"
#include "weir/settings/server_words.h"
#include "weir/sys/low_fds.h"
#include "admin_cause.h"

/* ---- add server ---- */

static void refuse_name(const struct admin_call *c, const struct backend *b, const char *name)
{
	static const char theirs[] = "Already exists a server with the same name in backend.";
	const char *own = name + strcspn(name, "/");
	const struct server_set *set = *own == '/' ? server_set_of_name(b, own + 1) : NULL;

	if (set != NULL)
		admin_refuse(c, theirs,
			     "the set '%s' of backend '%s' names its servers so; choose another name",
			     set->config->name, b->config->name);
	else
		admin_refuse(c, theirs,
			     "backend '%s' has a server of this name already; 'del server %s' deletes it",
			     b->config->name, name);
}

static void refuse_add(const struct admin_call *c, const struct backend *b, const char *name, int err)
{
	switch (err) {
	case -EEXIST:
		refuse_name(c, b, name);
		break;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		admin_refuse(c, "out of memory.", "cannot add server '%s': %s; %s", name, strerror(-err),
			     low_fds_advice(err));
		break;
	case -ENOSPC:
		admin_refuse(c, "Cannot attach server : no id left in proxy",
			     "cannot add server '%s': there are too many servers", name);
		break;
	default: /* an option of its sockets */
		admin_refuse(c, NULL, "cannot add server '%s': %s; the log says why", name, strerror(-err));
		break;
	}
}

/* What the words say beyond the configuration. As in HAProxy, checks wait for `enable health`. */
static int finish(const struct admin_call *c, struct server *s, const struct server_words *w)
{
	struct server_updates *u = c->ctx->updates;
	const struct mark by = admin_mark(c);
	char cause[ADMIN_CAUSE_MAX];
	int err = 0;

	if (s->config->check)
		run_time_set_checks(u, s, false, &by);
	if (w->check_addr.len != 0)
		err = run_time_set_check_addr(u, s, &w->check_addr, &by);
	if (!err && w->enabled)
		err = server_updates_set_admin(u, s, SERVER_ADMIN_READY, admin_cause(c, cause));
	return err == -EAGAIN ? 0 : err;
}

static void add(const struct admin_call *c, struct backend *b, const struct server_words *w)
{
	const struct mark by = admin_mark(c);
	struct server *s = NULL;
	int err = run_time_add_server(c->ctx->updates, b, &w->config, &by, &s);

	if (!err) {
		err = finish(c, s, w);
		if (err)
			(void)run_time_delete_server(c->ctx->updates, s, &by); /* nobody has used it */
	}
	if (err)
		refuse_add(c, b, c->args[0], err);
	else
		admin_say(c, ADMIN_SAYS_INFO, "New server registered.");
}

void admin_add_server(const struct admin_call *c)
{
	struct server_words w;
	const char *name = NULL;
	struct backend *b = admin_find_place(c, c->args[0], &name);
	int err;

	if (b == NULL)
		return;
	if (c->arg_count < 2) {
		admin_refuse(c, "'server' expects <name> and <addr>[:<port>] as arguments.",
			     "write: add server %s ADDRESS:PORT [weight N] [check] ...", c->args[0]);
		return;
	}
	err = server_words_read(&w, b->config, name, &c->args[1], c->arg_count - 1, c->ours);
	if (err == -ENOMEM)
		refuse_add(c, b, c->args[0], err);
	else if (err)
		admin_refuse(c, w.haproxy, "%s", w.ours);
	else
		add(c, b, &w);
	server_words_free(&w);
}

/* ---- del server ---- */

void admin_del_server(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	const struct mark by = admin_mark(c);
	const char *why = NULL;

	if (s == NULL)
		return;
	if (!run_time_is_removable(s, &why)) {
		if (s->set != NULL)
			admin_refuse(c, why,
				     "server '%s' belongs to the set '%s', which would bring it back; use "
				     "'disable server %s', or change the name in DNS",
				     c->args[0], s->set->config->name, c->args[0]);
		else if (s->admin != SERVER_ADMIN_MAINT)
			admin_refuse(c, why, "server '%s' is not in maintenance; first: disable server %s",
				     c->args[0], c->args[0]);
		else
			admin_refuse(c, why,
				     "server '%s' has open connections; 'wait 10s srv-removable %s' "
				     "waits for their end, 'shutdown sessions server %s' closes them",
				     c->args[0], c->args[0], c->args[0]);
		return;
	}
	if (run_time_delete_server(c->ctx->updates, s, &by) != 0)
		admin_refuse(c, "Out of memory.", "cannot delete server '%s': out of memory", c->args[0]);
	else
		admin_say(c, ADMIN_SAYS_INFO, "Server deleted.");
}
