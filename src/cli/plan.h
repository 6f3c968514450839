/* SPDX-License-Identifier: MIT
 *
 * plan.h - asking a running weir what a reload would change, and its answer.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_PLAN_H
#define WEIR_CLI_PLAN_H

#include "weir/cli/cli.h"

/* Is this line of the admin protocol a plan? */
bool plan_is_asked(const char *line);
/* Sends the line over the connection `fd` to `name`, and prints the answer: the plan on stdout, errors and
 * warnings on stderr; with `quiet`, nothing but errors. Takes `fd`. EXIT_FINE if nothing would change,
 * EXIT_WOULD_CHANGE if something would, EXIT_CONFIG if there is no plan, EXIT_ENVIRONMENT if that is not
 * known. */
enum exit_code plan_talk(int fd, const char *name, const char *line, bool quiet);

#endif
