/* SPDX-License-Identifier: MIT
 *
 * server_check.c - the health check of one server.
 *
 * A time or count of 0 on the server's line stands for that of its section. Any thread.
 */
#include "weir/config/server_check.h"

struct config_check config_server_check(const struct config_backend *b, const struct config_server *s)
{
	struct config_check c = b->check;

	if (c.kind == CONFIG_CHECK_OFF && s->check)
		c.kind = CONFIG_CHECK_TCP;
	if (s->check_interval_ns != 0)
		c.interval_ns = s->check_interval_ns;
	if (s->check_fast_ns != 0)
		c.fast_ns = s->check_fast_ns;
	if (s->check_down_ns != 0)
		c.down_ns = s->check_down_ns;
	if (s->check_rise != 0)
		c.rise = s->check_rise;
	if (s->check_fall != 0)
		c.fall = s->check_fall;
	return c;
}
