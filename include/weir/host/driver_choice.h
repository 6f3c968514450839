/* SPDX-License-Identifier: MIT
 *
 * driver_choice.h - which driver the workers get: what the configuration asks for, and what can be had.
 *
 * Main thread.
 */
#ifndef WEIR_HOST_DRIVER_CHOICE_H
#define WEIR_HOST_DRIVER_CHOICE_H

#include <stdbool.h>

#include "weir/config/config.h"
#include "weir/io/uring.h"

/* What `driver = auto` takes where it can be had: the one that was measured to be the faster. The only place
 * that says so; CONFIG_DRIVER_EPOLL or CONFIG_DRIVER_IO_URING. */
#define DRIVER_OF_AUTO CONFIG_DRIVER_EPOLL

struct driver_choice {
	const struct io_driver *driver; /* static; NULL = what was asked for cannot be had */
	bool may_fall_back;             /* epoll will do as well */
	char why[URING_WHY_MAX];        /* why there is no io_uring, where it would be used; else "" */
};

/* Would a ring be used, if one can be had? */
bool driver_wants_ring(enum config_driver asked, enum config_driver of_auto);
/* Chooses, by making a ring where one is wanted; `of_auto` is DRIVER_OF_AUTO, but for tests. Call after
 * privileges are dropped, because a ring may be allowed to some users alone. */
void driver_choose(struct driver_choice *c, enum config_driver asked, enum config_driver of_auto);
/* The workers could not be made, with -errno `err`, though the driver had been there: as after a `why` of
 * driver_choose(). False when nothing else may be tried. */
bool driver_fall_back(struct driver_choice *c, int err);

#endif
