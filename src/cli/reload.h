/* SPDX-License-Identifier: MIT
 *
 * reload.h - asking a running weir to reload, to roll back or to confirm, and its answer.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_RELOAD_H
#define WEIR_CLI_RELOAD_H

#include "weir/cli/cli.h"
#include "weir/net/addr.h"

/* Name services and named pipes can delay the reading of a configuration for long. */
#define RELOAD_WAIT_MS 600000

/* A connection to the running weir that the command line names, whose address is then in `*found`; or -errno
 * with `*code` set after explaining it on stderr. */
int reload_find(const struct cli_args *a, struct addr *found, enum exit_code *code);
/* Is this line of the admin protocol a reload, a rollback or a confirmation? */
bool reload_is_asked(const char *line);
/* Sends the line over the connection `fd` to `name`, and prints the answer as it arrives: the result on
 * stdout, errors, warnings and a refusal on stderr; with `quiet`, nothing but a refusal. Takes `fd`.
 * EXIT_CONFIG if weir did not do it, or did not keep it while the line held a trial; EXIT_ENVIRONMENT if that
 * is not known. */
enum exit_code reload_talk(int fd, const char *name, const char *line, bool quiet);

#endif
