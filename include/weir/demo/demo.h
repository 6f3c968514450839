/* SPDX-License-Identifier: MIT
 *
 * demo.h - shows weir at work within seconds: a daemon, servers, many clients, and a story.
 *
 * The daemon is the normal one, in a process of its own. The servers are processes too; the calling process
 * runs the clients and the display. Uses loopback only and creates no files. Main thread of a process without
 * others.
 */
#ifndef WEIR_DEMO_DEMO_H
#define WEIR_DEMO_DEMO_H

#include <stdbool.h>

#include "weir/control/daemon.h"

#define DEMO_SECONDS	 10
#define DEMO_SECONDS_MIN 2
#define DEMO_SECONDS_MAX 3600

struct demo_options {
	unsigned seconds;
	bool json;  /* no display; one object on stdout at the end */
	bool quiet; /* print only the summary */
};

/* Runs the demo. EXIT_FINE if every byte was right, nobody saw an error, a wrong configuration was refused, a
 * right one took effect, and everything ended in order; EXIT_FATAL if not; EXIT_ENVIRONMENT if it could not
 * start. */
enum exit_code demo_run(const struct demo_options *options);
/* Prints the configuration that a demo started now would use. */
enum exit_code demo_print_config(void);

#endif
