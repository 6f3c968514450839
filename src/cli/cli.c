/* SPDX-License-Identifier: MIT
 *
 * cli.c - finds the verb in a command line, and suggests the nearest one for an unknown word.
 *
 * Main thread.
 */
#include "weir/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/config/suggest.h"

struct verb {
	const char *word;
	unsigned bit; /* enum cli_verb */
	enum exit_code (*run)(const struct cli_args *a);
};

static const struct verb verbs[] = {
#define VERB(word, bit, run, help) {word, bit, run},
#include "verbs.tbl.h"
#undef VERB
};

static const struct verb run_verb = {"", CLI_RUN, cli_run};

static const struct verb *find_verb(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].word, word) == 0)
			return &verbs[i];
	}
	return NULL;
}

/* Could the word be a file that the user wants to run? */
static bool looks_like_file(const char *word)
{
	return strpbrk(word, "/.") != NULL || access(word, F_OK) == 0;
}

/* What people type out of habit in place of a verb. `instead` is NULL for commands of the admin socket. */
static const struct foreign_verb {
	const char *word;
	const char *instead;
} foreign_verbs[] = {
#define FOREIGN_VERB(word, instead) {word, instead},
#define ADMIN_WORD(word)	    {word, NULL},
#include "foreign_verbs.tbl.h"
#undef FOREIGN_VERB
#undef ADMIN_WORD
};

/* Prints the words from `at` on, without flags, but keeps a socket that was given. */
static void print_ctl(int argc, char **argv, int at)
{
	fputs("it is a command of the admin socket: weir ctl", stderr);
	for (int i = 1; i + 1 < at; i++)
		if (strcmp(argv[i], "-s") == 0)
			fprintf(stderr, " -s %s", argv[i + 1]);
	for (int i = at; i < argc; i++)
		fprintf(stderr, " %s", argv[i]);
	fputc('\n', stderr);
}

static bool refuse_foreign(int argc, char **argv, int at)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign_verbs); i++) {
		const struct foreign_verb *f = &foreign_verbs[i];

		if (strcmp(argv[at], f->word) != 0)
			continue;
		fprintf(stderr, "weir: there is no command '%s': ", f->word);
		if (f->instead != NULL)
			fprintf(stderr, "%s\n", f->instead);
		else
			print_ctl(argc, argv, at);
		return true;
	}
	return false;
}

/* Refuses a first word that is neither a verb nor a file. After flags, only well-known words are refused: any
 * other is the file that the flags are for. */
static bool refuse_word(int argc, char **argv, int at)
{
	struct suggest near;

	if (at == argc || looks_like_file(argv[at]))
		return false;
	if (refuse_foreign(argc, argv, at))
		return true;
	if (at > 1)
		return false;
	suggest_init(&near, argv[at]);
	cli_suggest_verbs(&near);
	fprintf(stderr, "weir: '%s' is neither a command nor a file", argv[at]);
	if (near.best != NULL)
		fprintf(stderr, "; did you mean '%s'?\n", near.best);
	else
		fputs("; see 'weir help'\n", stderr);
	return true;
}

/* Refuses words that the verb does not use, because one may be the file that the user meant. */
static bool refuse_words(const struct verb *verb, const struct cli_args *a)
{
	const unsigned with_file =
		CLI_STATUS | CLI_TOP | CLI_HEALTHCHECK | CLI_DOCTOR | CLI_RELOAD | CLI_CONFIRM;

	if (a->word_count == 0 || a->help || (verb->bit & (with_file | CLI_VERSION)) == 0)
		return false;
	fprintf(stderr, "weir: %s takes %s, not '%s'\n", verb->word,
		(verb->bit & with_file) != 0 ? "-f FILE" : "no arguments", a->words[0]);
	return true;
}

/* Refuses --json where it has no meaning. */
static bool refuse_json(const struct cli_args *a)
{
	if (!a->json || (a->verb & (CLI_RUN | CLI_CHECK)) == 0 || a->help)
		return false;
	if (a->print)
		fputs("weir: -T prints a file, --json prints the messages: use only one of them\n", stderr);
	else if (a->verb == CLI_RUN && !a->check)
		fputs("weir: --json needs a check; for JSON in the log write 'log = auto format=json'\n",
		      stderr);
	else
		return false;
	return true;
}

/* The index of the first word that is neither a flag nor the value of one; `argc` if there is none. */
static int first_word(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0' && strcmp(argv[i], "--") != 0)
		i += cli_flag_takes_value(argv[i]) ? 2 : 1;
	return i < argc && strcmp(argv[i], "--") != 0 ? i : argc;
}

/* Removes the verb from `argv`, wherever it is: "weir -q check FILE" is "weir check -q FILE". A word after
 * flags may also be the file that they are for. */
static const struct verb *take_verb(int *argc, char **argv)
{
	const int at = first_word(*argc, argv);
	const struct verb *verb = at < *argc ? find_verb(argv[at]) : NULL;

	if (verb == NULL || (at > 1 && access(argv[at], F_OK) == 0))
		return NULL;
	memmove(&argv[at], &argv[at + 1], (size_t)(*argc - at) * sizeof(*argv)); /* with the final NULL */
	--*argc;
	return verb;
}

enum exit_code cli_main(int argc, char **argv)
{
	const struct verb *verb = take_verb(&argc, argv);
	struct cli_args args = {.verb = CLI_RUN};
	enum exit_code code = EXIT_USAGE;
	const int skip = argc > 0 ? 1 : 0;
	int err;

	if (verb == NULL && refuse_word(argc, argv, first_word(argc, argv)))
		return EXIT_USAGE;
	if (verb == NULL)
		verb = &run_verb;
	args.verb = (enum cli_verb)verb->bit;
	err = cli_args_parse(&args, argc - skip, argv + skip);
	if (err == -ENOMEM) {
		code = EXIT_FATAL;
	} else if (err == 0) {
		if (refuse_words(verb, &args) || refuse_json(&args))
			code = EXIT_USAGE;
		else if (args.help)
			code = cli_help(&args);
		else if (args.version > 0)
			code = cli_version(&args);
		else
			code = verb->run(&args);
	}
	cli_args_free(&args);
	/* A full disk or a closed pipe must not look like success. */
	if (fflush(stdout) != 0 && code == EXIT_FINE) {
		perror("weir: stdout");
		code = EXIT_ENVIRONMENT;
	}
	return code;
}
