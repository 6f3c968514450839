/* SPDX-License-Identifier: MIT
 *
 * uring_probe.c - can a ring be used here, and if not, why?
 *
 * Any thread. Floor 1.
 */
#include <stdio.h>
#include <string.h>

#include "sluice/io/ring.h"
#include "sluice/io/uring.h"

const struct io_driver *uring_driver(char *why, size_t room)
{
	const struct ring_shape shape = {8, 16, 8};
	struct ring *r;
	const int err = ring_open(&r, &shape);

	if (err) {
		(void)snprintf(why, room, "%s", strerror(-err));
		return NULL;
	}
	ring_close(r);
	return &io_uring_driver;
}
