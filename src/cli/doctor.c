/* SPDX-License-Identifier: MIT
 *
 * doctor.c - `sluice doctor`.
 *
 * Main thread. Floor 7.
 */
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_doctor(const struct cli_args *a)
{
	(void)a;
	fputs("sluice: 'doctor' is not in this version\n", stderr);
	return EXIT_USAGE;
}
