/* SPDX-License-Identifier: MIT
 *
 * uring_none.c - replaces the io_uring driver in a build without liburing. Any thread.
 */
#include <errno.h>
#include <stdio.h>

#include "weir/base/check.h"
#include "weir/io/uring.h"

bool uring_is_built(void)
{
	return false;
}

const struct io_driver *uring_driver(char *why, size_t room)
{
	(void)snprintf(why, room, "this build is without it: meson setup -Dio_uring=enabled"); /* or cut */
	return NULL;
}

int uring_rehearse(unsigned workers, char *why, size_t room)
{
	check(workers > 0);
	(void)uring_driver(why, room); /* never a driver in this build: it only sets `why` */
	return -ENOSYS;
}

/* No ring can have been requested. */
void uring_explain(int err, char *why, size_t room)
{
	check(err < 0);
	(void)uring_driver(why, room); /* never a driver in this build: it only sets `why` */
}
