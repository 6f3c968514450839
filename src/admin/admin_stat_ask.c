/* SPDX-License-Identifier: MIT
 *
 * admin_stat_ask.c - the arguments of `show stat`: which rows, in which form.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"

/* A whole number, or -1 for all; false for anything else. */
static bool read_number_or_all(const char *word, int *number)
{
	char *end;
	long value;

	if (strlen(word) > 11)
		return false;
	value = strtol(word, &end, 10);
	if (end == word || *end != '\0' || value < -1 || value > INT32_MAX)
		return false;
	*number = (int)value;
	return true;
}

/* As HAProxy reads a number: what is none is 0. */
static int lax_number(const char *word)
{
	const long value = strtol(word, NULL, 10);

	return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int)value;
}

/* HAProxy's words for the form of the answer and for a selection, which follow the filter. */
static bool read_option(const char *word, struct admin_question *q)
{
	if (strcmp(word, "typed") == 0)
		q->typed = true;
	else if (strcmp(word, "json") == 0)
		q->json = true;
	else if (strcmp(word, "up") == 0)
		q->up_only = true;
	else if (strcmp(word, "no-maint") == 0)
		q->no_maint = true;
	else
		return false;
	return true;
}

/* "PROXY TYPE SID": PROXY is a name or a number. False if it is refused. */
static bool read_filter(const struct admin_call *c, struct admin_question *q)
{
	if (!c->ours) {
		q->types = lax_number(c->args[1]);
		q->sid = lax_number(c->args[2]);
	} else if (!read_number_or_all(c->args[1], &q->types) || !read_number_or_all(c->args[2], &q->sid)) {
		q->malformed = true;
		return false;
	}
	q->iid = (int)admin_proxy_iid(c->ctx->engine, c->args[0]);
	if (q->iid == 0 && (!c->ours || read_number_or_all(c->args[0], &q->iid)))
		q->iid = lax_number(c->args[0]);
	if (q->iid != 0)
		return true;
	q->verdict = ADMIN_ANSWERED;
	admin_refuse_proxy(c, c->args[0]);
	return false;
}

void admin_ask_stat(const struct admin_call *c)
{
	unsigned used = c->arg_count >= 3 ? 3 : 0;

	if (used > 0 && !read_filter(c, c->question))
		return;
	while (used < c->arg_count) {
		/* HAProxy ignores other words. */
		if (!read_option(c->args[used++], c->question) && c->ours) {
			c->question->malformed = true;
			return;
		}
	}
}
