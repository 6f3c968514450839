/* SPDX-License-Identifier: MIT
 *
 * uring_none.c - the place of the io_uring driver in a build without it. Any thread. Floor 1.
 */
#include <stdio.h>

#include "sluice/io/uring.h"

const struct io_driver *uring_driver(char *why, size_t room)
{
	(void)snprintf(why, room, "this build is without it (meson setup -Dio_uring=enabled)");
	return NULL;
}
