/* SPDX-License-Identifier: MIT
 *
 * control_socket.h - the private control socket: where a daemon listens for commands of its own operator.
 *
 * It does not depend on the configuration, so `weir reload` always finds it. Only root and the daemon's own
 * user may use it, with level admin. Main thread.
 */
#ifndef WEIR_ADMIN_CONTROL_SOCKET_H
#define WEIR_ADMIN_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "weir/net/addr.h"

#define CONTROL_SOCKET_NAME   "weir.control" /* in the runtime directory */
#define CONTROL_SOCKET_SUFFIX ".control"     /* of the pid file */

/* The places of a control socket, best first. */
enum control_place {
	CONTROL_IN_RUNTIME,  /* DIR/weir.control */
	CONTROL_BESIDE_PID,  /* PIDFILE.control */
	CONTROL_BY_NUMBER,   /* the abstract name "@weir-PID" */
	CONTROL_PLACES,
};

/* What they depend on. */
struct control_where {
	const char *runtime_directory; /* borrows: a list with colons; its first folder is used; or NULL */
	const char *pid_path;          /* borrows; or NULL */
	pid_t pid;
};

/* Fills in the address of that place. False if there is none: nothing says where it would be, the runtime
 * directory is not an absolute path, or the path is too long for a Unix socket. Any thread. */
bool control_socket_address(enum control_place place, const struct control_where *where, struct addr *at);

#endif
