/* SPDX-License-Identifier: MIT
 *
 * run.c - `weir`, `weir -c`, `weir -T` and `weir check`: load, then check, print or run.
 *
 * Main thread.
 */
#include <stdio.h>

#include "weir/cli/cli.h"
#include "weir/host/privileges.h"
#include "background.h"
#include "preflight.h"
#include "running.h"

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
