/* SPDX-License-Identifier: MIT
 *
 * control_socket.h - the private control socket of a running weir: finding it by the process ID.
 *
 * The daemon listens at the first of these that it can create: weir.control in its $RUNTIME_DIRECTORY,
 * PIDFILE.control, the abstract name weir-PID. Main thread.
 */
#ifndef WEIR_CLI_CONTROL_SOCKET_H
#define WEIR_CLI_CONTROL_SOCKET_H

#include "weir/net/addr.h"

/* Connects to the control socket of process `pid`, within `wait_ms` for each place where it may be.
 * `pid_path` is its pid file, NULL if unknown. Only a socket on which that process itself listens counts.
 * Returns the connection with its address in `found`; -ENOENT if there is none; or another -errno with the
 * address that it applies to in `found`: -EACCES if this user may not use that socket, -ETIMEDOUT if it does
 * not answer. */
int control_socket_of(int pid, const char *pid_path, int wait_ms, struct addr *found);
/* The same for the weir of this machine's service, whatever its process ID: in $RUNTIME_DIRECTORY of our own
 * environment, else in /run/weir. */
int control_socket_of_service(int wait_ms, struct addr *found);

#endif
