/* SPDX-License-Identifier: MIT
 *
 * cli.c - which verb a command line means; words that are no verb get the nearest one.
 *
 * Refuses in words the verbs that this version does not have. Main thread.
 */
#include "weir/cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/config/suggest.h"

struct verb {
	const char *word;
	unsigned bit; /* enum cli_verb; 0 = not in this version */
	enum exit_code (*run)(const struct cli_args *a);
};

static const struct verb verbs[] = {
#define VERB(word, bit, run) {word, bit, run},
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

/* Could the word be a file that somebody wants to run? */
static bool looks_like_file(const char *word)
{
	return strpbrk(word, "/.") != NULL || access(word, F_OK) == 0;
}

/* What people type by habit where a verb stands; `instead` is NULL for a word of the admin socket. */
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

/* The words from `at` on, behind flags. A socket that was named is still meant. */
static void print_ctl(int argc, char **argv, int at)
{
	fputs("the admin socket knows it: weir ctl", stderr);
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

/* A first word that is no verb and no file. Behind flags only a word that somebody is used to: any other is
 * the file that they are for. */
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
	fprintf(stderr, "weir: '%s' is no command and no file", argv[at]);
	if (near.best != NULL)
		fprintf(stderr, "; did you mean '%s'?\n", near.best);
	else
		fputs("; see 'weir help'\n", stderr);
	return true;
}

/* A word that the verb has no use for must not be lost: it may be the file that was meant. */
static bool refuse_words(const struct verb *verb, const struct cli_args *a)
{
	const unsigned with_file = CLI_STATUS | CLI_TOP | CLI_HEALTHCHECK | CLI_DOCTOR;

	if (a->word_count == 0 || a->help || (verb->bit & (with_file | CLI_VERSION)) == 0)
		return false;
	fprintf(stderr, "weir: %s takes %s, not '%s'\n", verb->word,
		(verb->bit & with_file) != 0 ? "-f FILE" : "no words", a->words[0]);
	return true;
}

/* --json where it says nothing. */
static bool refuse_json(const struct cli_args *a)
{
	if (!a->json || (a->verb & (CLI_RUN | CLI_CHECK)) == 0 || a->help)
		return false;
	if (a->print)
		fputs("weir: -T prints a file, and --json the messages: one of the two\n", stderr);
	else if (a->verb == CLI_RUN && !a->check)
		fputs("weir: --json belongs to a check; lines of the log: 'log = auto format=json'\n",
		      stderr);
	else
		return false;
	return true;
}

/* Where the first word is that is no flag and no value of one; `argc` when there is none. */
static int first_word(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1] != '\0' && strcmp(argv[i], "--") != 0)
		i += cli_flag_takes_value(argv[i]) ? 2 : 1;
	return i < argc && strcmp(argv[i], "--") != 0 ? i : argc;
}

/* Takes the verb out of `argv`, wherever it stands: "weir -q check FILE" is "weir check -q FILE". A word
 * behind flags may also be the file that they are for. */
static const struct verb *take_verb(int *argc, char **argv)
{
	const int at = first_word(*argc, argv);
	const struct verb *verb = at < *argc ? find_verb(argv[at]) : NULL;

	if (verb == NULL || (at > 1 && access(argv[at], F_OK) == 0))
		return NULL;
	memmove(&argv[at], &argv[at + 1], (size_t)(*argc - at) * sizeof(*argv)); /* the last NULL too */
	--*argc;
	return verb;
}

enum exit_code cli_main(int argc, char **argv)
{
	const struct verb *verb = take_verb(&argc, argv);
	struct cli_args args = {.verb = CLI_RUN};
	enum exit_code code = EXIT_USAGE;
	const int skip = argc > 0 ? 1 : 0;

	if (verb == NULL && refuse_word(argc, argv, first_word(argc, argv)))
		return EXIT_USAGE;
	if (verb == NULL)
		verb = &run_verb;
	if (verb->bit == 0) {
		(void)cli_verb_is_later(verb->word); /* it is: that is why we are here */
		return EXIT_USAGE;
	}
	args.verb = (enum cli_verb)verb->bit;
	if (cli_args_parse(&args, argc - skip, argv + skip) == 0) {
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
