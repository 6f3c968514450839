/* SPDX-License-Identifier: MIT
 *
 * admin_commands.c - the commands of the admin protocol.
 *
 * They are the rows of commands.tbl.h. Parses the words, checks whether this peer may use the command, and
 * calls the function that answers. Main thread.
 */
#include "weir/admin/admin_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/config/suggest.h"

#define COMMAND_MAX 320 /* a command with two names */
#define SECONDS_MAX 3600
#define NEAR_MAX    40u /* anything longer was not meant to be a command */

/* How an answer becomes JSON. */
enum json_way { JSON_NEVER, JSON_OF_LINES, JSON_OWN };

enum command_owner { COMMAND_OF_HAPROXY, COMMAND_OF_WEIR };

struct command {
	const char *words;
	const char *more; /* arguments, for people */
	const char *help;
	enum command_owner whose;
	enum admin_verdict verdict;
	enum config_admin_level level;            /* that it requires */
	void (*run)(const struct admin_call *c); /* for ADMIN_ANSWERED */
	enum json_way json;
	unsigned min_args;
	unsigned max_args;
};

static const struct command commands[] = {
#define COMMAND(words, more, help, whose, verdict, level, run, json, min, max)                               \
	{words, more, help, COMMAND_OF_##whose, ADMIN_##verdict, CONFIG_ADMIN_##level,                       \
	 run, JSON_##json, min, max},
#include "commands.tbl.h"
#undef COMMAND
};

static const char *const level_words[] = {
#define ADMIN_LEVEL(name, word, may) [CONFIG_ADMIN_##name] = word,
#include "weir/config/admin_levels.tbl.h"
#undef ADMIN_LEVEL
};

/* Lists what this peer may do, so that nobody tries the rest. */
void admin_show_help(const struct admin_call *c)
{
	char left[COMMAND_MAX];

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (commands[i].level > c->peer->level)
			continue;
		(void)snprintf(left, sizeof(left), "%s %s", commands[i].words, commands[i].more); /* short */
		text_printf(c->out, "%-51s %s\n", left, commands[i].help);
	}
	text_printf(c->out, "%-51s %s\n", "A; B", "several commands on one line, answered in order");
}

/* Copies with each run of white space reduced to one blank, and none at either end. False if it is too long
 * to be a command. */
static bool normalise(const char *in, char out[static COMMAND_MAX])
{
	size_t len = 0;

	while (*in != '\0') {
		in += strspn(in, " \t\r\n");
		for (size_t word = strcspn(in, " \t\r\n"); word > 0; word--) {
			if (len >= COMMAND_MAX - 2) /* a blank may precede the last byte */
				return false;
			out[len++] = *in++;
		}
		if (len > 0 && *in != '\0')
			out[len++] = ' ';
	}
	while (len > 0 && out[len - 1] == ' ')
		len--;
	out[len] = '\0';
	return true;
}

/* The row that `words` begins with, and the rest of the line; NULL if there is none. */
static const struct command *find_command(char *words, char **rest)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		size_t len = strlen(commands[i].words);

		if (strncmp(words, commands[i].words, len) != 0)
			continue;
		if (words[len] != '\0' && words[len] != ' ')
			continue;
		*rest = words + len + (words[len] == ' ' ? 1 : 0);
		return &commands[i];
	}
	return NULL;
}

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

/* Splits `rest` into words; false if the number does not match the row. Keeps the JSON writer only if it is
 * wanted. */
static bool read_args(const struct command *row, char *rest, struct admin_call *c)
{
	struct json *json = c->json;
	char *word;

	c->json = NULL;
	for (size_t i = 0; i < ARRAY_LEN(c->args); i++)
		c->args[i] = "";
	while (rest != NULL && (word = strsep(&rest, " ")) != NULL && word[0] != '\0') {
		if (c->json != NULL)
			return false; /* it must be the last word */
		if (row->json != JSON_NEVER && strcmp(word, "json") == 0 && rest == NULL)
			c->json = json;
		else if (c->arg_count == row->max_args)
			return false;
		else
			c->args[c->arg_count++] = word;
	}
	return c->arg_count >= row->min_args;
}

/* "PROXY TYPE SID", all or none; PROXY may be a name. */
static bool read_filter(const struct admin_call *c, struct admin_question *q)
{
	if (c->arg_count == 0)
		return true;
	if (c->arg_count != 3 || !read_number_or_all(c->args[1], &q->types) ||
	    !read_number_or_all(c->args[2], &q->sid))
		return false;
	if (read_number_or_all(c->args[0], &q->iid))
		return true;
	q->iid = (int)admin_proxy_iid(c->ctx->engine, c->args[0]);
	return q->iid != 0;
}

