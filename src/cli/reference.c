/* SPDX-License-Identifier: MIT
 *
 * reference.c - `weir help --reference=man|markdown`: every row of the options table as a page.
 *
 * doc/update.sh inserts the pages between the marks in weir.ini(5) and doc/reference.md, and a test fails if
 * they differ, so the parser and the documentation cannot drift apart. Main thread.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "option_text.h"

#define FRONT_SIDE (IN_FRONTEND)
#define BACK_SIDE  (IN_BACKEND)

/* Markdown is wrapped at 100 columns, two of which are the blanks of a line break. */
#define MARKDOWN_COLUMNS 98

/* A chapter: the rows that are allowed in all of `with` and in none of `without`. */
static const struct group {
	const char *title;
	unsigned with;
	unsigned without;
} groups[] = {
	{"[global]", IN_GLOBAL, 0},
	{"[stats]", IN_STATS, 0},
	{"[listen NAME] and [frontend NAME]", FRONT_SIDE, BACK_SIDE},
	{"[listen NAME] and [backend NAME]", BACK_SIDE, FRONT_SIDE},
	{"[listen NAME], [frontend NAME] and [backend NAME]", FRONT_SIDE | BACK_SIDE, 0},
	{"Words of a bind line", IN_BIND, 0},
	{"Words of a server line", IN_SERVER, 0},
	{"The word of a servers line", IN_SET, 0},
	{"Words of a balance line", IN_BALANCE, 0},
	{"Words of a check line", IN_CHECK, 0},
	{"Words of a use-backend line", IN_ROUTE, 0},
	{"The word of a rate-limit-per-source line", IN_SOURCE_RATE, 0},
	{"Words of a sniff line", IN_SNIFF, 0},
	{"Words of an observe line", IN_OBSERVE, 0},
	{"Words of a sticky line", IN_STICKY, 0},
	{"Words of a log line", IN_LOG, 0},
	{"Words of a log line to syslog", IN_SYSLOG, 0},
	{"Words of an admin-socket line", IN_ADMIN, 0},
	{"Words of a bind line in [stats]", IN_STATS_BIND, 0},
	{"Words of a line for keepalive", IN_KEEPALIVE, 0},
};

/* The markup of a page; all text passes through `put`. */
struct style {
	void (*put)(const char *text);
	const char *title[2];
	const char *key[2];
	const char *fact[2]; /* around a value that is a literal */
	const char *line;    /* between two facts */
	const char *end;     /* of a key */
};

/* roff: a backslash is an escape, a '-' would become a hyphen, and a leading '.' or quote is a request. */
static void put_man(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

/* Plain text: escapes only the characters that would begin markup. */
static void put_markdown(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '<' || *text == '*' || *text == '_')
			putchar('\\');
		putchar(*text);
	}
}

/* Number of columns that put_markdown() uses. */
static size_t markdown_width(const char *text)
{
	size_t width = strlen(text);

	for (text = strpbrk(text, "<*_"); text != NULL; text = strpbrk(text + 1, "<*_"))
		width++;
	return width;
}

/* Puts each word of `text` on the line, or on the next one if it does not fit after `column`. */
static void put_markdown_words(const char *text, size_t *column)
{
	while (*text != '\0') {
		char word[OPTION_TEXT_MAX];

		text += strspn(text, " ");
		(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, " "), text); /* one word */
		text += strlen(word);
		if (*column > 0) {
			const bool fits = *column + 1 + markdown_width(word) <= MARKDOWN_COLUMNS;

			putchar(fits ? ' ' : '\n');
			*column = fits ? *column + 1 : 0;
		}
		put_markdown(word);
		*column += markdown_width(word);
	}
}

static void put_plain(const char *text)
{
	fputs(text, stdout);
}

static const struct style man = {
	.put = put_man,
	.title = {".SS \"", "\"\n"},
	.key = {".TP\n\\fB", "\n"},
	.fact = {"\\fB", "\\fR"},
	.line = "\n.br\n",
	.end = "\n",
};

static const struct style markdown = {
	.put = put_markdown,
	.title = {"\n## ", "\n"},
	.key = {"\n**`", "\n"},
	.fact = {"`", "`"},
	.line = "  \n",
	.end = "\n",
};

static bool is_man(const struct style *s)
{
	return s == &man;
}

/* Literal text: Markdown puts it in backquotes, where nothing is escaped. */
static void put_literal(const struct style *s, const char *text)
{
	fputs(s->fact[0], stdout);
	(is_man(s) ? put_man : put_plain)(text);
	fputs(s->fact[1], stdout);
}

static void put_fact(const struct style *s, const char *what, const char *value)
{
	if (value[0] == '\0')
		return;
	fputs(s->line, stdout);
	s->put(what);
	putchar(' ');
	put_literal(s, value);
}

