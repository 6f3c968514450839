/* SPDX-License-Identifier: MIT
 *
 * demo.c - `weir demo [--seconds N] [--json] [--print-config]`.
 *
 * Main thread.
 */
#include "weir/demo/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "weir/cli/cli.h"

/* A plain number without a unit. 0 or -EINVAL. */
static int parse_seconds(const char *text, unsigned *out)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || n < DEMO_SECONDS_MIN ||
	    n > DEMO_SECONDS_MAX)
		return -EINVAL;
	*out = (unsigned)n;
	return 0;
}

enum exit_code cli_demo(const struct cli_args *a)
{
	struct demo_options options = {.seconds = DEMO_SECONDS, .json = a->json, .quiet = a->quiet};

	if (a->word_count > 0) {
		fprintf(stderr,
			"weir: demo takes flags only, not '%s'; for example: weir demo --seconds 10\n",
			a->words[0]);
		return EXIT_USAGE;
	}
	if (a->seconds != NULL && parse_seconds(a->seconds, &options.seconds) != 0) {
		fprintf(stderr, "weir: --seconds is a number from %d to %d, not '%s'\n", DEMO_SECONDS_MIN,
			DEMO_SECONDS_MAX, a->seconds);
		return EXIT_USAGE;
	}
	return a->print_config ? demo_print_config() : demo_run(&options);
}
