/* SPDX-License-Identifier: MIT
 *
 * figures.c - `weir help --reference=figures`: what is counted, and how sessions end, as tables of Markdown.
 *
 * doc/update.sh puts it between the marks of doc/figures.md, and a test fails when they differ. Main
 * thread.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "weir/account/close_reason.h"
#include "weir/account/tally.h"
#include "weir/base/check.h"
#include "weir/base/counters.h"
#include "weir/cli/cli.h"

/* Plain text in a cell: what would begin something, or end the cell, is escaped. */
static void put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("<*_|", *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

static void put_cell(const char *text)
{
	fputs(" ", stdout);
	put_text(text);
	fputs(" |", stdout);
}

/* What stands so in an answer or a log. */
static void put_literal(const char *text)
{
	printf(" `%s` |", text);
}

/* Headings with a '|' behind each but the last. */
static void begin_table(const char *headings)
{
	printf("| %s |\n|", headings);
	for (const char *c = headings; c != NULL; c = strchr(c + 1, '|'))
		fputs("---|", stdout);
	putchar('\n');
}

static void put_counters(void)
{
	static const char *const kinds[] = {[FIGURE_TOTAL] = "total", [FIGURE_GAUGE] = "gauge"};
	const struct counter_row *row;

	fputs("\n## Counters in `show info`\n\n"
	      "The key is the counter's name, its value the sum of all workers.\n\n",
	      stdout);
	begin_table("key | kind | unit | meaning");
	for (size_t i = 0; (row = counter_row(i)) != NULL; i++) {
		check((size_t)row->kind < ARRAY_LEN(kinds));
		putchar('|');
		put_literal(row->name);
		put_cell(kinds[row->kind]);
		put_cell(row->unit);
		put_cell(row->help);
		putchar('\n');
	}
}

static void put_tallies(void)
{
	static const char *const kinds[] = {
		[TALLY_KIND_TOTAL] = "total",
		[TALLY_KIND_GAUGE] = "gauge",
		[TALLY_KIND_MAX] = "maximum",
		[TALLY_KIND_RATE] = "rate",
	};
	const struct tally_row *row;

	fputs("\n## Columns of `show stat`\n\n"
	      "Each of these is counted of every frontend, backend and server; unit and meaning are those\n"
	      "of the count. Some columns show more: `scur` of a server has another count, `smax` and\n"
	      "`rate_max` are never below what is now, and `lastsess` is in seconds before now. The\n"
	      "metric is a name as HAProxy's exporter has it, behind `weir_frontend_`, `weir_backend_` or\n"
	      "`weir_server_`.\n\n",
	      stdout);
	begin_table("column | kind | unit | metric | meaning");
	for (size_t i = 0; (row = tally_row(i)) != NULL; i++) {
		check((size_t)row->kind < ARRAY_LEN(kinds));
		putchar('|');
		if (strcmp(row->column, "none") == 0)
			put_cell("none");
		else
			put_literal(row->column);
		put_cell(kinds[row->kind]);
		put_cell(row->unit);
		put_literal(row->metric);
		put_cell(row->help);
		putchar('\n');
	}
}

static void put_close_reasons(void)
{
	fputs("\n## How a session ends\n\n"
	      "`reason`, `ts_code` and `reason_text` of a line of the log. In place of `?` stands the\n"
	      "state that the session ended in: `Q` in a queue, `D` while it forwarded bytes, else `C`.\n\n",
	      stdout);
	begin_table("reason | letters | error | meaning");
	for (int i = 0; i < CLOSE_REASONS; i++) {
		const struct close_reason_row *row = close_reason_row((enum close_reason)i);

		fputs("| `", stdout);
		for (const char *c = row->name; *c != '\0'; c++)
			putchar(tolower((unsigned char)*c));
		printf("` | `%c%c` |", row->letter1, row->letter2 != 0 ? row->letter2 : '?');
		put_cell(row->is_error ? "yes" : "no");
		put_cell(row->words);
		putchar('\n');
	}
}

enum exit_code cli_figures(void)
{
	put_counters();
	put_tallies();
	put_close_reasons();
	return EXIT_FINE;
}
