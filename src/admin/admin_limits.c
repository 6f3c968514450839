/* SPDX-License-Identifier: MIT
 *
 * admin_limits.c - the commands that set the limits of a frontend and of the process, in HAProxy's syntax.
 *
 * A number is what HAProxy's atoi() makes of it, unless the client wants our texts: then it must be one.
 * Success prints nothing, and is logged. Main thread.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/log.h"
#include "weir/entry/halt.h"

#define RATE_LIMITS                                                                                          \
	"'set rate-limit' only supports :\n"                                                                 \
	"   - 'connections global' to set the per-process maximum connection rate"

#define RANGE "Value out of range."

/* The number of `word`, at least `least`; `expected` is HAProxy's refusal of a missing one. False: it was
 * refused. */
static bool read_number(const struct admin_call *c, const char *word, long least, const char *expected,
			unsigned *number)
{
	char *end;
	long value;

	if (word[0] == '\0') {
		admin_refuse(c, expected, "write a number");
		return false;
	}
	errno = 0;
	value = strtol(word, &end, 10);
	if (c->ours && (end == word || *end != '\0')) {
		char shown[64];

		log_escape(word, strnlen(word, sizeof(shown) / 4 - 1), shown, sizeof(shown));
		admin_refuse(c, NULL, "'%s' is not a number", shown);
		return false;
	}
	if (errno == ERANGE || value > INT_MAX || value < least) {
		admin_refuse(c, RANGE, "the number must be from 0 to %d", INT_MAX);
		return false;
	}
	*number = value > 0 ? (unsigned)value : 0;
	return true;
}

static void log_limit(const struct admin_call *c, const char *of, const char *what, unsigned number)
{
	const struct mark by = {.by = c->peer->uid};
	char who[MARK_WHO_MAX];

	log_line(LOG_LEVEL_NOTICE, "%s%s set to %u by %s over the admin socket", of, what, number,
		 mark_who(&by, who));
}

void admin_set_maxconn_frontend(const struct admin_call *c)
{
	const struct mark by = mark_now(c->peer->uid);
	struct frontend *fe = admin_find_frontend(c, c->args[0]);
	char of[CONFIG_NAME_MAX + 16];
	unsigned number;

	if (fe == NULL || !read_number(c, c->args[1], 0, "Integer value expected.", &number))
		return;
	frontend_override_limit(fe, number, &by);
	(void)snprintf(of, sizeof(of), "frontend %s: ", fe->config->name); /* fits */
	log_limit(c, of, "maxconn", number);
}

/* As in HAProxy, 0 and less stand for the highest. */
void admin_set_maxconn_global(const struct admin_call *c)
{
	const struct mark by = mark_now(c->peer->uid);
	struct engine *e = c->ctx->engine;
	unsigned number;

	if (!read_number(c, c->args[0], INT_MIN, "Expects an integer value.", &number))
		return;
	if (engine_override_maxconn(e, number, &by) != 0) {
		admin_refuse(c, RANGE, "the most is %u, the maxconn of [global]",
			     e->limits.maxconn);
		return;
	}
	log_limit(c, "", "maxconn", number > 0 ? number : e->limits.maxconn);
}

void admin_set_rate_limit(const struct admin_call *c)
{
	const struct mark by = mark_now(c->peer->uid);
	unsigned number;

	if (strcmp(c->args[0], "connections") != 0 || strcmp(c->args[1], "global") != 0) {
		admin_refuse(c, RATE_LIMITS, "write 'set rate-limit connections global N'");
		return;
	}
	if (!read_number(c, c->args[2], 0, "Expects an integer value.", &number))
		return;
	engine_override_rate(c->ctx->engine, number, &by);
	log_limit(c, "", "connections per second", number);
}
