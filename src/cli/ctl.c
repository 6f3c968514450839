/* SPDX-License-Identifier: MIT
 *
 * ctl.c - `weir ctl CMD...`: sends one line to the admin socket of a running weir and prints the answer.
 *
 * An answer that begins with "error" is a refusal: it goes to stderr, and the exit code is 1. The exit code
 * is also 1 if one of several commands was refused. The answer to `reload` is shown as by `weir reload`. Main
 * thread.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "weir/admin/admin.h"
#include "weir/admin/voice.h"
#include "weir/cli/cli.h"
#include "weir/config/haproxy_time.h"
#include "ask.h"
#include "plan.h"
#include "reload.h"

#define CTL_LINE_MAX (ADMIN_REQUEST_MAX - sizeof(VOICE_OURS)) /* ask.c adds that word */

/* Joins the words into one line with a newline; false if the result is not a valid line. */
static bool make_line(const struct cli_args *a, char line[static CTL_LINE_MAX])
{
	const char *last = a->json ? " json\n" : "\n";
	size_t used = 0;

	for (size_t i = 0; i < a->word_count; i++) {
		const size_t len = strlen(a->words[i]);

		if (len + 1 + strlen(last) >= CTL_LINE_MAX - used || strpbrk(a->words[i], "\r\n") != NULL) {
			fputs("weir: a command must be one line of at most 16 KiB\n", stderr);
			return false;
		}
		memcpy(line + used, a->words[i], len);
		used += len;
		line[used++] = ' ';
	}
	used--; /* the last blank */
	(void)snprintf(line + used, CTL_LINE_MAX - used, "%s", last); /* length checked above */
	return true;
}

/* Its answer may take longer than that of any other command, and comes in parts. */
static enum exit_code reload(const struct cli_args *a, const struct addr_spec *spec, const char *line)
{
	char name[ADDR_TEXT_MAX];
	const int fd = ask_connect(spec, ASK_WAIT_MS);

	if (fd >= 0 && plan_is_asked(line))
		return plan_talk(fd, addr_spec_format(spec, name), line, a->quiet);
	if (fd >= 0)
		return reload_talk(fd, addr_spec_format(spec, name), line, a->quiet);
	ask_explain(spec, fd, ASK_WAIT_MS);
	return EXIT_ENVIRONMENT;
}

/* How long the answer may take: also as long as each `wait` of the line. */
static int patience_ms(const char *line)
{
	char copy[CTL_LINE_MAX], *rest = copy, *command, *word;
	int64_t sum_ms = ASK_WAIT_MS, ms;
	const char *stray;

	memcpy(copy, line, strlen(line) + 1);
	while ((command = strsep(&rest, ";")) != NULL) {
		char *words = NULL;

		word = strtok_r(command, " \t\n", &words);
		if (word == NULL || strcmp(word, "wait") != 0)
			continue;
		word = strtok_r(NULL, " \t\n", &words);
		if (word != NULL && haproxy_time(word, &ms, &stray) == HAPROXY_TIME_FINE)
			sum_ms += ms;
	}
	return sum_ms < INT_MAX ? (int)sum_ms : INT_MAX;
}

enum exit_code cli_ctl(const struct cli_args *a)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	char line[CTL_LINE_MAX];
	struct text answer;
	enum exit_code code;

	if (a->word_count == 0) {
		fputs("weir: ctl needs a command, for example: weir ctl show info\n", stderr);
		return EXIT_USAGE;
	}
	if (!make_line(a, line))
		return EXIT_USAGE;
	code = ask_find(a, &spec);
	if (code != EXIT_FINE)
		return code;
	if (reload_is_asked(line) || plan_is_asked(line))
		return reload(a, &spec, line);
	text_init(&answer);
	code = ask(&spec, line, patience_ms(line), &answer);
	/* A lone newline means that there is nothing to list: print nothing, for scripts that count lines. */
	if (code == EXIT_FINE && strcmp(answer.bytes, "\n") != 0)
		(void)fwrite(answer.bytes, 1, answer.len, stdout); /* cli_main() checks stdout at the end */
	/* One of several commands was refused. */
	if (code == EXIT_FINE && strstr(answer.bytes, "\nerror: ") != NULL)
		code = EXIT_CONFIG;
	text_free(&answer);
	return code;
}
