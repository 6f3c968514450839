/* SPDX-License-Identifier: MIT
 *
 * background.h - the daemon as a child that keeps running, and a parent that waits until it is ready.
 *
 * Use before any thread or loop exists. Main thread.
 */
#ifndef WEIR_CLI_BACKGROUND_H
#define WEIR_CLI_BACKGROUND_H

#include "weir/cli/cli.h"

/* Calls daemon_run(), in the background if the arguments say so. In that case the parent returns EXIT_FINE
 * once the child is ready, or else the child's exit code. The child returns its own. Takes what `input` owns.
 * `show` prints the messages about the configuration; it is called in the daemon's process, after reading. */
enum exit_code background_run(const struct cli_args *a, struct config_input *input,
			      void (*show)(const struct cli_args *a, struct config_reading *r));

#endif
