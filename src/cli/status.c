/* SPDX-License-Identifier: MIT
 *
 * status.c - `weir status`: one page about a running weir.
 *
 * Main thread.
 */
#include <stdio.h>
#include <unistd.h>

#include "weir/cli/cli.h"
#include "ask.h"
#include "terminal.h"
#include "view.h"

#define STATUS_WAIT_MS 10000

enum exit_code cli_status(const struct cli_args *a)
{
	/* Only what a terminal would wrap anyway is truncated. */
	const struct view_style style = {
		.colour = terminal_wants_colour(STDOUT_FILENO),
		.columns = isatty(STDOUT_FILENO) ? terminal_size(STDOUT_FILENO).columns : 0,
	};
	struct addr_spec spec = {.kind = ADDR_NONE};
	enum exit_code code = ask_find(a, &spec);
	struct text page;
	struct view v;

	if (code != EXIT_FINE)
		return code;
	text_init(&page);
	view_init(&v);
	code = view_take(&v, &spec, STATUS_WAIT_MS);
	if (code == EXIT_FINE && a->json)
		view_show_json(&v, NULL, &page);
	else if (code == EXIT_FINE)
		view_show(&v, NULL, &style, &page);
	text_print(&page, stdout); /* cli_main() checks stdout at the end */
	view_free(&v);
	text_free(&page);
	return code;
}
