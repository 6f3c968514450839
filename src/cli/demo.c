/* SPDX-License-Identifier: MIT
 *
 * demo.c - `sluice demo`.
 *
 * Main thread. Floor 7.
 */
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_demo(const struct cli_args *a)
{
	(void)a;
	fputs("sluice: 'demo' is not in this version\n", stderr);
	return EXIT_USAGE;
}
