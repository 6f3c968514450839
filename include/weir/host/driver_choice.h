/* SPDX-License-Identifier: MIT
 *
 * driver_choice.h - chooses the driver of the workers, from what is configured and what is available.
 *
 * Main thread.
 */
#ifndef WEIR_HOST_DRIVER_CHOICE_H
#define WEIR_HOST_DRIVER_CHOICE_H

#include <stdbool.h>

#include "weir/config/config.h"
#include "weir/io/uring.h"

/* What `driver = auto` uses if available: the driver that measured faster. Defined only here;
 * CONFIG_DRIVER_EPOLL or CONFIG_DRIVER_IO_URING. */
#define DRIVER_OF_AUTO CONFIG_DRIVER_EPOLL

struct driver_choice {
	const struct io_driver *driver; /* static; NULL = the configured driver is not available */
	bool may_fall_back;             /* epoll will do instead */
	char why[URING_WHY_MAX];        /* why io_uring is not available, if it would be used; else "" */
};

/* Would a ring be used if one is available? */
bool driver_wants_ring(enum config_driver asked, enum config_driver of_auto);
/* Chooses a driver, creating a ring if one is wanted. `of_auto` is DRIVER_OF_AUTO, except in tests. Call
 * after privileges are dropped, because rings may be restricted to some users. */
void driver_choose(struct driver_choice *c, enum config_driver asked, enum config_driver of_auto);
/* The driver was available, but creating the workers failed with -errno `err`. Falls back as driver_choose()
 * would have, and sets `why`. False if no other driver may be tried. */
bool driver_fall_back(struct driver_choice *c, int err);

#endif
