/* SPDX-License-Identifier: MIT
 *
 * server_check.c - the health check of one server, and its agent.
 *
 * A time or count of 0 on the server's line stands for that of its section. Any thread.
 */
#include "weir/config/server_check.h"

#include <string.h>

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

unsigned config_server_observe_limit(const struct config_backend *b, const struct config_server *s)
{
	if (b->observe.limit != 0)
		return b->observe.limit;
	return s->check ? OBSERVE_LIMIT_CHECKED : OBSERVE_LIMIT_ALONE;
}

struct config_check config_server_agent_check(const struct config_backend *b, const struct config_server *s,
					      struct config_check_step *say)
{
	char *text = s->check_agent_send != NULL ? s->check_agent_send : b->check_agent_send;
	int64_t interval_ns = s->check_agent_interval_ns;

	if (interval_ns == 0)
		interval_ns = b->check_agent_interval_ns;
	if (interval_ns == 0)
		interval_ns = config_server_check(b, s).interval_ns;
	*say = (struct config_check_step){
		.bytes = (uint8_t *)text,
		.len = text != NULL ? strlen(text) : 0,
	};
	return (struct config_check){
		.kind = CONFIG_CHECK_AGENT,
		.proxy = CONFIG_CHECK_PROXY_OFF,
		.steps = say,
		.step_count = text != NULL,
		.interval_ns = interval_ns,
		.timeout_ns = b->check.timeout_ns,
		.rise = 1,
		.fall = 1,
	};
}
