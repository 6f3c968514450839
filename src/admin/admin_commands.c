/* SPDX-License-Identifier: MIT
 *
 * admin_commands.c - runs one command of the admin protocol.
 *
 * Parses the words, checks whether this peer may use the command, and calls the function of its row that
 * answers. HAProxy's clients get HAProxy's answers, also where its grammar is laxer than ours. Main thread.
 */
#include "weir/admin/admin_commands.h"

#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "admin_row.h"
#include "admin_wish.h"
#include "admin_words.h"

#define TIMEOUT_MAX_NS (3600 * NS_PER_SEC)

/* The row that the words begin with: the one with the most words. NULL if there is none. */
static const struct admin_row *find_row(const struct admin_words *w, size_t *own_words)
{
	const struct admin_row *best = NULL, *row;

	*own_words = 0;
	for (size_t i = 0; (row = admin_row(i)) != NULL; i++) {
		const size_t count = admin_words_match(w, row->words);

		if (count <= *own_words)
			continue;
		best = row;
		*own_words = count;
	}
	return best;
}

/* The form of the same command that takes `count` arguments; NULL if there is none. */
static const struct admin_row *find_form(const struct admin_row *any, unsigned count)
{
	const struct admin_row *row;

	for (size_t i = 0; (row = admin_row(i)) != NULL; i++)
		if (strcmp(row->words, any->words) == 0 && count >= row->min_args && count <= row->max_args)
			return row;
	return NULL;
}

/* The most arguments of any form. */
static unsigned most_args(const struct admin_row *any)
{
	const struct admin_row *row;
	unsigned most = 0;

	for (size_t i = 0; (row = admin_row(i)) != NULL; i++)
		if (strcmp(row->words, any->words) == 0 && row->max_args > most)
			most = row->max_args;
	check(most <= ADMIN_ARGS_MAX);
	return most;
}

/* Takes the words behind the command's own. The writer of JSON stays only if it is wanted, by a last word.
 * False if their number is that of no form. */
static bool read_args(const struct admin_row *row, const struct admin_words *w, size_t own_words,
		      struct admin_call *c)
{
	const bool lax = row->whose == ADMIN_OF_HAPROXY && !c->ours;
	const unsigned most = most_args(row);
	size_t end = w->count;

	for (size_t i = 0; i < ARRAY_LEN(c->args); i++)
		c->args[i] = "";
	if (row->json != ADMIN_JSON_NEVER && end > own_words && strcmp(w->words[end - 1], "json") == 0)
		end--;
	else
		c->json = NULL;
	if (!lax && (w->more || end - own_words > most))
		return false;
	for (size_t i = own_words; i < end && c->arg_count < most; i++)
		c->args[c->arg_count++] = w->words[i];
	return lax || find_form(row, c->arg_count) != NULL;
}

/* ---- questions ---- */

/* "cli TIME"; HAProxy has no upper limit. */
static bool read_timeout(const struct admin_row *row, const struct admin_call *c, struct admin_question *q)
{
	const bool is_cli = strcmp(c->args[0], "cli") == 0;
	const bool is_time = admin_read_time(c->args[1], NS_PER_SEC, &q->timeout_ns) &&
			     q->timeout_ns >= NS_PER_MS;

	if (!is_cli || !is_time || (c->ours && q->timeout_ns > TIMEOUT_MAX_NS)) {
		if (c->ours)
			admin_refuse_form(c, row);
		else
			admin_say(c, ADMIN_SAYS_ERROR, "%s",
				  !is_cli		    ? "'set timeout' only supports 'cli'."
				  : c->args[1][0] == '\0' ? "Expects an integer value."
							    : "Invalid timeout value.");
		return false;
	}
	if (q->timeout_ns > TIMEOUT_MAX_NS)
		q->timeout_ns = TIMEOUT_MAX_NS;
	return true;
}

/* "none|number|string" */
static bool read_severity(const struct admin_call *c, struct admin_question *q)
{
	static const char *const words[] = {
		[ADMIN_SEVERITY_NONE] = "none",
		[ADMIN_SEVERITY_NUMBER] = "number",
		[ADMIN_SEVERITY_STRING] = "string",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		q->severity = (enum admin_severity)i;
		if (strcmp(c->args[0], words[i]) == 0)
			return true;
	}
	admin_refuse(c, "one of 'none', 'number', 'string' is a required argument",
		     "the severity must be none, number or string");
	return false;
}

/* The arguments of a question to the workers, or to the caller. False if they are wrong, which has been
 * answered. */
static bool read_question(const struct admin_row *row, const struct admin_call *c, struct admin_question *q)
{
	q->json = c->json != NULL;
	q->iid = -1;
	q->types = -1;
	q->sid = -1;
	if (admin_is_wish(row->verdict)) {
		if (admin_read_wish(c, row->verdict, &q->wish))
			return true;
		admin_refuse_form(c, row);
		return false;
	}
	if (row->verdict == ADMIN_TIMEOUT)
		return read_timeout(row, c, q);
	if (row->verdict == ADMIN_SEVERITY)
		return read_severity(c, q);
	if (row->verdict == ADMIN_WAIT)
		return admin_read_wait(c, q);
	return true;
}

/* ---- the command ---- */

static void answer(const struct admin_row *row, struct admin_call *c)
{
	struct text *out = c->out;
	struct text lines;

	if (c->json == NULL || row->json != ADMIN_JSON_OF_LINES) {
		row->run(c);
		return;
	}
	text_init(&lines);
	c->out = &lines;
	row->run(c);
	if (lines.failed)
		out->failed = true;
	else
		admin_json_of_lines(lines.bytes, c->json);
	text_free(&lines);
}

bool admin_command_changes(const char *command)
{
	const struct admin_row *row = NULL;
	struct admin_words words;
	size_t own_words;

	if (admin_words_split(&words, command))
		row = find_row(&words, &own_words);
	return row != NULL && row->verdict == ADMIN_ANSWERED && row->level == CONFIG_ADMIN_ADMIN;
}

enum admin_verdict admin_command(const struct admin_context *ctx, const struct admin_peer *peer,
				 const char *command, struct text *out, struct admin_question *q)
{
	struct json json;
	struct admin_call call = {.ctx = ctx, .peer = peer, .ours = peer->ours, .out = out, .json = &json};
	const struct admin_row *row;
	struct admin_words words;
	size_t own_words;

	*q = (struct admin_question){.verdict = ADMIN_ANSWERED, .ours = peer->ours, .fd = -1};
	call.question = q;
	json_init(&json, out, JSON_CODES);
	if (!admin_words_split(&words, command)) {
		admin_refuse(&call, NULL, "the command is longer than %d bytes; try help", ADMIN_REQUEST_MAX);
		return ADMIN_ANSWERED;
	}
	row = find_row(&words, &own_words);
	if (row == NULL) {
		admin_refuse_unknown(&call, &words);
		return ADMIN_ANSWERED;
	}
	if (row->level > peer->level) {
		admin_refuse_level(&call, row);
		return ADMIN_ANSWERED;
	}
	if (!read_args(row, &words, own_words, &call)) {
		admin_refuse_form(&call, row);
		return ADMIN_ANSWERED;
	}
	if (!read_question(row, &call, q))
		return ADMIN_ANSWERED;
	q->verdict = row->verdict;
	if (row->run != NULL)
		answer(row, &call);
	if (q->malformed)
		admin_refuse_form(&call, row);
	return q->malformed ? ADMIN_ANSWERED : q->verdict;
}
