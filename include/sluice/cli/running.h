/* SPDX-License-Identifier: MIT
 *
 * running.h - a running sluice as a process: which it is, and signals to it (-s).
 *
 * Main thread. Floor 7.
 */
#ifndef SLUICE_CLI_RUNNING_H
#define SLUICE_CLI_RUNNING_H

#include "sluice/cli/cli.h"

/* `sluice -s stop|quit|reopen`: the daemon that -p names, or that listens at the admin socket of the
 * configuration. Does not wait for what the signal does. */
enum exit_code running_signal(const struct cli_args *a);

#endif
