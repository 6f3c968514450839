/* SPDX-License-Identifier: MIT
 *
 * config_input.h - where a configuration comes from: files and directories, or a text, and the -o arguments.
 *
 * Owns the names and the text, but not the contents of the files: config_read() reads those afresh each time.
 * Names are kept as given, because messages show them. A relative name is relative to the working directory
 * of the process, which weir never changes. All zero = empty. One thread at a time.
 */
#ifndef WEIR_SETTINGS_CONFIG_INPUT_H
#define WEIR_SETTINGS_CONFIG_INPUT_H

#include <stddef.h>

#include "weir/settings/config_text.h"

struct config_input {
	char **paths; /* owns the array and each path: a file, or a directory (its *.ini, sorted bytewise) */
	size_t path_count;
	char **overrides; /* owns the array and each -o argument, "SECTION.KEY=VALUE"; later ones win */
	size_t override_count;
	char *text;      /* owns: a whole configuration in memory, as `weir forward` builds it; NULL = none */
	char *text_name; /* owns: its name in messages */
	char **environment; /* owns it all: "NAME=VALUE", then NULL; NULL = that of the process as it is */
	/* Shared: one reference. What an earlier reading of these paths found: everything comes from it, and
	 * nothing from the disk; what it does not have is an error. NULL = the disk. */
	struct config_text *kept;
};

/* Adds a copy of `path`. Does not open the file. 0, or -ENOMEM, which leaves the input as it was. */
int config_input_add_path(struct config_input *input, const char *path);
/* Adds a copy of one -o argument. It is validated when the input is read. 0, or -ENOMEM, which leaves the
 * input as it was. */
int config_input_add_override(struct config_input *input, const char *assignment);
/* Keeps copies of a whole text and of its name, in place of files. Call at most once. 0, or -ENOMEM, which
 * leaves the input as it was. */
int config_input_set_text(struct config_input *input, const char *name, const char *text);
/* From now on ${NAME} has the value that it has now, whatever becomes of the environment of this process: a
 * daemon removes some variables from it. Call at most once. 0, or -ENOMEM, which leaves the input as it
 * was. */
int config_input_keep_environment(struct config_input *input);
/* Makes `copy`, whose previous contents are ignored, a copy of `input` that owns all of it. 0, or -ENOMEM
 * with an empty copy. */
int config_input_copy(struct config_input *copy, const struct config_input *input);
/* Frees what it owns, and leaves it empty. Harmless if it is empty already. */
void config_input_free(struct config_input *input);

#endif
