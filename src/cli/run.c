/* SPDX-License-Identifier: MIT
 *
 * run.c - `weir`, `weir -c`, `weir -T` and `weir check`: reads a configuration, then validates,
 * prints or runs it.
 *
 * Main thread.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/cli/cli.h"
#include "weir/base/log.h"
#include "weir/config/bind_range.h"
#include "weir/config/sticky_size.h"
#include "weir/host/limits.h"
#include "weir/host/privileges.h"
#include "weir/host/refusal.h"
#include "weir/host/user_access.h"
#include "background.h"
#include "input.h"
#include "preflight.h"
#include "running.h"

/* Prints the warning that the log would have if this user started the daemon. */
static void warn_of_root(const struct config *c)
{
	if (privileges_stay_root(&c->global))
		fputs("weir: warning: weir would keep running as root, because [global] has no 'user'; name "
		      "an unprivileged user there, or write 'user = root' to keep it\n",
		      stderr);
}

/* The unit has a user of its own. */
static void warn_of_programs(const struct config *c)
{
	char why[LOG_RECORD_MAX];

	if (refusal_of_programs(c, c->global.user == NULL ? geteuid() : 1, why, sizeof(why)))
		fprintf(stderr, "weir: warning: %s\n", why);
}

/* The start would refuse a range of ports with the limit of open files that this shell has. */
static void warn_of_ranges(const struct config *c)
{
	char why[LOG_RECORD_MAX];

	if (refusal_of_ranges(c, limits_count_workers(&c->global), why, sizeof(why)) != 0)
		fprintf(stderr, "weir: warning: %s\n", why);
}

static void print_denied(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "weir: warning: %s\n", line);
}

/* A daemon that root starts becomes its user, who may not do what root could. */
static void warn_of_user(const struct config *c)
{
	const int err = user_access_test(c, print_denied, NULL);

	if (err)
		fprintf(stderr, "weir: warning: cannot test what user '%s' may do: %s\n", c->global.user,
			strerror(-err));
}

static void hint_at_default(const struct cli_args *a)
{
	if (input_default_is_missing(a) && !a->json)
		fputs("weir: that is the default file. To run without one: weir forward :8080 "
		      "10.0.0.1:80, or weir demo; see 'weir help'\n",
		      stderr);
}

static void show(const struct cli_args *a, struct config_reading *r)
{
	input_show(a, r);
	if (r->config == NULL)
		hint_at_default(a);
}

/* Does what `check`, -c and -T ask for. */
static enum exit_code validate_only(const struct cli_args *a)
{
	struct config *c = input_load(a, NULL, NULL);
	enum exit_code code = EXIT_FINE;

	if (c == NULL) {
		hint_at_default(a);
		return EXIT_CONFIG;
	}
	if (a->json && !a->probe) { /* input_load() has printed the object */
		config_free(c);
		return EXIT_FINE;
	}
	if (a->print) {
		fputs("# ", stdout);
		config_print_summary(c, stdout);
		config_print_families(c, "# ", stdout);
		bind_print_ranges(c, limits_count_workers(&c->global), "# ", stdout);
		config_print_rate_memory(c, "# ", stdout);
		config_print_sticky(c, "# ", stdout);
		config_print_origins(c, stdout);
	} else if (!a->quiet && !a->json) {
		config_print_summary(c, stdout);
		config_print_families(c, "  ", stdout);
		bind_print_ranges(c, limits_count_workers(&c->global), "  ", stdout);
		config_print_rate_memory(c, "  ", stdout);
		config_print_sticky(c, "  ", stdout);
		warn_of_ranges(c);
		warn_of_root(c);
		warn_of_programs(c);
		warn_of_user(c);
	}
	if (a->probe)
		code = preflight_run(a, c);
	config_free(c);
	return code;
}

enum exit_code cli_run(const struct cli_args *a)
{
	struct cli_args with_file = *a;
	struct config_input input;

	if (a->word_count > 1) {
		fprintf(stderr, "weir: only one FILE, but got '%s' too; use -f for more\n", a->words[1]);
		return EXIT_USAGE;
	}
	/* The array has room for every argument. */
	if (a->word_count == 1)
		with_file.paths[with_file.path_count++] = a->words[0];
	if (a->signal_name != NULL)
		return running_signal(&with_file);
	if (a->check || a->print || a->verb == CLI_CHECK)
		return validate_only(&with_file);
	if (a->probe) {
		fputs("weir: --probe needs a check: weir check --probe\n", stderr);
		return EXIT_USAGE;
	}
	if (input_make(&with_file, NULL, NULL, &input) != 0)
		return EXIT_FATAL;
	return background_run(&with_file, &input, show);
}
