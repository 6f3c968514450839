/* SPDX-License-Identifier: MIT
 *
 * driver_choice.c - chooses the driver of the workers, from what is configured and what is available.
 *
 * With `driver = io_uring` weir starts with io_uring or not at all: whoever writes it has a reason. With
 * `auto` it always starts. Logs nothing. Main thread.
 */
#include "weir/host/driver_choice.h"

#include <string.h>

#include "weir/base/check.h"

bool driver_wants_ring(enum config_driver asked, enum config_driver of_auto)
{
	check(of_auto != CONFIG_DRIVER_AUTO);
	return (asked == CONFIG_DRIVER_AUTO ? of_auto : asked) == CONFIG_DRIVER_IO_URING;
}

void driver_choose(struct driver_choice *c, enum config_driver asked, enum config_driver of_auto)
{
	memset(c, 0, sizeof(*c));
	c->driver = &io_epoll_driver;
	if (!driver_wants_ring(asked, of_auto))
		return;
	c->may_fall_back = asked == CONFIG_DRIVER_AUTO;
	c->driver = uring_driver(c->why, sizeof(c->why));
	if (c->driver != NULL)
		c->why[0] = '\0';
	else if (c->may_fall_back)
		c->driver = &io_epoll_driver;
}

bool driver_fall_back(struct driver_choice *c, int err)
{
	check(err < 0);
	if (c->driver == &io_epoll_driver)
		return false;
	uring_explain(err, c->why, sizeof(c->why));
	if (!c->may_fall_back)
		return false;
	c->driver = &io_epoll_driver;
	return true;
}
