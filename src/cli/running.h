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
 * the configuration. Does not wait for the effect. `-s reload` is cli_reload(). */
enum exit_code running_signal(const struct cli_args *a);
/* The process ID in a pid file; 0 after explaining on stderr why there is none. */
int running_pid_in(const char *path);
/* Is that process a program with our name? */
bool running_is_weir(int pid);

#endif
