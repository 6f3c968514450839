/* SPDX-License-Identifier: MIT
 *
 * args.c - the flags of the command line, one row each, and the remaining words.
 *
 * Refuses flags that a verb does not have, and suggests the nearest one it has. Refuses flags that are not in
 * this version. Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "weir/config/suggest.h"

#define ANY_VERB (~0u)
/* The verbs that talk to a running weir. */
#define CLI_ASKING (CLI_CTL | CLI_STATUS | CLI_TOP | CLI_HEALTHCHECK | CLI_RELOADING)

/* The action of a flag. */
enum flag_action {
	FLAG_PATH, /* these take a value */
	FLAG_OVERRIDE,
	FLAG_SOCKET,
	FLAG_FORMAT,
	FLAG_PIDFILE,
	FLAG_PID,
	FLAG_SIGNAL,
	FLAG_REFERENCE,
	FLAG_SECONDS,
	FLAG_CONFIRM,
	FLAG_FROM,
	FLAG_PREFIX,
	FLAG_FOLDER,
	FLAG_REPORT, /* the last that takes a value */
	FLAG_STRICT,
	FLAG_CHECK,
	FLAG_PRINT,
	FLAG_PRINT_CONFIG,
	FLAG_QUIET,
	FLAG_HELP,
	FLAG_VERSION,
	FLAG_BUILD,
	FLAG_PROBE,
	FLAG_ONCE,
	FLAG_READY,
	FLAG_WAIT,
	FLAG_HOLD,
	FLAG_FILE,
	FLAG_JSON,
	FLAG_BACKGROUND,
};

static const struct flag {
	const char *name;
	unsigned verbs;
	enum flag_action action;
	const char *help;
} flags[] = {
	{"-f", CLI_RUN | CLI_CHECK | CLI_ASKING | CLI_DOCTOR, FLAG_PATH, "a file or a directory to read"},
	{"-o", CLI_RUN | CLI_CHECK | CLI_ASKING | CLI_DOCTOR | CLI_FORWARD, FLAG_OVERRIDE,
	 "override a key: SECTION.KEY=VALUE"},
	{"-o", CLI_CONVERT, FLAG_FOLDER, "a folder for the result and the files that it names"},
	{"--from", CLI_CONVERT, FLAG_FROM, "whose configuration it is"},
	{"--prefix", CLI_CONVERT, FLAG_PREFIX, "the folder that nginx's relative names are below"},
	{"--report", CLI_CONVERT, FLAG_REPORT, "a file for the report"},
	{"--strict", CLI_CONVERT, FLAG_STRICT, "write nothing if something is different or lost"},
	{"-s", CLI_ASKING, FLAG_SOCKET, "the admin socket of the running weir"},
	{"-s", CLI_RUN, FLAG_SIGNAL, "send a signal to a running weir"},
	{"--format", CLI_CHECK, FLAG_FORMAT, "how messages are printed"},
	{"-c", CLI_RUN | CLI_CHECK | CLI_FORWARD, FLAG_CHECK,
	 "validate the configuration, and do nothing else"},
	{"-t", CLI_RUN | CLI_CHECK | CLI_FORWARD, FLAG_CHECK,
	 "validate the configuration, and do nothing else"},
	{"-T", CLI_RUN | CLI_CHECK | CLI_FORWARD, FLAG_PRINT, "print the effective configuration"},
	{"--print-config", CLI_FORWARD | CLI_DEMO, FLAG_PRINT_CONFIG,
	 "print the equivalent configuration file"},
	{"-q", ANY_VERB, FLAG_QUIET, "print nothing unless something is wrong"},
	{"-h", ANY_VERB, FLAG_HELP, "print a help page"},
	{"--help", ANY_VERB, FLAG_HELP, "print a help page"},
	{"-v", CLI_RUN | CLI_VERSION, FLAG_VERSION, "print the version"},
	{"-V", CLI_RUN | CLI_VERSION, FLAG_VERSION, "print the version"},
	{"--version", CLI_RUN | CLI_VERSION, FLAG_VERSION, "print the version"},
	{"-vv", CLI_RUN | CLI_VERSION, FLAG_BUILD, "print the version and how it was built"},
	{"-D", CLI_RUN | CLI_FORWARD, FLAG_BACKGROUND, "run in the background"},
	{"-p", CLI_RUN | CLI_FORWARD | CLI_RELOADING, FLAG_PIDFILE, "the pid file"},
	{"--pid", CLI_RELOADING, FLAG_PID, "the process of the running weir"},
	{"--wait", CLI_RELOAD, FLAG_WAIT, "wait until what was removed is no longer in use"},
	{"--confirm", CLI_RELOAD, FLAG_CONFIRM, "on trial for this long, such as 60s"},
	{"--hold", CLI_RELOAD, FLAG_HOLD, "stay until the trial ends"},
	{"--file", CLI_CONFIRM, FLAG_FILE, "reload, and accept a text that was not kept"},
	{"--probe", CLI_RUN | CLI_CHECK, FLAG_PROBE, "also try to bind, resolve and connect"},
	{"--json", CLI_RUN | CLI_CHECK | CLI_CTL | CLI_DEMO | CLI_STATUS | CLI_TOP | CLI_DOCTOR |
		   CLI_PLAN | CLI_CONVERT,
	 FLAG_JSON, "print JSON"},
	{"--seconds", CLI_DEMO, FLAG_SECONDS, "how long the demo takes"},
	{"--reference", CLI_HELP, FLAG_REFERENCE, "print a part of the documents"},
	{"--once", CLI_TOP, FLAG_ONCE, "measure for a second and print one page"},
	{"--ready", CLI_HEALTHCHECK, FLAG_READY, "require that it is ready"},
};

