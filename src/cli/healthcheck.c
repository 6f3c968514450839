/* SPDX-License-Identifier: MIT
 *
 * healthcheck.c - `weir healthcheck`: does the daemon answer? For containers, keepalived and cron.
 *
 * Silent if it does. Waits at most two seconds. Main thread.
 */
#include <stdio.h>

#include "weir/admin/daemon_state.h"
#include "weir/base/info_line.h"
#include "weir/cli/cli.h"
#include "ask.h"

#define HEALTH_WAIT_MS 2000

enum exit_code cli_healthcheck(const struct cli_args *a)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	enum exit_code code = ask_find(a, &spec);
	struct text answer;
	struct info_line state;
	bool found;

	if (code != EXIT_FINE)
		return code;
	text_init(&answer);
	code = ask(&spec, "show info\n", HEALTH_WAIT_MS, &answer);
	if (code != EXIT_FINE) {
		text_free(&answer);
		return EXIT_ENVIRONMENT; /* an answer, but not that of a weir that we understand */
	}
	found = info_line_find(answer.bytes, "state", &state) && state.value_len > 0;
	if (!found || (a->ready && !info_line_says(&state, daemon_state_word(DAEMON_READY)))) {
		fprintf(stderr, "weir: the daemon answers but is not ready: its state is '%.*s'\n",
			found ? (int)state.value_len : 0, found ? state.value : "");
		code = EXIT_ENVIRONMENT;
	}
	text_free(&answer);
	return code;
}
