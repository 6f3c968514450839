/* SPDX-License-Identifier: MIT
 *
 * status.c - `sluice status`.
 *
 * Main thread. Floor 7.
 */
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_status(const struct cli_args *a)
{
	(void)a;
	fputs("sluice: 'status' is not in this version\n", stderr);
	return EXIT_USAGE;
}
