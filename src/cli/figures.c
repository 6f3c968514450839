/* SPDX-License-Identifier: MIT
 *
 * figures.c - `weir help --reference=figures`: what is counted, and how sessions end, as Markdown tables.
 *
 * doc/update.sh inserts them between the marks in doc/figures.md, and a test fails if they differ. Main
 * thread.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "weir/account/close_reason.h"
#include "weir/account/histogram.h"
#include "weir/account/tally.h"
#include "weir/base/check.h"
#include "weir/base/counters.h"
#include "weir/cli/cli.h"
#include "weir/engine/pulse.h"
#include "weir/stats/process_figures.h"

/* Plain text in a cell: escapes what would begin markup or end the cell. */
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

/* Text that appears literally in an answer or a log. */
static void put_literal(const char *text)
{
	printf(" `%s` |", text);
}

/* Begins a table; `headings` are separated by '|'. */
static void begin_table(const char *headings)
{
	printf("| %s |\n|", headings);
	for (const char *c = headings; c != NULL; c = strchr(c + 1, '|'))
		fputs("---|", stdout);
	putchar('\n');
}

static const char *const kind_words[] = {[FIGURE_TOTAL] = "total", [FIGURE_GAUGE] = "gauge"};

static void put_counters(void)
{
	const struct counter_row *row;

	fputs("\n## Counters in `show info`\n\n"
	      "The key is the counter's name, and its value is the sum over all workers.\n\n",
	      stdout);
	begin_table("key | kind | unit | meaning");
	for (size_t i = 0; (row = counter_row(i)) != NULL; i++) {
		check((size_t)row->kind < ARRAY_LEN(kind_words));
		putchar('|');
		put_literal(row->name);
		put_cell(kind_words[row->kind]);
		put_cell(row->unit);
		put_cell(row->help);
		putchar('\n');
	}
}

static void put_process_figures(void)
{
	const struct figure *row;

	fputs("\n## Other figures of the process in `show info`\n\n", stdout);
	begin_table("key | kind | meaning");
	for (size_t i = 0; (row = process_figure(i)) != NULL; i++) {
		putchar('|');
		put_literal(row->name);
		put_cell(kind_words[row->kind]);
		put_cell(row->help);
		putchar('\n');
	}
}

static void put_pulse(void)
{
	const struct pulse_row *row;

	fputs("\n## Workers\n\n"
	      "How busy each worker is. The metric has the prefix `weir_worker_` and is in base units.\n\n",
	      stdout);
	begin_table("value | kind | unit | metric | meaning");
	for (size_t i = 0; (row = pulse_row(i)) != NULL; i++) {
		putchar('|');
		put_literal(row->name);
		put_cell(kind_words[row->kind]);
		put_cell(row->unit);
		put_literal(row->metric);
		put_cell(row->help);
		putchar('\n');
	}
}

static void put_histograms(void)
{
	const struct histogram_row *row;

	fputs("\n## Histograms\n\n"
	      "Kept per frontend and backend while there is an HTTP endpoint, and per server with\n"
	      "`per-server-histograms = on` in `[stats]`. The metric has the prefixes of the columns above\n"
	      "and is in base units.\n\n",
	      stdout);
	begin_table("metric | meaning");
	for (size_t i = 0; (row = histogram_row(i)) != NULL; i++) {
		putchar('|');
		put_literal(row->metric);
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
	      "Each of these is counted per frontend, backend and server; the table gives the unit and the\n"
	      "meaning of the count. Some columns differ from it: `scur` of a server comes from another\n"
	      "count, `smax` and `rate_max` are never below the current value, and `lastsess` is how many\n"
	      "seconds ago that was. The metric is named as by HAProxy's exporter, with the prefix\n"
	      "`weir_frontend_`, `weir_backend_` or `weir_server_`.\n\n",
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
	      "These are `reason`, `ts_code` and `reason_text` of a log line. `?` is the state in which the\n"
	      "session ended: `Q` if queued, `D` if it was forwarding bytes (`-` after `K` or `D`), else\n"
	      "`C`. For `half_closed_timeout`, the first letter is `s` if the server had not finished.\n\n",
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
	put_process_figures();
	put_tallies();
	put_histograms();
	put_pulse();
	put_close_reasons();
	return EXIT_FINE;
}
