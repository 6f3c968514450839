/* SPDX-License-Identifier: MIT
 *
 * input.h - the configuration that a command line names, and how its messages are shown.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_INPUT_H
#define WEIR_CLI_INPUT_H

#include "weir/cli/cli.h"

/* Makes the input, which the caller then owns: the files of -f or else the default file, and the overrides of
 * -o. If `text` is not NULL, it replaces the default file and is called `text_name`. 0, or -ENOMEM after a
 * message, with nothing to free. */
int input_make(const struct cli_args *a, const char *text, const char *text_name, struct config_input *input);
/* Shows the messages about a configuration: on stderr, or as JSON on stdout for `check` and -c with --json.
 * With -q, only if it is invalid. */
void input_show(const struct cli_args *a, struct config_reading *r);
/* Makes the input, reads it and shows the messages. Returns the snapshot, or NULL if it is invalid or memory
 * ran out. For commands that run no daemon. */
struct config *input_load(const struct cli_args *a, const char *text, const char *text_name);
/* Does the command line name no file, while the default file does not exist? */
bool input_default_is_missing(const struct cli_args *a);

#endif
