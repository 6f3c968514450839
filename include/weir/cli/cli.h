/* SPDX-License-Identifier: MIT
 *
 * cli.h - the command line: its verbs and flags, and what they share.
 *
 * The only room that ends the process, and it does so by returning from main(). Data goes to
 * stdout, diagnostics to stderr. Main thread.
 */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/config.h"
#include "weir/config/suggest.h"
#include "weir/control/daemon.h"

#define CLI_DEFAULT_FILE "/etc/weir/weir.ini"

/* The verbs, one bit each: a flag says which of them it is for. */
enum cli_verb {
	CLI_RUN = 1 << 0,
	CLI_CHECK = 1 << 1,
	CLI_FORWARD = 1 << 2,
	CLI_CTL = 1 << 3,
	CLI_HELP = 1 << 4,
	CLI_VERSION = 1 << 5,
	CLI_DEMO = 1 << 6,
	CLI_STATUS = 1 << 7,
	CLI_TOP = 1 << 8,
	CLI_DOCTOR = 1 << 9,
	CLI_HEALTHCHECK = 1 << 10,
};

/* A command line, taken apart. Its arrays point into argv and are freed by cli_args_free(). */
struct cli_args {
	enum cli_verb verb;
	const char **paths; /* owns the array */
	size_t path_count;
	const char **overrides; /* owns the array */
	size_t override_count;
	const char **words; /* owns the array; what is no flag */
	size_t word_count;
	const char *socket;
	const char *pid_path;
	const char *signal_name; /* -s of a running weir: stop, quit, reopen */
	const char *seconds;	 /* as written */
	const char *reference;	 /* man or markdown */
	bool json;		 /* --json, or --format=json */
	bool probe;
	bool once;
	bool ready;
	bool background;
	bool check;
	bool print;
	bool print_config;
	bool quiet;
	bool help;
	unsigned version; /* how often it was asked for: -v, -vv */
};

/* Takes apart what follows the verb: 0, or -EINVAL after saying why on stderr. */
int cli_args_parse(struct cli_args *a, int argc, char **argv);
void cli_args_free(struct cli_args *a);
/* Is the argument behind `arg` its value? So it is for each verb that knows the flag. */
bool cli_flag_takes_value(const char *arg);

/* The verbs. */
enum exit_code cli_run(const struct cli_args *a);
enum exit_code cli_forward(const struct cli_args *a);
enum exit_code cli_ctl(const struct cli_args *a);
enum exit_code cli_demo(const struct cli_args *a);
enum exit_code cli_doctor(const struct cli_args *a);
enum exit_code cli_healthcheck(const struct cli_args *a);
enum exit_code cli_status(const struct cli_args *a);
enum exit_code cli_top(const struct cli_args *a);
enum exit_code cli_help(const struct cli_args *a);
enum exit_code cli_reference(const struct cli_args *a);
enum exit_code cli_version(const struct cli_args *a);
/* The page of a verb (enum cli_verb) on stdout; false when it has none. */
bool cli_help_verb(unsigned verb);

/* The verb called `word`, 0 when there is none. */
unsigned cli_verb_named(const char *word);
/* Says so on stderr and is true when `word` is a verb that this version does not have. */
bool cli_verb_is_later(const char *word);
/* Shows every verb of this version to `near`. */
void cli_suggest_verbs(struct suggest *near);
/* main() without its process: argv as main() has it. */
enum exit_code cli_main(int argc, char **argv);

#endif
