/* SPDX-License-Identifier: MIT
 *
 * input.c - the configuration that a command line names.
 *
 * Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "weir/cli/cli.h"
#include "terminal.h"

/* Loads, and says nothing unless it fails. */
static struct config *load_if_wrong(const struct config_input *input, FILE *out, enum config_style style)
{
	char *said = NULL;
	size_t said_len = 0;
	FILE *diag = open_memstream(&said, &said_len);
	struct config *c;

	if (diag == NULL)
		return config_load(input, out, style);
	c = config_load(input, diag, style);
	(void)fclose(diag); /* memory only */
	if (c == NULL && said != NULL)
		fputs(said, out);
	free(said);
	return c;
}

struct config *cli_load(const struct cli_args *a, const char *text, const char *text_name)
{
	static const char *const default_paths[] = {CLI_DEFAULT_FILE};
	struct config_input input = {
		.paths = a->paths,
		.path_count = a->path_count,
		.overrides = a->overrides,
		.override_count = a->override_count,
		.text = text,
		.text_name = text_name,
	};
	enum config_style style = terminal_wants_colour(STDERR_FILENO) ? CONFIG_COLOUR : CONFIG_PLAIN;
	const bool json = a->json && (a->verb == CLI_CHECK || (a->verb == CLI_RUN && a->check));

	if (text == NULL && a->path_count == 0) {
		input.paths = default_paths;
		input.path_count = 1;
	}
	if (json && !a->probe)
		return config_load(&input, stdout, CONFIG_JSON);
	if (json) /* one object: that of the probe, unless it does not come to that */
		return load_if_wrong(&input, stdout, CONFIG_JSON);
	/* Quiet is about warnings; what makes it fail is said all the same. */
	return a->quiet ? load_if_wrong(&input, stderr, style) : config_load(&input, stderr, style);
}

bool cli_default_is_missing(const struct cli_args *a)
{
	return a->path_count == 0 && access(CLI_DEFAULT_FILE, F_OK) != 0 && errno == ENOENT;
}
