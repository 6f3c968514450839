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
#include "weir/base/check.h"
#include "weir/base/log.h"

#define WEIGHT_MAX  256u
#define MAXCONN_MAX 1000000000u
#define CAUSE_MAX   48

/* Who wants the change. Only a number: looking up user names may take arbitrarily long. */
static const char *cause_of(const struct admin_call *c, char buf[static CAUSE_MAX])
{
	if (c->peer->uid == (uid_t)-1)
		(void)snprintf(buf, CAUSE_MAX, "over the admin socket"); /* short, like the one below */
	else
		(void)snprintf(buf, CAUSE_MAX, "by uid %u over the admin socket", (unsigned)c->peer->uid);
	return buf;
}

/* Reports a failed change, see server_updates.h. An empty answer means that the change is in effect. */
static void report_failure(const struct admin_call *c, int err)
{
	if (err == -EAGAIN)
		text_printf(c->out, "error: changed, but not in effect yet: %s\n", strerror(ENOMEM));
	else if (err)
		text_printf(c->out, "error: nothing was changed: %s\n", strerror(-err));
}

/* A whole number up to `most`, with nothing before or after it; false for anything else. */
static bool read_whole_number(const char *word, size_t len, unsigned most, unsigned *number)
{
	uint64_t value = 0;

	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (word[i] < '0' || word[i] > '9')
			return false;
		value = 10 * value + (unsigned)(word[i] - '0');
		if (value > most)
			return false;
	}
	*number = (unsigned)value;
	return true;
}

/* ---- state ---- */

static void set_state(const struct admin_call *c, struct server *s, enum server_admin admin)
{
	char cause[CAUSE_MAX];

	report_failure(c, server_updates_set_admin(c->ctx->updates, s, admin, cause_of(c, cause)));
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
	text_printf(c->out, "error: the state must be ready, drain or maint\n");
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

/* "12", or "50%" of the configured weight: rounded down, but to at least 1 unless either is 0, and at most
 * 256. */
static bool read_weight(const struct server *s, const char *word, unsigned *weight)
{
	const size_t len = strlen(word);
	uint64_t share;
	unsigned percent;

	if (len == 0 || word[len - 1] != '%')
		return read_whole_number(word, len, WEIGHT_MAX, weight);
	if (!read_whole_number(word, len - 1, 100 * WEIGHT_MAX, &percent))
		return false;
	share = (uint64_t)s->config->weight * percent / 100;
	if (share == 0 && percent > 0 && s->config->weight > 0)
		share = 1;
	*weight = share < WEIGHT_MAX ? (unsigned)share : WEIGHT_MAX;
	return true;
}

static void set_weight(const struct admin_call *c, struct server *s, const char *word)
{
	char cause[CAUSE_MAX];
	unsigned weight;

	if (!read_weight(s, word, &weight)) {
		text_printf(c->out, "error: a weight is a number from 0 to 256, or a percentage of the "
				    "configured one, such as 50%%\n");
		return;
	}
	report_failure(c, server_updates_set_weight(c->ctx->updates, s, weight, cause_of(c, cause)));
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
		text_printf(c->out, "%u (initial %u)\n", s->weight, s->config->weight);
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
	else
		text_printf(c->out, "error: 'set server' sets 'state' or 'weight'; for maxconn: set "
				    "maxconn server %s/%s N\n",
			    s->backend->name, s->config->name);
}

/* ---- other commands ---- */

void admin_set_maxconn(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	char cause[CAUSE_MAX];
	unsigned maxconn;

	if (s == NULL)
		return;
	if (!read_whole_number(c->args[1], strlen(c->args[1]), MAXCONN_MAX, &maxconn)) {
		text_printf(c->out, "error: maxconn must be a number of connections, 0 for no limit\n");
		return;
	}
	report_failure(c, server_updates_set_maxconn(c->ctx->updates, s, maxconn, cause_of(c, cause)));
}

void admin_shutdown_sessions(const struct admin_call *c)
{
	struct server *s = admin_find_server(c, c->args[0]);
	char cause[CAUSE_MAX];

	if (s == NULL)
		return;
	engine_kill_sessions(c->ctx->engine, s);
	log_line(LOG_LEVEL_NOTICE, "server %s/%s: closing its sessions, %s", s->backend->name,
		 s->config->name, cause_of(c, cause));
}
