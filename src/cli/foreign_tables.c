/* SPDX-License-Identifier: MIT
 *
 * foreign_tables.c - `weir help --reference=migrating`: HAProxy's and nginx's directives as Markdown tables.
 *
 * doc/update.sh inserts them between the marks in doc/migrating.md, and a test fails if they differ. Main
 * thread.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "weir/config/foreign.h"

static const char *const state_words[] = {
	[FOREIGN_SAME] = "same",
	[FOREIGN_RENAMED] = "other name",
	[FOREIGN_DIFFERS] = "differs",
	[FOREIGN_NO_EFFECT] = "no effect",
	[FOREIGN_MISSING] = "missing",
	[FOREIGN_NOT_OURS] = "not ours",
};

static const struct table {
	const char *title;
	enum foreign_whose whose;
	enum foreign_area area;
} tables[] = {
	{"HAProxy: sections", FOREIGN_HAPROXY, FOREIGN_SECTION},
	{"HAProxy: global", FOREIGN_HAPROXY, FOREIGN_GLOBAL},
	{"HAProxy: words of a log or stats socket line", FOREIGN_HAPROXY, FOREIGN_LOG_WORD},
	{"HAProxy: defaults, frontend, backend, listen", FOREIGN_HAPROXY, FOREIGN_SECTION_LINE},
	{"HAProxy: algorithms", FOREIGN_HAPROXY, FOREIGN_BALANCE},
	{"HAProxy: health checks", FOREIGN_HAPROXY, FOREIGN_CHECK},
	{"HAProxy: rules", FOREIGN_HAPROXY, FOREIGN_RULE},
	{"HAProxy: tables of clients", FOREIGN_HAPROXY, FOREIGN_STICK},
	{"HAProxy: words of a bind line", FOREIGN_HAPROXY, FOREIGN_BIND_WORD},
	{"HAProxy: words of a server line, or of both", FOREIGN_HAPROXY, FOREIGN_SERVER_WORD},
	{"nginx: other blocks", FOREIGN_NGINX, FOREIGN_SECTION},
	{"nginx: main and events", FOREIGN_NGINX, FOREIGN_MAIN},
	{"nginx: stream", FOREIGN_NGINX, FOREIGN_STREAM},
	{"nginx: proxy", FOREIGN_NGINX, FOREIGN_PROXYING},
	{"nginx: upstream", FOREIGN_NGINX, FOREIGN_UPSTREAM},
	{"nginx: words of a listen line", FOREIGN_NGINX, FOREIGN_BIND_WORD},
	{"nginx: words of a server line", FOREIGN_NGINX, FOREIGN_SERVER_WORD},
};

/* Is this quote the beginning or the end of what is to be written, and not an apostrophe? */
static bool is_mark(const char *text, const char *at, bool inside)
{
	const bool after_blank = at == text || strchr(" (", at[-1]) != NULL;

	return inside ? at[1] == '\0' || strchr(" ,.;:)", at[1]) != NULL : after_blank;
}

/* Plain text in a cell; what is in quotes appears literally. */
static void put_text(const char *text)
{
	bool inside = false;

	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '\'' && is_mark(text, c, inside)) {
			inside = !inside;
			putchar('`');
			continue;
		}
		if (*c == '|' || (!inside && strchr("<*_", *c) != NULL))
			putchar('\\');
		putchar(*c);
	}
}

static void put_row(const struct foreign *f)
{
	const char *text = f->hint != NULL ? f->hint : f->note;

	printf("| `%s` | %s |", f->word, state_words[f->state]);
	if (f->ours != NULL)
		printf(" `%s` |", f->ours);
	else
		fputs(" |", stdout);
	if (text != NULL) {
		putchar(' ');
		put_text(text);
	}
	fputs(" |\n", stdout);
}

static size_t put_table(const struct table *t)
{
	size_t count, put = 0;
	const struct foreign *rows = foreign_rows(&count);

	printf("\n### %s\n\n| word | state | in weir | remark |\n|---|---|---|---|\n", t->title);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].whose != t->whose || rows[i].area != t->area)
			continue;
		put_row(&rows[i]);
		put++;
	}
	return put;
}

static void put_sums(void)
{
	size_t sums[2][FOREIGN_STATES] = {{0}}, count;
	const struct foreign *rows = foreign_rows(&count);

	for (size_t i = 0; i < count; i++)
		sums[rows[i].whose][rows[i].state]++;
	fputs("\n| rows | HAProxy | nginx |\n|---|---|---|\n", stdout);
	for (size_t i = 0; i < FOREIGN_STATES; i++)
		printf("| %s | %zu | %zu |\n", state_words[i], sums[FOREIGN_HAPROXY][i],
		       sums[FOREIGN_NGINX][i]);
}

enum exit_code cli_foreign_tables(void)
{
	size_t put = 0, count;

	(void)foreign_rows(&count);
	put_sums();
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		put += put_table(&tables[i]);
	check(put == count); /* each row is in a table */
	return EXIT_FINE;
}