static bool takes_value(enum flag_action action)
{
	return action <= FLAG_REPORT;
}

/* What completes the values of flags. */
static const struct {
	enum cli_value value;
	const char *words;
} values[FLAG_REPORT + 1] = {
	[FLAG_PATH] = {CLI_VALUE_FILE, NULL},	   [FLAG_OVERRIDE] = {CLI_VALUE_SETTING, NULL},
	[FLAG_SOCKET] = {CLI_VALUE_FILE, NULL},	   [FLAG_FORMAT] = {CLI_VALUE_WORDS, "text|json"},
	[FLAG_PIDFILE] = {CLI_VALUE_FILE, NULL},   [FLAG_PID] = {CLI_VALUE_OTHER, NULL},
	[FLAG_SECONDS] = {CLI_VALUE_OTHER, NULL},  [FLAG_CONFIRM] = {CLI_VALUE_OTHER, NULL},
	[FLAG_SIGNAL] = {CLI_VALUE_WORDS, "stop|quit|reopen|reload"},
	[FLAG_REFERENCE] = {CLI_VALUE_WORDS, "man|markdown|figures"},
	[FLAG_FROM] = {CLI_VALUE_WORDS, "haproxy|nginx"},
	[FLAG_PREFIX] = {CLI_VALUE_FILE, NULL},
	[FLAG_FOLDER] = {CLI_VALUE_FILE, NULL},
	[FLAG_REPORT] = {CLI_VALUE_FILE, NULL},
};

bool cli_flag_at(size_t i, struct cli_flag *flag)
{
	if (i >= ARRAY_LEN(flags))
		return false;
	*flag = (struct cli_flag){.name = flags[i].name, .verbs = flags[i].verbs, .help = flags[i].help};
	if (takes_value(flags[i].action)) {
		flag->value = values[flags[i].action].value;
		flag->words = values[flags[i].action].words;
	}
	return true;
}

bool cli_flag_takes_value(const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (strcmp(arg, flags[i].name) == 0)
			return takes_value(flags[i].action);
	return false;
}

/* Is `arg` this flag, alone or as "--flag=value"? */
static bool is_flag(const char *arg, const struct flag *flag)
{
	size_t len = strlen(flag->name);

	if (strcmp(arg, flag->name) == 0)
		return true;
	return flag->name[1] == '-' && takes_value(flag->action) && strncmp(arg, flag->name, len) == 0 &&
	       arg[len] == '=';
}

/* Flags that people know from HAProxy and nginx get a specific answer. */
static const struct foreign_flag {
	const char *flag;
	bool whole; /* no letters may follow */
	const char *instead;
} foreign_flags[] = {
#define FOREIGN_FLAG(flag, whole, instead) {flag, whole, instead},
#include "foreign_flags.tbl.h"
#undef FOREIGN_FLAG
};

static const struct foreign_flag *find_foreign(const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign_flags); i++) {
		const struct foreign_flag *f = &foreign_flags[i];
		size_t len = strlen(f->flag);

		if (strncmp(arg, f->flag, len) == 0 && (!f->whole || arg[len] == '\0'))
			return f;
	}
	return NULL;
}

static int refuse_flag(const struct cli_args *a, const char *arg)
{
	const struct foreign_flag *foreign = find_foreign(arg);
	char name[64];
	struct suggest near;

	if ((a->verb & (CLI_RUN | CLI_CHECK)) != 0 && foreign != NULL) {
		fprintf(stderr, "weir: there is no '%s' here: %s\n", arg, foreign->instead);
		return -EINVAL;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg); /* cut: nothing is near it */
	suggest_init(&near, name);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		bool usable = (flags[i].verbs & a->verb) != 0;

		/* All short flags are similar to each other, so suggest only long ones for long ones. */
		if (usable && (flags[i].name[1] == '-') == (arg[1] == '-'))
			suggest_offer(&near, flags[i].name, NULL);
	}
	fprintf(stderr, "weir: there is no flag '%s'", arg);
	if (near.best != NULL)
		fprintf(stderr, "; did you mean '%s'?\n", near.best);
	else
		fputs("; see 'weir help'\n", stderr);
	return -EINVAL;
}

