/* SPDX-License-Identifier: MIT
 *
 * main.c - where the process begins and ends.
 *
 * Everything is behind cli_main(), so that tests can link it. Main thread.
 */
#include "weir/cli/cli.h"

int main(int argc, char **argv)
{
	return (int)cli_main(argc, argv);
}
