/* SPDX-License-Identifier: MIT
 *
 * daemon.h - the daemon from its start to its end, on the main thread.
 *
 * Order: bind, admin socket, drop privileges, plan descriptors, start workers, resolve names,
 * check servers, run the libev loop until the last worker has ended.
 */
#ifndef WEIR_CONTROL_DAEMON_H
#define WEIR_CONTROL_DAEMON_H

#include <stdbool.h>

#include "weir/config/config.h"

/* Exit codes of weir(8). */
enum exit_code {
	EXIT_FINE = 0,
	EXIT_CONFIG = 1,
	EXIT_USAGE = 2,
	EXIT_ENVIRONMENT = 3,
	EXIT_FATAL = 4,
};

/* What the command line adds to the configuration. */
struct daemon_options {
	const char *pid_path;	     /* borrows; NULL = none. Written before `on_ready`, removed at the end */
	void (*on_ready)(void *arg); /* NULL = none; called once, when every worker listens. Main thread */
	void *on_ready_arg;
};

/* Runs until it is told to stop; returns an exit code. Takes over signals and the log. */
enum exit_code daemon_run(const struct config *c, const struct daemon_options *options);

#endif
