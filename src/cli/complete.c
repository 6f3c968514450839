/* SPDX-License-Identifier: MIT
 *
 * complete.c - `weir complete -- WORD...`: what may come next on a command line, for shells.
 *
 * The last word is the one to complete; it may be empty or begun. The words before it are those after the
 * name of the program. Everything comes from the tables of verbs, flags, options and commands, so the scripts
 * for the shells (conf/completion) know nothing. Main thread.
 */
#include "complete.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/options.h"

#define SETTING_MAX 128

/* A command line up to the word that is completed. */
struct typed {
	const char *const *words; /* borrows */
	size_t count;
	unsigned verb;	 /* enum cli_verb; 0 = none yet */
	size_t verb_at;	 /* count if there is none */
	size_t first;	 /* of the words that are neither flags nor their values; count if there is none */
	bool flags_end;	 /* what comes next is not a flag */
	const char *flag; /* what comes next is the value of this flag; NULL if not */
};

static bool looks_like_flag(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

static size_t find_verb(const char *const *words, size_t count)
{
	size_t i = 0;

	while (i < count && looks_like_flag(words[i]) && strcmp(words[i], "--") != 0)
		i += cli_flag_takes_value(words[i]) ? 2 : 1;
	return i < count && cli_verb_named(words[i]) != 0 ? i : count;
}

static void read_typed(struct typed *t, const char *const *words, size_t count)
{
	*t = (struct typed){.words = words, .count = count, .first = count};
	t->verb_at = find_verb(words, count);
	t->verb = t->verb_at < count ? cli_verb_named(words[t->verb_at]) : 0;
	for (size_t i = 0; i < count; i++) {
		if (i == t->verb_at)
			continue;
		if (!t->flags_end && strcmp(words[i], "--") == 0) {
			t->flags_end = true;
		} else if (!t->flags_end && looks_like_flag(words[i])) {
			if (cli_flag_takes_value(words[i]) && ++i == count)
				t->flag = words[count - 1];
		} else if (t->first == count) {
			t->first = i;
			t->flags_end = t->flags_end || t->verb == CLI_CTL;
		}
	}
}

/* The verbs that the line may turn out to be for. */
static unsigned possible_verbs(const struct typed *t)
{
	return t->verb != 0 ? t->verb : t->first < t->count ? CLI_RUN : ~0u;
}

/* "global.threads=": the keys of sections without a name. */
static void add_settings(struct candidates *out, const char *before)
{
	static const unsigned sections[] = {IN_GLOBAL, IN_STATS, IN_DEFAULTS};

	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		for (size_t j = 0; j < option_count; j++) {
			const struct option *o = &options[j];
			char text[SETTING_MAX];

			if ((o->sections & sections[i]) == 0 || o->type == OPT_LATER ||
			    (o->flags & OPT_NAMED) != 0)
				continue;
			(void)snprintf(text, sizeof(text), "%s.%s=", section_word(sections[i]),
				       o->key); /* short: our own words */
			candidates_add(out, before, text, strlen(text), o->help);
		}
	}
}

/* Adds the values of a flag, which `before` is in front of. */
static void add_values(struct candidates *out, const struct cli_flag *flag, const char *before)
{
	if (flag->value == CLI_VALUE_FILE)
		out->files = true;
	else if (flag->value == CLI_VALUE_WORDS)
		candidates_add_each(out, before, flag->words, NULL);
	else if (flag->value == CLI_VALUE_SETTING)
		add_settings(out, before);
}

/* A name may be that of flags of several verbs. */
static void add_values_of(struct candidates *out, unsigned verbs, const char *name, const char *before)
{
	struct cli_flag flag;

	for (size_t i = 0; cli_flag_at(i, &flag); i++)
		if ((flag.verbs & verbs) != 0 && strcmp(flag.name, name) == 0)
			add_values(out, &flag, before);
}

/* Adds the flags, or after "--flag=" its values. */
static void add_flags(struct candidates *out, const struct typed *t, const char *begin)
{
	const char *equals = strchr(begin, '=');
	struct cli_flag flag;

	for (size_t i = 0; cli_flag_at(i, &flag); i++) {
		const size_t len = strlen(flag.name);
		char before[SETTING_MAX];

		if ((flag.verbs & (t->verb != 0 ? t->verb : CLI_RUN)) == 0)
			continue;
		if (equals == NULL) {
			candidates_add(out, "", flag.name, len, flag.help);
		} else if (flag.name[1] == '-' && begin + len == equals &&
			   strncmp(begin, flag.name, len) == 0) {
			(void)snprintf(before, sizeof(before), "%s=", flag.name); /* short: our own words */
			add_values(out, &flag, before);
		}
	}
}

static void add_verbs(struct candidates *out)
{
	const char *help, *word;

	for (size_t i = 0; (word = cli_verb_at(i, &help)) != NULL; i++)
		candidates_add(out, "", word, strlen(word), help);
}

/* What `weir help` explains. */
static void add_topics(struct candidates *out)
{
	static const unsigned sections[] = {IN_GLOBAL, IN_DEFAULTS, IN_LISTEN, IN_FRONTEND, IN_BACKEND};

	add_verbs(out);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		candidates_add(out, "", section_word(sections[i]), strlen(section_word(sections[i])),
			       "the keys of this section");
	for (size_t i = 0; i < option_count; i++)
		candidates_add(out, "", options[i].key, strlen(options[i].key), options[i].help);
}

/* Adds the words of a command after `ctl`, with the flags that say where it goes. False = out of memory. */
static bool add_command(struct candidates *out, const struct typed *t)
{
	struct cli_args a = {.verb = CLI_CTL};
	char **argv = calloc(t->count + 1, sizeof(*argv));
	int argc = 0, err;

	if (argv == NULL)
		return false;
	for (size_t i = 0; i < t->first; i++)
		if (i != t->verb_at)
			argv[argc++] = (char *)t->words[i]; /* only read */
	err = cli_args_parse(&a, argc, argv);
	if (err == 0)
		complete_command(&a, t->words + t->first, t->count - t->first, out);
	cli_args_free(&a);
	free(argv);
	return err != -ENOMEM;
}

/* False = out of memory. */
static bool add_words(struct candidates *out, const struct typed *t)
{
	const unsigned with_file = CLI_RUN | CLI_CHECK | CLI_PLAN;
	const bool is_first = t->first == t->count;

	if (t->verb == CLI_CTL)
		return add_command(out, t);
	if (is_first && t->verb == 0) {
		add_verbs(out);
		out->files = true;
	} else if (is_first && t->verb == CLI_HELP) {
		add_topics(out);
	} else if (t->verb == CLI_CONVERT || (is_first && (t->verb & with_file) != 0)) {
		out->files = true;
	}
	return true;
}

enum exit_code cli_complete(const struct cli_args *a)
{
	const size_t before = a->word_count > 0 ? a->word_count - 1 : 0;
	const char *begin = a->word_count > 0 ? a->words[before] : "";
	struct candidates found;
	bool fine = true;
	struct typed t;

	read_typed(&t, a->words, before);
	candidates_init(&found, begin);
	if (t.flag != NULL)
		add_values_of(&found, possible_verbs(&t), t.flag, "");
	else if (!t.flags_end && begin[0] == '-')
		add_flags(&found, &t, begin);
	else
		fine = add_words(&found, &t);
	fine = fine && candidates_print(&found, stdout);
	if (!fine)
		fputs("weir: out of memory\n", stderr);
	candidates_free(&found);
	return fine ? EXIT_FINE : EXIT_FATAL;
}
