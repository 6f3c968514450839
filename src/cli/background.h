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
 * the child is ready, else the child's exit code, and the child returns its own. */
enum exit_code background_run(const struct cli_args *a, const struct config *c);

#endif
