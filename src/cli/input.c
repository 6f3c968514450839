/* SPDX-License-Identifier: MIT
 *
 * input.c - the configuration that a command line names, and how its messages are shown.
 *
 * Main thread.
 */
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "weir/host/limits.h"
#include "terminal.h"
#include "weir/convert/convert.h"

int input_make(const struct cli_args *a, const char *text, const char *text_name, struct config_input *input)
{
	int err = 0;

	*input = (struct config_input){0};
	if (text != NULL)
		err = config_input_set_text(input, text_name, text);
	else if (a->path_count == 0)
		err = config_input_add_path(input, CLI_DEFAULT_FILE);
	for (size_t i = 0; !err && i < a->path_count; i++)
		err = config_input_add_path(input, a->paths[i]);
	for (size_t i = 0; !err && i < a->override_count; i++)
		err = config_input_add_override(input, a->overrides[i]);
	if (err) {
		fputs("weir: out of memory\n", stderr);
		config_input_free(input);
	}
	return err;
}

/* A file of another program gives a message per line: one more says what to do about all of them. */
static void name_converter(const struct cli_args *a)
{
	for (size_t i = 0; i < a->path_count; i++) {
		const enum convert_from from = convert_recognise(a->paths[i]);

		if (from != CONVERT_GUESS)
			fprintf(stderr,
				"%s looks like a configuration of %s: 'weir convert %s' converts it\n",
				a->paths[i], from == CONVERT_HAPROXY ? "HAProxy" : "nginx", a->paths[i]);
	}
}

void input_show(const struct cli_args *a, struct config_reading *r)
{
	const enum config_style style =
	    terminal_wants_colour(STDERR_FILENO) ? CONFIG_STYLE_COLOUR : CONFIG_STYLE_PLAIN;
	const bool json = a->json && (a->verb == CLI_CHECK || (a->verb == CLI_RUN && a->check));
	/* With --json and --probe, stdout gets one object: that of the probe, or this one if the probe cannot
	 * run. -q suppresses warnings; errors are shown in any case. */
	const bool quiet = json ? a->probe : a->quiet;

	if (quiet && r->config != NULL)
		return;
	if (json && r->config != NULL)
		r->workers = limits_count_workers(&r->config->global);
	if (json)
		config_reading_print(r, stdout, CONFIG_STYLE_JSON);
	else
		config_reading_print(r, stderr, style);
	if (!json && r->config == NULL && !r->no_memory)
		name_converter(a);
}

struct config *input_load(const struct cli_args *a, const char *text, const char *text_name)
{
	struct config_input input;
	struct config_reading r;
	struct config *c;

	if (input_make(a, text, text_name, &input) != 0)
		return NULL;
	config_read(&input, &r);
	input_show(a, &r);
	c = config_reading_take(&r);
	config_reading_free(&r);
	config_input_free(&input);
	return c;
}

bool input_default_is_missing(const struct cli_args *a)
{
	return a->path_count == 0 && access(CLI_DEFAULT_FILE, F_OK) != 0 && errno == ENOENT;
}
