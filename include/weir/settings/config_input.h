/* SPDX-License-Identifier: MIT
 *
 * config_input.h - where a configuration comes from: files and folders, or a text, and what -o says.
 *
 * Owns the names and the text, not the files: what they say is read by config_read(), each time anew.
 * Names are kept as they were given, because messages show them so. A relative one begins in the working
 * directory of the process, which weir never leaves. All zero = empty. One thread at a time.
 */
#ifndef WEIR_SETTINGS_CONFIG_INPUT_H
#define WEIR_SETTINGS_CONFIG_INPUT_H

#include <stddef.h>

struct config_input {
	char **paths; /* owns, with each of them: files, or folders = their *.ini sorted bytewise */
	size_t path_count;
	char **overrides; /* owns, with each of them: "SECTION.KEY=VALUE" of -o, later wins */
	size_t override_count;
	char *text;      /* owns: a whole file in memory, as `forward` makes it; NULL = none */
	char *text_name; /* owns: what messages call it */
};

/* Adds a copy of `path`. Does not look at the file. 0, or -ENOMEM, which leaves the input as it was. */
int config_input_add_path(struct config_input *input, const char *path);
/* Adds a copy of one -o argument. Its form is judged when the input is read. 0, or -ENOMEM, which leaves
 * the input as it was. */
int config_input_add_override(struct config_input *input, const char *assignment);
/* Keeps copies of a whole text and of what it is called, in place of files. At most once. 0, or -ENOMEM,
 * which leaves the input as it was. */
int config_input_set_text(struct config_input *input, const char *name, const char *text);
/* Frees what it owns; it is empty then. Harmless when it is already. */
void config_input_free(struct config_input *input);

#endif