/* "[wait]" */
static bool read_wait(const struct admin_call *c, struct admin_question *q)
{
	q->wait = c->arg_count > 0;
	return !q->wait || strcmp(c->args[0], "wait") == 0;
}

/* The arguments of a question to the workers, or to the caller. */
static bool read_question(const struct command *row, const struct admin_call *c, struct admin_question *q)
{
	q->json = c->json != NULL;
	q->iid = -1;
	q->types = -1;
	q->sid = -1;
	if (row->verdict == ADMIN_ASK_TALLIES)
		return read_filter(c, q);
	if (row->verdict == ADMIN_RELOAD)
		return read_wait(c, q);
	if (row->verdict == ADMIN_TIMEOUT)
		return read_number_or_all(c->args[0], &q->seconds) && q->seconds >= 1 &&
		       q->seconds <= SECONDS_MAX;
	return true;
}

/* The first `count` words of `words`. */
static void cut_words(const char *words, size_t count, char out[static COMMAND_MAX])
{
	size_t len = 0;

	for (; count > 0 && words[len] != '\0'; count--) {
		len += words[len] == ' ';
		len += strcspn(words + len, " ");
	}
	memcpy(out, words, len);
	out[len] = '\0';
}

/* The command that `words` was probably meant to begin with; NULL if none is similar. */
static const char *nearest_command(const char *words)
{
	const char *best = NULL;
	size_t best_distance = 0;
	char begin[COMMAND_MAX];

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		struct suggest near;
		size_t count = 1;

		for (const char *c = commands[i].words; *c != '\0'; c++)
			count += *c == ' ';
		cut_words(words, count, begin);
		if (strlen(begin) > NEAR_MAX)
			continue;
		suggest_init(&near, begin);
		suggest_offer(&near, commands[i].words, NULL);
		if (near.best == NULL || (best != NULL && near.distance >= best_distance))
			continue;
		best = near.best;
		best_distance = near.distance;
	}
	return best;
}

static void refuse_unknown(const char *words, struct text *out)
{
	const char *near = nearest_command(words);
	char escaped[4 * COMMAND_MAX];

	log_escape(words, strlen(words), escaped, sizeof(escaped));
	if (near != NULL)
		text_printf(out, "error: unknown command '%s'; did you mean '%s'?\n", escaped, near);
	else
		text_printf(out, "error: unknown command '%s'; try help\n", escaped);
}

static void answer(const struct command *row, struct admin_call *c)
{
	struct text *out = c->out;
	struct text lines;

	if (c->json == NULL || row->json != JSON_OF_LINES) {
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

/* Lists the forms of a command, of which there may be several. */
static void refuse_form(const struct command *row, struct text *out)
{
	const char *sign = "error: usage: '";

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].words, row->words) != 0)
			continue;
		text_printf(out, "%s%s%s%s'", sign, row->words, commands[i].more[0] != '\0' ? " " : "",
			    commands[i].more);
		sign = " or '";
	}
	text_add(out, "\n", 1);
}

static void refuse_level(const struct admin_peer *peer, const struct command *row, struct text *out)
{
	text_printf(out,
		    "error: uid %u may not use '%s' on this socket (level '%s'); write level=%s on the "
		    "'admin-socket' line in [global], or connect as root\n",
		    (unsigned)peer->uid, row->words, level_words[peer->level], level_words[row->level]);
}

enum admin_verdict admin_command(const struct admin_context *ctx, const struct admin_peer *peer,
				 const char *command, struct text *out, struct admin_question *q)
{
	struct json json;
	struct admin_call call = {.ctx = ctx, .peer = peer, .ours = peer->ours, .out = out, .json = &json};
	const struct command *row;
	char words[COMMAND_MAX];
	char *rest;

	*q = (struct admin_question){.verdict = ADMIN_ANSWERED};
	json_init(&json, out, JSON_CODES);
	if (!normalise(command, words)) {
		text_printf(out, "error: the command is too long; try help\n");
		return ADMIN_ANSWERED;
	}
	row = find_command(words, &rest);
	if (row == NULL) {
		refuse_unknown(words, out);
		return ADMIN_ANSWERED;
	}
	if (row->level > peer->level) {
		refuse_level(peer, row, out);
		return ADMIN_ANSWERED;
	}
	if (!read_args(row, rest, &call) || !read_question(row, &call, q)) {
		refuse_form(row, out);
		return ADMIN_ANSWERED;
	}
	q->verdict = row->verdict;
	if (row->verdict == ADMIN_ANSWERED)
		answer(row, &call);
	return row->verdict;
}
