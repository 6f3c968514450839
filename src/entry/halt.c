/* SPDX-License-Identifier: MIT
 *
 * halt.c - an administrator takes a frontend out of service and back.
 *
 * Owns what that does to its addresses; how these leave and return is the business of endpoint_leave.c.
 * Control thread.
 */
#include "weir/entry/halt.h"

#include <errno.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "parts.h"

static void take_out(struct entries *e, struct frontend *fe, enum frontend_admin admin,
		     const struct mark *by, int64_t now_ns)
{
	check(!e->is_open);
	fe->admin = admin;
	fe->changed_ns = now_ns;
	fe->marks[FRONTEND_MARK_STATE] = *by;
	fe->is_shut = false;
	if (e->ending)
		return; /* all leave anyway */
	frontend_foreach_endpoint(fe, ep)
		if (ep->stage == ENDPOINT_OPEN)
			entries_go_away(e, ep, now_ns);
}

void entries_disable(struct entries *e, struct frontend *fe, const struct mark *by, int64_t now_ns)
{
	check(fe->admin == FRONTEND_ADMIN_READY);
	take_out(e, fe, FRONTEND_ADMIN_DISABLED, by, now_ns);
}

void entries_shut_down(struct entries *e, struct frontend *fe, const struct mark *by, int64_t now_ns)
{
	if (fe->admin != FRONTEND_ADMIN_SHUT)
		take_out(e, fe, FRONTEND_ADMIN_SHUT, by, now_ns);
}

/* Without a server only an inherited socket is open where `unlisten = no-server` applies. */
static bool shall_return(const struct endpoint *ep, bool has_server)
{
	return ep->away && (has_server || ep->inherited);
}

static int prepare_all(struct entries *e, struct frontend *fe, bool has_server,
		       const struct endpoint **failed)
{
	struct endpoint *deaf = NULL;
	struct entry_error error;
	int err;

	frontend_foreach_endpoint(fe, ep) {
		if (!shall_return(ep, has_server))
			continue;
		*failed = ep;
		if (entries_prepare_return(e, ep, &error) != 0)
			return error.err;
	}
	*failed = NULL;
	err = entries_listen(e, &deaf);
	if (err)
		*failed = deaf;
	return err;
}

/* All of them return, or none. */
static int take_back(struct entries *e, struct frontend *fe, bool has_server, const struct endpoint **failed)
{
	int err;

	entries_begin(e);
	err = prepare_all(e, fe, has_server, failed);
	frontend_foreach_endpoint(fe, ep) {
		if (!shall_return(ep, has_server))
			continue;
		if (err)
			entries_undo_return(e, ep);
		else
			entries_commit_return(e, ep);
	}
	entries_end(e);
	return err;
}

int entries_enable(struct entries *e, struct frontend *fe, const struct unlisten_rights *rights,
		   const struct endpoint **failed)
{
	const bool has_server = frontend_has_server(fe);
	bool raised;
	int err;

	check(fe->admin == FRONTEND_ADMIN_DISABLED);
	*failed = NULL;
	if (e->ending)
		return -ESHUTDOWN;
	/* Without the right, what needs it fails. */
	raised = rights->raise == NULL || rights->raise(rights->arg) == 0;
	err = take_back(e, fe, has_server, failed);
	if (raised && rights->lower != NULL)
		rights->lower(rights->arg);
	if (err)
		return err;
	fe->admin = FRONTEND_ADMIN_READY;
	fe->changed_ns = sys_now_ns();
	fe->is_away = !has_server;
	fe->is_shut = false;
	mark_clear(&fe->marks[FRONTEND_MARK_STATE]);
	return 0;
}
