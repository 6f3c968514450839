/* SPDX-License-Identifier: MIT
 *
 * run.c - `weir`, `weir -c`, `weir -T` and `weir check`: load, then check, print or run.
 *
 * Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/cli/cli.h"
#include "weir/host/privileges.h"
#include "background.h"
#include "preflight.h"
#include "running.h"
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

/* What the log of a start by this user would say. */
static void warn_of_root(const struct config *c)
{
	if (privileges_stay_root(&c->global))
		fputs("weir: warning: weir would keep running as root, because [global] has no 'user'; name "
		      "an unprivileged user there, or write 'user = root' to keep it\n",
		      stderr);
}

enum exit_code cli_run(const struct cli_args *a)
{
	bool check_only = a->check || a->print || a->verb == CLI_CHECK;
	enum exit_code code = EXIT_FINE;
	struct cli_args with_file = *a;
	struct config *c;

	if (a->word_count > 1) {
		fprintf(stderr, "weir: one FILE, not '%s' too; give more with -f\n", a->words[1]);
		return EXIT_USAGE;
	}
	/* The array has room for every argument. */
	if (a->word_count == 1)
		with_file.paths[with_file.path_count++] = a->words[0];
	if (a->signal_name != NULL)
		return running_signal(&with_file);
	if (a->probe && !check_only) {
		fputs("weir: --probe belongs to a check: weir check --probe\n", stderr);
		return EXIT_USAGE;
	}
	c = cli_load(&with_file, NULL, NULL);
	if (c == NULL && cli_default_is_missing(&with_file) && !a->json)
		fputs("weir: that is the file when none is named. Without one: weir forward :8080 "
		      "10.0.0.1:80, or weir demo; 'weir help' shows the rest\n",
		      stderr);
	if (c == NULL)
		return EXIT_CONFIG;
	if (a->json && check_only && !a->probe) { /* it was all said in the object */
		config_free(c);
		return EXIT_FINE;
	}
	if (a->print) {
		fputs("# ", stdout);
		config_print_summary(c, stdout);
		config_print_origins(c, stdout);
	} else if (check_only && !a->quiet && !a->json) {
		config_print_summary(c, stdout);
		warn_of_root(c);
	}
	if (a->probe)
		code = preflight_run(a, c);
	if (!check_only)
		code = background_run(a, c);
	config_free(c);
	return code;
}
