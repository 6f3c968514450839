/* SPDX-License-Identifier: MIT
 *
 * healthcheck.c - `sluice healthcheck`.
 *
 * Main thread. Floor 7.
 */
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_healthcheck(const struct cli_args *a)
{
	(void)a;
	fputs("sluice: 'healthcheck' is not in this version\n", stderr);
	return EXIT_USAGE;
}
