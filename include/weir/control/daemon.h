/* SPDX-License-Identifier: MIT
 *
 * daemon.h - the daemon from start to end, on the main thread.
 *
 * Order: read the configuration, bind, admin socket, drop privileges, plan descriptors, start workers,
 * resolve names, check servers, run the libev loop until the last worker has ended.
 */
#ifndef WEIR_CONTROL_DAEMON_H
#define WEIR_CONTROL_DAEMON_H

#include <stdbool.h>

#include "weir/settings/config_reading.h"

/* Exit codes of weir(8). */
enum exit_code {
	EXIT_FINE = 0,
	EXIT_CONFIG = 1,
	EXIT_USAGE = 2,
	EXIT_ENVIRONMENT = 3,
	EXIT_FATAL = 4,
	EXIT_WOULD_CHANGE = 10, /* `weir plan`: a reload would change something; `convert`: some is lost */
	EXIT_STRICT = 11,	/* `weir convert --strict`: something is lost or different */
};

/* Additions from the command line to the configuration. */
struct daemon_options {
	/* Prints the messages about the configuration; NULL = they are not printed. Called once, right after
	 * reading it, even if it cannot be used. Borrows `r`. Main thread. */
	void (*on_read)(void *arg, struct config_reading *r);
	void *on_read_arg;
	const char *pid_path;	     /* borrows; NULL = none. Written before `on_ready`, removed at the end */
	void (*on_ready)(void *arg); /* NULL = none; called once, when every worker listens. Main thread */
	void *on_ready_arg;
};

/* Reads the configuration that `input` names and runs until told to stop; returns an exit code: EXIT_CONFIG
 * if the configuration cannot be used. Takes what `input` owns and leaves it empty. Borrows `options`. Takes
 * over signals and the log after reading. */
enum exit_code daemon_run(struct config_input *input, const struct daemon_options *options);

#endif
