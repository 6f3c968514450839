/* SPDX-License-Identifier: MIT
 *
 * complete.h - what may come next in a command of the admin protocol.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_COMPLETE_H
#define WEIR_CLI_COMPLETE_H

#include "weir/cli/cli.h"
#include "candidates.h"

/* Adds what may follow the words of a command. Names of servers, backends and frontends come from the running
 * weir that the flags of `a` name; without an answer in two seconds there are none. */
void complete_command(const struct cli_args *a, const char *const *words, size_t count,
		      struct candidates *out);

#endif
