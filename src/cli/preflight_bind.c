/* SPDX-License-Identifier: MIT
 *
 * preflight_bind.c - could this process listen where the configuration says?
 *
 * Binds only what leaves nothing behind: ports and abstract names. A path is only examined, because a bind
 * would create it, and a running weir may have its socket there. Never listens, so it never takes a client
 * away. Main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/config/bind_range.h"
#include "weir/entry/endpoint.h"
#include "weir/host/listen_error.h"
#include "weir/host/socket_preflight.h"
#include "ask.h"
#include "preflight.h"

#define PEER_WAIT_MS 500

/* May a file be created in the folder of this path? */
static int try_folder(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		(void)snprintf(folder, sizeof(folder), ".");
	else
		(void)snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

/* Predicts the result of sock_listen() without changing anything. */
static int try_path(const struct addr *a)
{
	pid_t holder;
	const int found = sock_path_look(a, &holder);

	return found < 0 ? found : try_folder(a->un.sun_path);
}

static int try_address(const struct addr_spec *spec, const struct sock_listen *opt)
{
	struct addr v4;
	int err;

	if (addr_is_unix(&spec->addr) && spec->addr.un.sun_path[0] != '\0')
		return try_path(&spec->addr);
	err = sock_try_bind(&spec->addr, opt);
	if (err != -EAFNOSUPPORT || spec->kind != ADDR_ANY || opt->v6only)
		return err;
	addr_any4(&v4, spec->port);
	return sock_try_bind(&v4, opt);
}

/* The process ID of the weir that listens on the admin socket of this configuration; 0 = none. */
static int running_weir(const struct config *c)
{
	const int pid = c->global.admin.kind == ADDR_UNIX ? ask_peer_pid(&c->global.admin, PEER_WAIT_MS) : 0;

	return pid > 0 ? pid : 0;
}

/* All ports of a range, up to the first that cannot be bound, which is left in `*spec`. */
static int try_range(const struct addr_spec **spec, const struct config_bind *b,
		     const struct sock_listen *opt)
{
	int err = try_address(*spec, opt);

	for (unsigned n = 1; b != NULL && n < bind_line_ports(b) && !err; n++) {
		*spec = &b[n].addr;
		err = try_address(*spec, opt);
	}
	return err;
}

/* For the admin socket and the HTTP endpoint, which are of no frontend, `fe` and `b` are NULL. */
static void preflight_bind(struct preflight *p, const struct addr_spec *spec,
			   const struct config_frontend *fe, const struct config_bind *b)
{
	enum sock_option refused = SOCK_OPTION_NONE;
	struct sock_listen opt = {.mode = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
	struct preflight_line *line;
	char why[LISTEN_ERROR_MAX], text[OPTION_ERROR_MAX];
	int err, pid;

	/* A passed socket is bound already, and has no address here. */
	if (spec->kind != ADDR_IP && spec->kind != ADDR_ANY && spec->kind != ADDR_UNIX)
		return;
	line = preflight_add(p, "bind");
	if (line == NULL)
		return;
	/* A name is shorter than a pair of names. */
	(void)snprintf(line->name, sizeof(line->name), "%s", fe != NULL ? fe->name : "admin-socket");
	if (b != NULL)
		(void)bind_line_address(b, line->address);
	else
		(void)addr_spec_format(spec, line->address);
	if (b != NULL)
		opt = sock_listen_of(fe, b);
	opt.tcp.refused = &refused;
	err = try_range(&spec, b, &opt);
	if (!err)
		return;
	pid = err == -EADDRINUSE ? running_weir(p->config) : 0;
	if (pid > 0)
		preflight_fail(p, line, "address already in use, maybe by the running weir (pid %d)", pid);
	else if (refused != SOCK_OPTION_NONE && b != NULL)
		preflight_fail(p, line, "%s",
			       bind_option_error(refused, err, fe, b, text));
	else if (b != NULL && bind_is_in_range(b))
		preflight_fail(p, line, "port %u: %s", spec->port, listen_error(err, spec, why));
	else
		preflight_fail(p, line, "%s", listen_error(err, spec, why));
}

void preflight_binds(struct preflight *p)
{
	const struct config *c = p->config;

	for (size_t i = 0; i < c->frontend_count; i++)
		for (size_t k = 0; k < c->frontends[i].bind_count;
		     k += bind_line_ports(&c->frontends[i].binds[k]))
			preflight_bind(p, &c->frontends[i].binds[k].addr, &c->frontends[i],
				       &c->frontends[i].binds[k]);
	if (c->global.admin.kind != ADDR_NONE)
		preflight_bind(p, &c->global.admin, NULL, NULL);
	if (c->global.stats.addr.kind != ADDR_NONE)
		preflight_bind(p, &c->global.stats.addr, NULL, NULL);
}
