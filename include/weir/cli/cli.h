/* SPDX-License-Identifier: MIT
 *
 * cli.h - the command line: its verbs and flags, and what they share.
 *
 * The only room that ends the process, by returning from main(). Data goes to stdout, diagnostics to stderr.
 * Main thread.
 */
#ifndef WEIR_CLI_CLI_H
#define WEIR_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/config.h"
#include "weir/config/suggest.h"
#include "weir/control/daemon.h"

#define CLI_DEFAULT_FILE "/etc/weir/weir.ini"

/* The verbs, one bit each, for the mask of verbs that accept a flag. */
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
	CLI_RELOAD = 1 << 11,
	CLI_CONFIRM = 1 << 12,
	CLI_ROLLBACK = 1 << 13,
	CLI_PLAN = 1 << 14,
	CLI_COMPLETE = 1 << 15,
	CLI_CONVERT = 1 << 16,
};

/* The verbs that are about a reload: they find the running weir by its process, too. */
#define CLI_RELOADING (CLI_RELOAD | CLI_PLAN | CLI_CONFIRM | CLI_ROLLBACK)

/* A parsed command line. Its arrays point into argv; cli_args_free() frees them. */
struct cli_args {
	enum cli_verb verb;
	const char **paths; /* owns the array */
	size_t path_count;
	const char **overrides; /* owns the array */
	size_t override_count;
	const char **words; /* owns the array; arguments that are not flags */
	size_t word_count;
	const char *socket;
	const char *pid_path;
	const char *pid;	 /* as written */
	const char *signal_name; /* -s to a running weir: stop, quit, reopen, reload */
	const char *seconds;	 /* as written */
	const char *confirm;	 /* the same */
	const char *reference;	 /* man, markdown, figures or migrating */
	const char *from;	 /* --from: haproxy, nginx */
	const char *prefix;	 /* --prefix */
	const char *folder;	 /* convert -o */
	const char *report;	 /* --report */
	bool strict;		 /* --strict */
	bool json;		 /* --json, or --format=json */
	bool probe;
	bool once;
	bool ready;
	bool wait;
	bool hold;
	bool file; /* --file */
	bool background;
	bool check;
	bool print;
	bool print_config;
	bool quiet;
	bool help;
	unsigned version; /* how often it was given: -v, -vv */
};

/* Parses the arguments after the verb: 0, or -EINVAL after an error message on stderr. */
int cli_args_parse(struct cli_args *a, int argc, char **argv);
void cli_args_free(struct cli_args *a);
/* Is the argument after `arg` its value? Every verb that accepts the flag treats it the same way. */
bool cli_flag_takes_value(const char *arg);

/* What may be the value of a flag. */
enum cli_value {
	CLI_VALUE_NONE, /* it has no value */
	CLI_VALUE_FILE,
	CLI_VALUE_WORDS,   /* one of a few words */
	CLI_VALUE_SETTING, /* SECTION.KEY=VALUE */
	CLI_VALUE_OTHER,   /* a number, a time */
};

/* A flag as the completion of a shell offers it. All texts are static. */
struct cli_flag {
	const char *name;
	unsigned verbs; /* that have it: enum cli_verb */
	enum cli_value value;
	const char *words; /* for CLI_VALUE_WORDS: "a|b" */
	const char *help;
};

/* Describes flag number `i`; false after the last. Flags of different verbs may share a name. */
bool cli_flag_at(size_t i, struct cli_flag *flag);

/* The verbs. */
enum exit_code cli_run(const struct cli_args *a);
enum exit_code cli_forward(const struct cli_args *a);
enum exit_code cli_ctl(const struct cli_args *a);
enum exit_code cli_demo(const struct cli_args *a);
enum exit_code cli_doctor(const struct cli_args *a);
enum exit_code cli_healthcheck(const struct cli_args *a);
enum exit_code cli_plan(const struct cli_args *a);
enum exit_code cli_reload(const struct cli_args *a);
enum exit_code cli_confirm(const struct cli_args *a);
enum exit_code cli_rollback(const struct cli_args *a);
enum exit_code cli_status(const struct cli_args *a);
enum exit_code cli_top(const struct cli_args *a);
enum exit_code cli_help(const struct cli_args *a);
enum exit_code cli_reference(const struct cli_args *a);
enum exit_code cli_figures(void);
enum exit_code cli_foreign_tables(void);
enum exit_code cli_version(const struct cli_args *a);
enum exit_code cli_complete(const struct cli_args *a);
enum exit_code cli_convert(const struct cli_args *a);
/* Prints the help page of a verb (enum cli_verb) on stdout; false if it has none. */
bool cli_help_verb(unsigned verb);

/* The verb called `word`, 0 if there is none. */
unsigned cli_verb_named(const char *word);
/* The word of verb number `i` and what it does; NULL after the last. */
const char *cli_verb_at(size_t i, const char **help);
/* Offers every verb to `near`. */
void cli_suggest_verbs(struct suggest *near);
/* main() without its process; takes argv as main() does. */
enum exit_code cli_main(int argc, char **argv);

#endif