static const struct flag *find_flag(const struct cli_args *a, const char *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if ((flags[i].verbs & a->verb) != 0 && is_flag(arg, &flags[i]))
			return &flags[i];
	}
	return NULL;
}

static int take_value(struct cli_args *a, const struct flag *flag, const char *value)
{
	switch (flag->action) {
	case FLAG_PATH:
		a->paths[a->path_count++] = value;
		return 0;
	case FLAG_OVERRIDE:
		a->overrides[a->override_count++] = value;
		return 0;
	case FLAG_SOCKET:
		a->socket = value;
		return 0;
	case FLAG_PIDFILE:
		a->pid_path = value;
		return 0;
	case FLAG_PID:
		a->pid = value;
		return 0;
	case FLAG_SIGNAL:
		a->signal_name = value;
		return 0;
	case FLAG_REFERENCE:
		a->reference = value;
		return 0;
	case FLAG_SECONDS:
		a->seconds = value;
		return 0;
	case FLAG_CONFIRM:
		a->confirm = value;
		return 0;
	case FLAG_FROM:
		a->from = value;
		return 0;
	case FLAG_PREFIX:
		a->prefix = value;
		return 0;
	case FLAG_FOLDER:
		a->folder = value;
		return 0;
	case FLAG_REPORT:
		a->report = value;
		return 0;
	default:
		check(flag->action == FLAG_FORMAT);
		a->json = strcmp(value, "json") == 0;
		if (a->json || strcmp(value, "text") == 0)
			return 0;
		fprintf(stderr, "weir: %s must be text or json, not '%s'\n", flag->name, value);
		return -EINVAL;
	}
}

static int take_switch(struct cli_args *a, const struct flag *flag)
{
	switch (flag->action) {
	case FLAG_CHECK:
		a->check = true;
		return 0;
	case FLAG_PRINT:
		a->print = true;
		return 0;
	case FLAG_PRINT_CONFIG:
		a->print_config = true;
		return 0;
	case FLAG_QUIET:
		a->quiet = true;
		return 0;
	case FLAG_HELP:
		a->help = true;
		return 0;
	case FLAG_VERSION:
		a->version += 1;
		return 0;
	case FLAG_BUILD:
		a->version += 2;
		return 0;
	case FLAG_PROBE:
		a->probe = true;
		return 0;
	case FLAG_ONCE:
		a->once = true;
		return 0;
	case FLAG_READY:
		a->ready = true;
		return 0;
	case FLAG_WAIT:
		a->wait = true;
		return 0;
	case FLAG_HOLD:
		a->hold = true;
		return 0;
	case FLAG_FILE:
		a->file = true;
		return 0;
	case FLAG_JSON:
		a->json = true;
		return 0;
	case FLAG_STRICT:
		a->strict = true;
		return 0;
	default:
		check(flag->action == FLAG_BACKGROUND);
		a->background = true;
		return 0;
	}
}

/* Parses the flag at argv[0]. Returns how many arguments it took, or -EINVAL. */
static int take_flag(struct cli_args *a, int argc, char **argv)
{
	const struct flag *flag = find_flag(a, argv[0]);
	const char *equals = strchr(argv[0], '=');
	int err;

	if (flag == NULL)
		return refuse_flag(a, argv[0]);
	if (!takes_value(flag->action)) {
		err = take_switch(a, flag);
		return err ? err : 1;
	}
	if (equals != NULL && flag->name[1] == '-') {
		err = take_value(a, flag, equals + 1);
		return err ? err : 1;
	}
	if (argc < 2) {
		fprintf(stderr, "weir: '%s' needs a value\n", flag->name);
		return -EINVAL;
	}
	err = take_value(a, flag, argv[1]);
	return err ? err : 2;
}

int cli_args_parse(struct cli_args *a, int argc, char **argv)
{
	bool flags_end = false;

	a->paths = calloc((size_t)argc + 1, sizeof(*a->paths));
	a->overrides = calloc((size_t)argc + 1, sizeof(*a->overrides));
	a->words = calloc((size_t)argc + 1, sizeof(*a->words));
	if (a->paths == NULL || a->overrides == NULL || a->words == NULL) {
		fputs("weir: out of memory\n", stderr);
		return -ENOMEM;
	}
	for (int i = 0; i < argc;) {
		/* The words of a `ctl` command may look like flags. */
		if (a->verb == CLI_CTL && a->word_count > 0)
			flags_end = true;
		if (!flags_end && strcmp(argv[i], "--") == 0) {
			flags_end = true;
			i++;
		} else if (!flags_end && argv[i][0] == '-' && argv[i][1] != '\0') {
			int used = take_flag(a, argc - i, argv + i);

			if (used < 0)
				return used;
			i += used;
		} else {
			a->words[a->word_count++] = argv[i++];
		}
	}
	return 0;
}

void cli_args_free(struct cli_args *a)
{
	free(a->paths);
	free(a->overrides);
	free(a->words);
	a->paths = NULL;
	a->overrides = NULL;
	a->words = NULL;
}
