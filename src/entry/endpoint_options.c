/* SPDX-License-Identifier: MIT
 *
 * endpoint_options.c - other options for the socket of an endpoint, and what a socket can be used for.
 *
 * Options are tried on a new socket when a change is prepared, and set when it is committed. Control thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/base/same_text.h"
#include "weir/net/addr_reach.h"
#include "weir/net/sock_change.h"
#include "parts.h"

struct endpoint_options {
	struct sock_change change;
	bool owns; /* a Unix path gets these */
	int mode;
	uid_t uid;
	gid_t gid;
};

/* ---- what it can be used for ---- */

/* Whom it hears, apart from its address: set before bind(2). */
static bool hears_same(const struct config_bind *a, const struct config_bind *b)
{
	return same_text(a->interface, b->interface) && a->transparent == b->transparent &&
	       a->mptcp == b->mptcp;
}

/* Does its socket have the very address of `b`? The bind that it serves may be a wildcard that covers it. Of
 * [::] it cannot be told whether it takes IPv4 clients. */
static bool has_own_address(const struct endpoint *ep, const struct config_bind *b)
{
	const struct addr_reach here = {.addr = &ep->addr};

	return !ep->inherited && b->addr.kind == ADDR_IP && addr_equal(&ep->addr, &b->addr.addr) &&
	       (ep->addr.sa.sa_family == AF_INET || !addr_covers(&here, &here));
}

bool endpoint_can_become(const struct endpoint *ep, const struct config_frontend *fe,
			 const struct config_bind *b)
{
	const struct config_bind *now = ep->config;

	(void)fe; /* all that it asks of a socket can be set late */
	if (has_own_address(ep, b))
		return hears_same(now, b) && now->freebind == b->freebind;
	if (now->addr.kind != b->addr.kind)
		return false;
	/* Nobody else's socket is changed, and it could not be bound anew. */
	if (ep->inherited)
		return true;
	if (addr_is_unix(&b->addr.addr))
		return true;
	return hears_same(now, b) && now->freebind == b->freebind && now->v6only == b->v6only &&
	       now->addr.addr.sa.sa_family == b->addr.addr.sa.sa_family;
}

bool endpoint_is_covered(const struct endpoint *ep, const struct config_bind *b)
{
	const struct addr_reach here = {.addr = &ep->addr, .v6only = ep->config->v6only};
	const struct addr_reach there = {.addr = &b->addr.addr, .v6only = b->v6only};

	if (!endpoint_has_socket(ep) || ep->inherited)
		return false;
	if (b->addr.kind != ADDR_IP && b->addr.kind != ADDR_ANY)
		return false;
	return hears_same(ep->config, b) && addr_covers(&there, &here);
}

/* ---- planning ---- */

static struct sock_listen owner_of(const struct endpoint_options *o)
{
	return (struct sock_listen){.mode = o->mode, .uid = o->uid, .gid = o->gid};
}

static int plan_path(struct endpoint_options *o, const struct endpoint *ep, const struct sock_listen *now,
		     const struct sock_listen *next)
{
	struct sock_listen opt = {.mode = next->mode, .uid = next->uid, .gid = next->gid};

	if (!ep->path.bound)
		return 0; /* abstract, or made by others */
	o->owns = sock_path_plan_owner(now, &opt);
	o->mode = opt.mode;
	o->uid = opt.uid;
	o->gid = opt.gid;
	return o->owns ? sock_path_try_own(&ep->path, &ep->addr, &opt) : 0;
}

int endpoint_plan_options(struct endpoint_options **o, struct endpoint *ep, const struct config_frontend *fe,
			  const struct config_bind *b, enum sock_option *refused)
{
	const struct sock_kind kind = {
		.family = ep->addr.sa.sa_family, .mptcp = ep->mptcp, .inherited = ep->inherited};
	const struct sock_listen now =
		sock_listen_of(endpoint_settings(ep)->front->config, endpoint_settings(ep)->config);
	struct sock_listen next = sock_listen_of(fe, b);
	struct endpoint_options plan = {.owns = false};
	int err;

	*o = NULL;
	*refused = SOCK_OPTION_NONE;
	next.tcp.refused = refused;
	if (!endpoint_has_socket(ep))
		return 0;
	err = sock_change_plan(&plan.change, kind, &now, &next);
	if (!err)
		err = plan_path(&plan, ep, &now, &next);
	if (err || (sock_change_is_empty(&plan.change) && !plan.owns))
		return err;
	*o = malloc(sizeof(plan));
	if (*o == NULL)
		return -ENOMEM;
	memcpy(*o, &plan, sizeof(plan));
	return 0;
}

/* ---- setting ---- */

static void complain(const struct endpoint *ep, const char *what, int err)
{
	char text[ADDR_TEXT_MAX];

	log_line(LOG_LEVEL_WARNING, "%s: '%s' cannot be changed: %s; a restart sets it",
		 addr_format(&ep->addr, text), what, strerrordesc_np(-err));
}

void endpoint_set_options(struct endpoint *ep, struct endpoint_options *o)
{
	enum sock_option refused;
	struct sock_listen opt;
	int err;

	if (o == NULL)
		return;
	err = sock_change_make(ep->fd, &o->change, &refused);
	if (err)
		complain(ep, refused != SOCK_OPTION_NONE ? sock_option_word(refused) : "bind", err);
	opt = owner_of(o);
	err = o->owns ? sock_path_own_again(&ep->path, &ep->addr, &opt) : 0;
	if (err)
		complain(ep, "mode, user or group", err);
	free(o);
}
