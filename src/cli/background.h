/* SPDX-License-Identifier: MIT
 *
 * background.h - the daemon as a child that lives on, and a parent that waits until it is ready.
 *
 * Before any thread and any loop exist. Main thread.
 */
#ifndef WEIR_CLI_BACKGROUND_H
#define WEIR_CLI_BACKGROUND_H

#include "weir/cli/cli.h"

/* daemon_run(), in the background when the arguments say so: then the parent returns EXIT_FINE once
 * the child is ready, else the child's exit code, and the child returns its own. Takes what `input` owns.
 * `show` is called in the process that is the daemon, when it has read the configuration, and shows the
 * messages. */
enum exit_code background_run(const struct cli_args *a, struct config_input *input,
			      void (*show)(const struct cli_args *a, struct config_reading *r));

#endif
