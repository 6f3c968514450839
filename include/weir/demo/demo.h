/* SPDX-License-Identifier: MIT
 *
 * demo.h - weir at work within seconds: a daemon, three servers, many clients, and a story.
 *
 * The daemon is the one of every day, in a process of its own; servers are processes too, and the
 * calling process is the clients and the show. Loopback only, and no file is made anywhere. Main
 * thread of a process without others.
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
	bool json;  /* no show; one object on stdout at the end */
	bool quiet; /* the summary only */
};

/* Shows. EXIT_FINE when every byte was right, nobody saw an error and all ended in order; EXIT_FATAL
 * when not; EXIT_ENVIRONMENT when it could not begin. */
enum exit_code demo_run(const struct demo_options *options);
/* Prints the configuration that a demo would have now. */
enum exit_code demo_print_config(void);

#endif
