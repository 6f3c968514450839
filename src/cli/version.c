/* SPDX-License-Identifier: MIT
 *
 * version.c - `sluice version`, -v and -vv: which program this is and how it was built.
 *
 * Main thread. Floor 7.
 */
#include <ev.h>
#include <gnu/libc-version.h>
#include <stdio.h>

#include "sluice/cli/cli.h"

enum exit_code cli_version(const struct cli_args *a)
{
	printf("sluice %s\n", SLUICE_VERSION);
	if (a->version < 2)
		return EXIT_FINE;
	printf("compiler:  %s\n", __VERSION__);
	printf("drivers:   epoll\n");
	printf("features:  splice, unix sockets, admin socket, forward\n");
	printf("libraries: glibc %s, libev %d.%d, inih\n", gnu_get_libc_version(), ev_version_major(),
	       ev_version_minor());
	printf("file:      %s\n", CLI_DEFAULT_FILE);
	return EXIT_FINE;
}
