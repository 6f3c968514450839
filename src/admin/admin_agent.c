/* SPDX-License-Identifier: MIT
 *
 * admin_agent.c - the commands for agents of servers.
 *
 * What an agent says counts less than what an administrator sets, and not at all while it is disabled. Where
 * it is, and what it is sent, is set in the file. Main thread.
 */
#include <string.h>

#include "weir/balance/run_time.h"
#include "admin_cause.h"
#include "admin_set.h"

static bool has_agent(const struct server *s)
{
	return s->config->check_agent.port != 0;
}

#define NOT_ENABLED "agent checks are not enabled on this server."
#define NO_AGENT    "server '%s' has no agent; write 'check-agent=PORT' on its line"

/* False after a refusal; `theirs` is HAProxy's. */
static bool is_asked(const struct admin_call *c, const struct server *s, const char *theirs)
{
	if (has_agent(s) && !s->agent_off)
		return true;
	if (has_agent(s))
		admin_refuse(c, theirs, "the agent of '%s' is disabled; first: enable agent %s", c->args[0],
			     c->args[0]);
	else
		admin_refuse(c, theirs, NO_AGENT, c->args[0]);
	return false;
}

void admin_set_agent(const struct admin_call *c, struct server *s)
{
	const bool up = strcmp(c->args[2], "up") == 0;
	char cause[ADMIN_CAUSE_MAX];

	if (!is_asked(c, s, NOT_ENABLED))
		return;
	if (!up && strcmp(c->args[2], "down") != 0)
		admin_refuse(c, "'set server <srv> agent' expects 'up' or 'down'.",
			     "an agent says up, or down");
	else
		run_time_say_agent(c->ctx->updates, s, up, admin_cause(c, cause));
}

/* HAProxy answers `usage` without a value, and does what is asked with one. */
static void refuse_change(const struct admin_call *c, const struct server *s, const char *usage)
{
	if (usage == NULL || c->args[2][0] != '\0')
		usage = "agents are set in the configuration file; change it, and reload.";
	admin_refuse(c, usage,
		     "the agent of '%s' is set in the file: change 'check-agent' there, and reload",
		     s->config->name);
}

/* Without a full stop, and a mere warning. */
static bool warns(const struct admin_call *c, const struct server *s)
{
	return c->args[2][0] != '\0' && !(has_agent(s) && !s->agent_off) &&
	       admin_haproxy_says(c, "agent checks are not enabled on this server");
}

void admin_set_agent_addr(const struct admin_call *c, struct server *s)
{
	if (!warns(c, s))
		refuse_change(c, s,
			      "set server <b>/<s> agent-addr requires an address and optionally a port.");
}

void admin_set_agent_port(const struct admin_call *c, struct server *s)
{
	if (!warns(c, s))
		refuse_change(c, s, "set server <b>/<s> agent-port requires a port.");
}

void admin_set_agent_send(const struct admin_call *c, struct server *s)
{
	if (is_asked(c, s, NOT_ENABLED))
		refuse_change(c, s, NULL);
}

void admin_enable_agent(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	const struct mark by = admin_mark(c);

	if (s == NULL)
		return;
	if (has_agent(s))
		run_time_set_agent(c->ctx->updates, s, true, &by);
	else
		admin_refuse(c, "Agent was not configured on this server, cannot enable.", NO_AGENT,
			     c->args[0]);
}

void admin_disable_agent(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	const struct mark by = admin_mark(c);

	if (s != NULL && has_agent(s))
		run_time_set_agent(c->ctx->updates, s, false, &by);
}
