/* SPDX-License-Identifier: MIT
 *
 * input.h - the configuration that a command line names, and how its messages are shown.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_INPUT_H
#define WEIR_CLI_INPUT_H

#include "weir/cli/cli.h"

/* Makes the input, the caller's from then on: the files of -f, or the default one, and what -o says. A `text`
 * (or NULL) called `text_name` stands in place of the default file. */
struct config_input input_make(const struct cli_args *a, const char *text, const char *text_name);
/* Shows the messages of a reading: on stderr, with --json of a check as JSON on stdout. With -q only of one
 * that failed. */
void input_show(const struct cli_args *a, struct config_reading *r);
/* Both, with the reading between them: the snapshot, or NULL. For who runs no daemon. */
struct config *input_load(const struct cli_args *a, const char *text, const char *text_name);
/* Was no file named, and is the default one not there? */
bool input_default_is_missing(const struct cli_args *a);

#endif
