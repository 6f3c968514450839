/* SPDX-License-Identifier: MIT
 *
 * running.h - a running weir as a process: finding it, and sending it signals (-s).
 *
 * Main thread.
 */
#ifndef WEIR_CLI_RUNNING_H
#define WEIR_CLI_RUNNING_H

#include "weir/cli/cli.h"

/* `weir -s stop|quit|reopen`: signals the daemon named by -p, or the one that listens on the admin socket of
 * the configuration. Does not wait for the effect. */
enum exit_code running_signal(const struct cli_args *a);

#endif
