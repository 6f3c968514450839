/* SPDX-License-Identifier: MIT
 *
 * healthcheck.c - `weir healthcheck`: does the daemon answer? For containers, keepalived and cron.
 *
 * Quiet when all is well. Waits two seconds at most. Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/cli/cli.h"
#include "ask.h"

#define HEALTH_WAIT_MS 2000

/* The word behind "\nstate: "; its length in `*len`, 0 when there is none. */
static const char *find_state(const char *answer, size_t *len)
{
	static const char key[] = "\nstate: ";
	const char *at = strstr(answer, key);

	*len = 0;
	if (at == NULL)
		return "";
	at += strlen(key);
	*len = strcspn(at, "\n");
	return at;
}

enum exit_code cli_healthcheck(const struct cli_args *a)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	enum exit_code code = ask_find(a, &spec);
	struct text answer;
	const char *state;
	size_t len;

	if (code != EXIT_FINE)
		return code;
	text_init(&answer);
	code = ask(&spec, "show info\n", HEALTH_WAIT_MS, &answer);
	if (code != EXIT_FINE) {
		text_free(&answer);
		return EXIT_ENVIRONMENT; /* somebody answers, but it is no weir that we know */
	}
	state = find_state(answer.bytes, &len);
	if (len == 0 || (a->ready && (len != 5 || memcmp(state, "ready", 5) != 0))) {
		fprintf(stderr, "weir: it answers, and is not ready: its state is '%.*s'\n", (int)len,
			state);
		code = EXIT_ENVIRONMENT;
	}
	text_free(&answer);
	return code;
}