/* "auto, epoll" as "auto | epoll", as in the other rows. */
static void put_choice(const struct style *s, const char *text)
{
	for (const char *comma = strstr(text, ", "); comma != NULL; comma = strstr(text, ", ")) {
		char word[OPTION_TEXT_MAX];

		(void)snprintf(word, sizeof(word), "%.*s | ", (int)(comma - text), text); /* a part of one */
		(is_man(s) ? put_man : put_plain)(word);
		text = comma + 2;
	}
	(is_man(s) ? put_man : put_plain)(text);
}

static void put_head(const struct style *s, const struct option *o)
{
	char value[OPTION_TEXT_MAX];
	const char *name = (o->flags & OPT_NAMED) == 0 ? "" :
			   (o->flags & OPT_NAME_OPTIONAL) != 0 ? " [NAME]" : " NAME";
	/* "key = value" for a key with its own line, "key=value" for a word in a line. */
	const unsigned lines = IN_GLOBAL | IN_STATS | IN_DEFAULTS | IN_PROXIES;
	const char *equals = (o->sections & lines) != 0 ? " = " : "=";
	const char *text = option_text_value(o, value);

	fputs(s->key[0], stdout);
	(is_man(s) ? put_man : put_plain)(o->key);
	fputs(is_man(s) ? "\\fR" : "", stdout);
	fputs(name, stdout);
	if (text[0] != '\0') {
		fputs(equals, stdout);
		fputs(is_man(s) ? "\\fI" : "", stdout);
		put_choice(s, text);
		fputs(is_man(s) ? "\\fR" : "", stdout);
	}
	fputs(is_man(s) ? "" : "`**", stdout);
	fputs(s->key[1], stdout);
	fputs(is_man(s) ? "" : "\n", stdout);
}

static void put_help(const struct style *s, const struct option *o)
{
	const char *repeat = (o->flags & OPT_REPEAT) != 0 ? " May be repeated; each adds to the list." : "";
	size_t column = 0;

	if (is_man(s)) {
		put_man(o->help);
		put_man(repeat);
	} else {
		put_markdown_words(o->help, &column);
		put_markdown_words(repeat, &column);
	}
}

static void put_option(const struct style *s, const struct option *o)
{
	char text[OPTION_TEXT_MAX];

	put_head(s, o);
	put_help(s, o);
	if (o->def != NULL)
		put_fact(s, "Default:", o->def);
	put_fact(s, "Range:", option_text_range(o, text));
	if ((o->type == OPT_CHOICE || o->type == OPT_BALANCE))
		put_fact(s, "Not in this version:", option_choices(o, true, text));
	put_fact(s, "Example:", o->example);
	fputs(s->end, stdout);
}

static bool is_in(const struct option *o, const struct group *g)
{
	return (o->sections & g->with) == g->with && (o->sections & g->without) == 0;
}

static void put_group(const struct style *s, const struct group *g)
{
	bool begun = false;

	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if (o->type == OPT_LATER || !is_in(o, g))
			continue;
		if (!begun)
			printf("%s%s%s", s->title[0], g->title, s->title[1]);
		begun = true;
		put_option(s, o);
	}
}

/* Does another place have a key of this name? Then the name alone is ambiguous. */
static bool is_key_elsewhere(size_t i)
{
	for (size_t j = 0; j < option_count; j++)
		if (j != i && strcmp(options[j].key, options[i].key) == 0)
			return true;
	return false;
}

static void put_later(const struct style *s)
{
	char places[OPTION_PLACES_MAX];
	bool first = true;

	for (size_t i = 0; i < option_count; i++) {
		if (options[i].type != OPT_LATER)
			continue;
		if (first)
			printf("%sKnown, and not in this version%s", s->title[0], s->title[1]);
		if (first)
			fputs(is_man(s) ? "Refused with an error:\n" : "\nRefused with an error:\n", stdout);
		fputs(first ? "" : ",\n", stdout);
		first = false;
		put_literal(s, options[i].key);
		if (is_key_elsewhere(i))
			printf(" (in %s)", option_places(options[i].sections, places));
	}
	fputs(first ? "" : ".\n", stdout);
}

enum exit_code cli_reference(const struct cli_args *a)
{
	const struct style *s = strcmp(a->reference, "man") == 0 ? &man : &markdown;

	if (strcmp(a->reference, "figures") == 0)
		return cli_figures();
	if (strcmp(a->reference, "migrating") == 0)
		return cli_foreign_tables();
	if (!is_man(s) && strcmp(a->reference, "markdown") != 0) {
		fprintf(stderr, "weir: --reference must be man, markdown, figures or migrating, not '%s'\n",
			a->reference);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		put_group(s, &groups[i]);
	put_later(s);
	return EXIT_FINE;
}
