/* SPDX-License-Identifier: MIT
 *
 * running.h - a running weir as a process: which it is, and signals to it (-s).
 *
 * Main thread.
 */
#ifndef WEIR_CLI_RUNNING_H
#define WEIR_CLI_RUNNING_H

#include "weir/cli/cli.h"

/* `weir -s stop|quit|reopen`: the daemon that -p names, or that listens at the admin socket of the
 * configuration. Does not wait for what the signal does. */
enum exit_code running_signal(const struct cli_args *a);

#endif
