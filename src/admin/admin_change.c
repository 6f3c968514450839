/* SPDX-License-Identifier: MIT
 *
 * admin_change.c - the commands that change a server, in HAProxy's syntax.
 *
 * Validates the request and passes it to balance/server_updates.h, which makes the change and logs it.
 * Success prints nothing. Changes do not survive a restart. Main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/log.h"
#include "admin_cause.h"
#include "admin_set.h"

#define WEIGHT_MAX  256
#define PERCENT_MAX (100 * WEIGHT_MAX)
#define MAXCONN_MAX 1000000000

/* HAProxy's own list: its tools only look at the beginning. */
#define USAGE_OF_SET_SERVER                                                                                  \
	"usage: set server <backend>/<server> addr | agent | agent-addr | agent-port | agent-send | "        \
	"check-addr | check-port | fqdn | health | ssl | state | weight"

/* Marks a change, or reports why it failed: server_updates.h. An empty answer means that it is in effect, or
 * will be with others of its line. */
static void conclude(const struct admin_call *c, struct server *s, enum server_mark what, int err)
{
	const struct mark by = admin_mark(c);

	if (!err || err == -EAGAIN)
		run_time_mark(s, what, &by);
	if (err == -EAGAIN)
		admin_refuse(c, NULL, "changed, but not in effect yet: %s", strerror(ENOMEM));
	else if (err)
		admin_refuse(c, NULL, "nothing was changed: %s", strerror(-err));
}

/* ---- state ---- */

static void set_state(const struct admin_call *c, struct server *s, enum server_admin admin)
{
	char cause[ADMIN_CAUSE_MAX];

	conclude(c, s, SERVER_MARK_STATE,
		 server_updates_set_admin(c->ctx->updates, s, admin, admin_cause(c, cause)));
}

static void set_state_word(const struct admin_call *c, struct server *s, const char *word)
{
	static const char *const words[] = {
		[SERVER_ADMIN_READY] = "ready",
		[SERVER_ADMIN_DRAIN] = "drain",
		[SERVER_ADMIN_MAINT] = "maint",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(word, words[i]) == 0) {
			set_state(c, s, (enum server_admin)i);
			return;
		}
	}
	admin_refuse(c, "'set server <srv> state' expects 'ready', 'drain' and 'maint'.",
		     "the state must be ready, drain or maint");
}

void admin_enable_server(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);

	/* HAProxy 2.6 also ends a drain with this word. */
	if (s != NULL)
		set_state(c, s, SERVER_ADMIN_READY);
}

void admin_disable_server(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);

	if (s != NULL)
		set_state(c, s, SERVER_ADMIN_MAINT);
}

/* ---- weight ---- */

/* "12", or "50%" of the configured weight, rounded down and at most WEIGHT_MAX. NULL, or why not in
 * HAProxy's words. */
static const char *read_weight(const struct server *s, const char *word, unsigned *weight)
{
	long value, share;
	char *end;

	if (word[0] == '\0')
		return "Require <weight> or <weight%>.";
	value = strtol(word, &end, 10);
	if (end == word)
		return "Empty weight string empty or preceded by garbage";
	if (strcmp(end, "%") == 0) {
		if (value < 0)
			return "Relative weight must be positive.";
		share = (long)s->config->weight * (value < PERCENT_MAX ? value : PERCENT_MAX) / 100;
		*weight = share < WEIGHT_MAX ? (unsigned)share : WEIGHT_MAX;
		return NULL;
	}
	if (value < 0 || value > WEIGHT_MAX)
		return "Absolute weight can only be between 0 and 256 inclusive.";
	if (*end != '\0')
		return "Trailing garbage in weight string";
	*weight = (unsigned)value;
	return NULL;
}

static void set_weight(const struct admin_call *c, struct server *s, const char *word)
{
	char cause[ADMIN_CAUSE_MAX];
	unsigned weight = 0;
	const char *why = read_weight(s, word, &weight);

	if (why != NULL) {
		admin_refuse(c, why,
			     "a weight is a number from 0 to 256, or a percentage of the configured one, "
			     "such as 50%%");
		return;
	}
	conclude(c, s, SERVER_MARK_WEIGHT,
		 server_updates_set_weight(c->ctx->updates, s, weight, admin_cause(c, cause)));
}

void admin_set_weight(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);

	if (s != NULL)
		set_weight(c, s, c->args[1]);
}

void admin_get_weight(const struct admin_call *c)
{
	const struct server *s = admin_find_server(c, c->args[0]);

	if (s != NULL)
		text_printf(c->out, "%u (initial %u)\n", server_weight_now(s), s->config->weight);
}

void admin_set_server(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);

	if (s == NULL)
		return;
	if (strcmp(c->args[1], "state") == 0)
		set_state_word(c, s, c->args[2]);
	else if (strcmp(c->args[1], "weight") == 0)
		set_weight(c, s, c->args[2]);
	else if (!admin_set_more(c, s))
		admin_refuse(c, USAGE_OF_SET_SERVER,
			     "'set server' sets addr, check-addr, check-port, health, state or weight; for "
			     "maxconn: set maxconn server %s/%s N",
			     s->backend->name, s->config->name);
}

/* ---- other commands ---- */

/* NULL, or why not in HAProxy's words. There, a negative number is a very large one. */
static const char *read_maxconn(const char *word, unsigned *maxconn)
{
	char *end;
	long value;

	if (word[0] == '\0')
		return "Require <maxconn>.";
	value = strtol(word, &end, 10);
	if (end == word)
		return "maxconn string empty or preceded by garbage";
	if (*end != '\0')
		return "Trailing garbage in maxconn string";
	*maxconn = value < 0 ? 0 : value < MAXCONN_MAX ? (unsigned)value : MAXCONN_MAX;
	return NULL;
}

void admin_set_maxconn(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	char cause[ADMIN_CAUSE_MAX];
	unsigned maxconn = 0;
	const char *why;

	if (s == NULL)
		return;
	why = read_maxconn(c->args[1], &maxconn);
	if (why != NULL || (c->ours && !admin_read_number(c->args[1], MAXCONN_MAX, &maxconn))) {
		admin_refuse(c, why, "maxconn must be a number of connections, 0 for no limit");
		return;
	}
	conclude(c, s, SERVER_MARK_MAXCONN,
		 server_updates_set_maxconn(c->ctx->updates, s, maxconn, admin_cause(c, cause)));
}

void admin_shutdown_sessions(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	char cause[ADMIN_CAUSE_MAX];

	if (s == NULL)
		return;
	engine_kill_sessions(c->ctx->engine, s);
	log_line(LOG_LEVEL_NOTICE, "server %s/%s: closing its sessions, %s", s->backend->name,
		 s->config->name, admin_cause(c, cause));
}
