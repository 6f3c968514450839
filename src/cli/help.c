/* SPDX-License-Identifier: MIT
 *
 * help.c - `weir help`: the command line; `weir help KEY`: rows of the options table.
 *
 * Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "weir/config/options.h"
#include "weir/config/suggest.h"
#include "option_text.h"

static const char usage[] =
	"weir forwards TCP and Unix-socket connections. Bytes only: no HTTP, no TLS, no UDP.\n"
	"\n"
	"  weir [-f FILE|DIR]... [FILE]     run in the foreground (" CLI_DEFAULT_FILE ")\n"
	"  weir -c | -t [FILE]              validate the configuration; -T prints the effective one\n"
	"  weir check [--probe] [FILE]      the same; --probe also binds, resolves and connects\n"
	"  weir forward LISTEN SERVER...    no file: weir forward :8080 10.0.0.1:80 unix:/run/app.sock\n"
	"                                   (--print-config prints the equivalent file)\n"
	"  weir demo [--seconds N]          see weir at work: servers, clients and a failure on loopback\n"
	"  weir ctl [-s SOCKET] CMD...      send a command to a running weir\n"
	"  weir status | top [--once]       show one page about a running weir; refresh it each second\n"
	"  weir healthcheck [--ready]       test whether it answers: for containers, keepalived, cron\n"
	"  weir doctor [-f FILE]            compare this machine with what the file asks for, and print\n"
	"                                   the fixes; exits with 0 (hints at most) or 3 (warnings)\n"
	"  weir reload [--wait]             make a running weir use its changed configuration\n"
	"  weir plan [FILE]                 print what a reload would change\n"
	"  weir reload --confirm TIME       the same, on trial; weir confirm keeps it\n"
	"  weir rollback [GENERATION]       go back to the configuration before, or an earlier one\n"
	"  weir -s stop|quit|reopen|reload  end a running weir at once, or when its connections have\n"
	"                                   ended; reopen its log files; the same as weir reload\n"
	"  weir help [KEY | SECTION | VERB] print this, or explain a key, a section or a verb\n"
	"  weir version | -v | -V | -vv     print the version; -vv also how it was built\n"
	"\n"
	"flags: -o SECTION.KEY=VALUE override (global.threads=2, 'listen web.maxconn=10')   -q quiet\n"
	"       -D run in the background, return when ready   -p PIDFILE   --json for every listing\n"
	"exit:  0 success   1 configuration invalid, or ctl refused   2 wrong command line\n"
	"       3 refused by the environment   4 fatal error while running\n"
	"\n"
	"The smallest useful file:\n"
	"\n"
	"  [listen web]\n"
	"  bind     = :8080\n"
	"  server a = 10.0.0.11:80\n";

/* Is this the row that represents its key? A key may have one row per place. The first row that this version
 * supports represents it, or else the first row. */
static bool is_listed_row(size_t i)
{
	for (size_t j = 0; j < option_count; j++) {
		bool later = options[j].type == OPT_LATER;

		if (j == i || strcmp(options[j].key, options[i].key) != 0)
			continue;
		if (later == (options[i].type == OPT_LATER) ? j < i : !later)
			return false;
	}
	return true;
}

static void print_keys(const char *title, bool later)
{
	size_t col = 0;

	printf("\n%s\n", title);
	for (size_t i = 0; i < option_count; i++) {
		size_t len = strlen(options[i].key);

		if ((options[i].type == OPT_LATER) != later || !is_listed_row(i))
			continue;
		if (col + len + 2 > 90)
			col = 0;
		printf("%s%s", col == 0 ? "\n  " : "  ", options[i].key);
		col += len + 2;
	}
	putchar('\n');
}

static void print_value(const struct option *o)
{
	char buf[OPTION_TEXT_MAX];

	if (option_text_value(o, buf)[0] != '\0')
		printf("  value    %s\n", option_text_value(o, buf));
	if ((o->type == OPT_CHOICE || o->type == OPT_BALANCE) && option_choices(o, true, buf)[0] != '\0')
		printf("           not in this version: %s\n", buf);
}

static void print_row(const struct option *o)
{
	char places[OPTION_PLACES_MAX], range[OPTION_TEXT_MAX];

	printf("%s%s\n  %s\n", o->key, (o->flags & OPT_NAMED) != 0 ? " NAME" : "", o->help);
	if (o->type == OPT_LATER)
		printf("  not in this version\n");
	printf("  in       %s\n", option_places(o->sections, places));
	print_value(o);
	if (o->def != NULL)
		printf("  default  %s\n", o->def);
	if (option_text_range(o, range)[0] != '\0')
		printf("  range    %s\n", range);
	if ((o->flags & OPT_REPEAT) != 0)
		printf("  may be repeated; each adds to the list\n");
	printf("  example  %s\n", o->example);
}

