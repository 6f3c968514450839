/* SPDX-License-Identifier: MIT
 *
 * top.c - `sluice top`.
 *
 * Main thread. Floor 7.
 */
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_top(const struct cli_args *a)
{
	(void)a;
	fputs("sluice: 'top' is not in this version\n", stderr);
	return EXIT_USAGE;
}
