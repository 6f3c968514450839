/* SPDX-License-Identifier: MIT
 *
 * listen_error.c - why a socket cannot listen, as text, and what the operator can do.
 *
 * A table for the common errors; strerror(3) for the rest. Main thread.
 */
#include "weir/host/listen_error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"

struct row {
	int err;
	bool is_unix;
	const char *text;
};

static const struct row rows[] = {
	{EADDRINUSE, true,
	 "address already in use; a process listens there ('ss -lxp' names it), or the path is not a socket: "
	 "stop the process, or remove the path"},
	{EACCES, false,
	 "permission denied; a port below 1024 needs root, or in the unit "
	 "AmbientCapabilities=CAP_NET_BIND_SERVICE, or sysctl net.ipv4.ip_unprivileged_port_start=0"},
	{EACCES, true, "permission denied; check who may write to the folder, and who owns an existing file"},
	{EPERM, true, "not permitted; only root may give a socket to another owner"},
	{EADDRNOTAVAIL, false, "no interface of this machine has that address; 'ip addr' lists them"},
	{EAFNOSUPPORT, false, "this machine has no IPv6; use an IPv4 address, as in 0.0.0.0:80"},
	{ESTALE, true,
	 "the socket was replaced while weir created it; make the folder writable only by root and weir's "
	 "user"},
	{ENOENT, true, "the folder does not exist; create it first"},
	{EINVAL, false, "a host name cannot be listened on; use an address"},
	{EROFS, true, "the file system is read-only; use another path"},
};

const char *listen_error_by(int err, const struct addr_spec *at, pid_t holder,
			    char buf[static LISTEN_ERROR_MAX])
{
	if (err != -EADDRINUSE || holder <= 0)
		return listen_error(err, at, buf);
	(void)snprintf(buf, LISTEN_ERROR_MAX, /* always fits */
		       "address already in use: process %d listens there ('ps %d' shows which); stop it, or "
		       "use another path",
		       (int)holder, (int)holder);
	return buf;
}

const char *listen_error(int err, const struct addr_spec *at, char buf[static LISTEN_ERROR_MAX])
{
	check(err < 0);
	if (err == -EADDRINUSE && at->kind != ADDR_UNIX) {
		(void)snprintf(buf, LISTEN_ERROR_MAX, /* always fits */
			       "address already in use; find the process with \"ss -ltnp 'sport = :%u'\" and "
			       "stop it, or use another port",
			       (unsigned)at->port);
		return buf;
	}
	if (err == -EEXIST && at->kind == ADDR_UNIX) {
		(void)snprintf(buf, LISTEN_ERROR_MAX, /* always fits */
			       "%s.lock is not a regular file, or has more than one link; remove it",
			       at->addr.un.sun_path);
		return buf;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].err == -err && rows[i].is_unix == (at->kind == ADDR_UNIX))
			return rows[i].text;
	return strerror(-err);
}

const char *listen_error_of_owner(int err)
{
	switch (err) {
	case -EPERM:
		return "not permitted, because the socket belongs to another user, or would; restart to set "
		       "them";
	case -ESTALE:
	case -ENOENT:
		return "the socket was removed or replaced; a restart creates it";
	default:
		return strerror(-err);
	}
}