static bool is_key(const char *word)
{
	for (size_t i = 0; i < option_count; i++)
		if (strcmp(options[i].key, word) == 0)
			return true;
	return false;
}

/* "listen" or "[listen]": the keys of that section. */
static bool help_section(const char *word)
{
	static const unsigned kinds[] = {IN_GLOBAL, IN_DEFAULTS, IN_LISTEN, IN_FRONTEND, IN_BACKEND};
	char name[32], places[OPTION_PLACES_MAX];
	size_t len = strlen(word);

	if (len > 2 && word[0] == '[' && word[len - 1] == ']') {
		word++;
		len -= 2;
	}
	if (len >= sizeof(name) - 2)
		return false;
	(void)snprintf(name, sizeof(name), "[%.*s]", (int)len, word); /* measured above */
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(option_places(kinds[i], places), name) != 0)
			continue;
		printf("Keys of %s ('weir help KEY'):\n\n", name);
		for (size_t j = 0; j < option_count; j++)
			if ((options[j].sections & kinds[i]) != 0 && options[j].type != OPT_LATER)
				printf("  %-20s %s\n", options[j].key, options[j].help);
		return true;
	}
	return false;
}

static bool has_choice(const struct option *o, const char *word)
{
	char choices[OPTION_TEXT_MAX];
	const char *item;

	if (o->type != OPT_CHOICE && o->type != OPT_BALANCE)
		return false;
	item = option_choices(o, false, choices);
	while (*item != '\0') {
		const size_t len = strcspn(item, ",");

		if (strlen(word) == len && memcmp(item, word, len) == 0)
			return true;
		item += len + strspn(item + len, ", ");
	}
	return false;
}

/* The only key that accepts this word as a value, as `driver` accepts "io_uring"; NULL if no key does, or
 * several do. */
static const char *key_of_value(const char *word)
{
	const char *key = NULL;

	for (size_t i = 0; i < option_count; i++) {
		if (!has_choice(&options[i], word))
			continue;
		if (key != NULL && strcmp(key, options[i].key) != 0)
			return NULL;
		key = options[i].key;
	}
	return key;
}

/* A key may be given as two words ("timeout connect"), as in a file. */
static enum exit_code help_key(const char *key)
{
	unsigned everywhere = ~0u;
	const struct option *near;
	struct suggest word;
	const char *hint;
	bool found = false;

	for (size_t i = 0; i < option_count; i++) {
		size_t len = suggest_starts_with(key, options[i].key);

		if (len == 0 || key[len] != '\0')
			continue;
		if (found)
			putchar('\n');
		print_row(&options[i]);
		found = true;
	}
	if (found)
		return EXIT_FINE;
	if (help_section(key))
		return EXIT_FINE;
	if (key_of_value(key) != NULL)
		return help_key(key_of_value(key));
	near = option_suggest(everywhere, key);
	suggest_init(&word, key);
	if (near != NULL)
		suggest_offer(&word, near->key, NULL);
	cli_suggest_verbs(&word);
	hint = suggest_translate(key);
	fprintf(stderr, "weir: there is no key and no command '%s'", key);
	if (hint != NULL)
		fprintf(stderr, ": %s\n", hint);
	else if (word.best != NULL)
		fprintf(stderr, "; did you mean '%s'?\n", word.best);
	else
		fputs("; 'weir help' lists them\n", stderr);
	return EXIT_USAGE;
}

enum exit_code cli_help(const struct cli_args *a)
{
	char key[128] = "";
	size_t used = 0;

	if (a->reference != NULL)
		return cli_reference(a);

	for (size_t i = 0; a->verb == CLI_HELP && i < a->word_count; i++) {
		int n = snprintf(key + used, sizeof(key) - used, "%s%s", i > 0 ? " " : "", a->words[i]);

		if (n < 0 || (size_t)n >= sizeof(key) - used)
			break;
		used += (size_t)n;
	}
	if (key[0] != '\0' && cli_help_verb(cli_verb_named(key))) {
		/* A word may be both a verb and a key: `check` is. */
		if (is_key(key)) {
			putchar('\n');
			return help_key(key);
		}
		return EXIT_FINE;
	}
	if (key[0] != '\0')
		return help_key(key);
	if (a->verb != CLI_HELP && cli_help_verb(a->verb))
		return EXIT_FINE;
	fputs(usage, stdout);
	print_keys("Keys ('weir help KEY'):", false);
	print_keys("Known, and not in this version:", true);
	return EXIT_FINE;
}
