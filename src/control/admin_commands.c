/* SPDX-License-Identifier: MIT
 *
 * admin_commands.c - what the admin protocol understands, one row a command.
 *
 * Reads words and hands them to whoever makes the answer; changes nothing. Main thread. Floor 5.
 */
#include "sluice/control/admin_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/config/suggest.h"
#include "sluice/control/admin_answers.h"

#define COMMAND_MAX 64
#define NUMBERS_MAX 3
#define SECONDS_MAX 3600

struct command {
	const char *words;
	const char *more; /* what may follow, for people */
	const char *help;
	enum admin_verdict verdict;
	void (*run)(const struct admin_context *ctx, struct text *out); /* of ADMIN_ANSWERED */
	bool json;           /* may end in "json" */
	unsigned min_numbers; /* that must follow */
	unsigned max_numbers;
};

static void show_help(const struct admin_context *ctx, struct text *out);

static const struct command commands[] = {
	{"show info", "[json]", "the daemon, its counters, frontends, servers and listeners", ADMIN_ANSWERED,
	 admin_show_info, true, 0, 0},
	{"show pools", "[json]", "pipes and buffers", ADMIN_ANSWERED, admin_show_pools, true, 0, 0},
	{"show sess", "[json]", "one line for each session", ADMIN_ASK_SESSIONS, NULL, true, 0, 0},
	{"show stat", "[IID TYPE SID] [json]", "HAProxy's CSV: frontends, servers, backends",
	 ADMIN_ASK_TALLIES, NULL, true, 0, 3},
	{"prompt", "", "the connection stays open, \"> \" follows each answer", ADMIN_PROMPT, NULL, false, 0,
	 0},
	{"set timeout cli", "SECONDS", "how long a connection with a prompt may be silent", ADMIN_TIMEOUT,
	 NULL, false, 1, 1},
	{"quit", "", "ends a connection with a prompt", ADMIN_QUIT, NULL, false, 0, 0},
	{"help", "", "this list", ADMIN_ANSWERED, show_help, false, 0, 0},
};

static void show_help(const struct admin_context *ctx, struct text *out)
{
	char left[COMMAND_MAX];

	(void)ctx;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		(void)snprintf(left, sizeof(left), "%s %s", commands[i].words, commands[i].more); /* short */
		text_printf(out, "%-32s %s\n", left, commands[i].help);
	}
	text_printf(out, "%-32s %s\n", "A; B", "several commands in one line, their answers in this order");
}

/* Copies with each run of white space as one blank, none at either end; false when it is too long
 * to be a command. */
static bool normalise(const char *in, char out[static COMMAND_MAX])
{
	size_t len = 0;

	while (*in != '\0') {
		in += strspn(in, " \t\r\n");
		for (size_t word = strcspn(in, " \t\r\n"); word > 0; word--) {
			if (len >= COMMAND_MAX - 2) /* a blank may have come behind the last byte */
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

/* The row that `words` begins with, and what follows it; NULL when there is none. */
static const struct command *find_command(const char *words, const char **rest)
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
static bool read_number(const char *word, size_t len, int *number)
{
	char text[16];
	char *end;
	long value;

	if (len == 0 || len >= sizeof(text) - 4)
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	value = strtol(text, &end, 10);
	if (*end != '\0' || value < -1 || value > INT32_MAX)
		return false;
	*number = (int)value;
	return true;
}

/* Reads "IID TYPE SID json" and its like; false when the words are not what the row takes. */
static bool read_rest(const struct command *c, const char *rest, struct admin_question *q)
{
	int numbers[NUMBERS_MAX] = {-1, -1, -1};
	unsigned count = 0;

	while (*rest != '\0') {
		const size_t len = strcspn(rest, " ");

		if (c->json && !q->json && len == 4 && memcmp(rest, "json", 4) == 0)
			q->json = true;
		else if (q->json || count == c->max_numbers || !read_number(rest, len, &numbers[count++]))
			return false;
		rest += len + (rest[len] == ' ' ? 1 : 0);
	}
	if (count != 0 && count != c->max_numbers)
		return false;
	q->iid = numbers[0];
	q->types = numbers[1];
	q->sid = numbers[2];
	q->seconds = numbers[0];
	if (c->verdict == ADMIN_TIMEOUT)
		return q->seconds >= 1 && q->seconds <= SECONDS_MAX;
	return count >= c->min_numbers;
}

static void refuse_unknown(const char *words, struct text *out)
{
	char escaped[4 * COMMAND_MAX];
	struct suggest near;

	log_escape(words, strlen(words), escaped, sizeof(escaped));
	suggest_init(&near, words);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		suggest_offer(&near, commands[i].words, NULL);
	if (near.best != NULL)
		text_printf(out, "error: unknown command '%s'; did you mean '%s'?\n", escaped, near.best);
	else
		text_printf(out, "error: unknown command '%s'; try help\n", escaped);
}

static void answer(const struct command *c, const struct admin_context *ctx, bool json, struct text *out)
{
	struct text lines;

	if (!json) {
		c->run(ctx, out);
		return;
	}
	text_init(&lines);
	c->run(ctx, &lines);
	if (lines.failed)
		out->failed = true;
	else
		admin_json_of_lines(lines.bytes, out);
	text_free(&lines);
}

enum admin_verdict admin_command(const struct admin_context *ctx, const char *command, struct text *out,
				 struct admin_question *q)
{
	const struct command *c;
	char words[COMMAND_MAX];
	const char *rest;

	*q = (struct admin_question){.verdict = ADMIN_ANSWERED};
	if (!normalise(command, words)) {
		text_printf(out, "error: the command is too long; try help\n");
		return ADMIN_ANSWERED;
	}
	c = find_command(words, &rest);
	if (c == NULL) {
		refuse_unknown(words, out);
		return ADMIN_ANSWERED;
	}
	if (!read_rest(c, rest, q)) {
		text_printf(out, "error: the command is '%s%s%s'\n", c->words, c->more[0] != '\0' ? " " : "",
			    c->more);
		return ADMIN_ANSWERED;
	}
	q->verdict = c->verdict;
	if (c->verdict == ADMIN_ANSWERED)
		answer(c, ctx, q->json, out);
	return c->verdict;
}

static void conclude_stat(const struct admin_context *ctx, const struct admin_question *q,
			  const struct text *gathered, struct text *out)
{
	const size_t count = tally_count(ctx->engine);
	struct tally_sum *sums = calloc(count + 1, sizeof(*sums));
	struct tally_sum one;

	if (sums == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; count > 0 && i < gathered->len / sizeof(one); i++) {
		memcpy(&one, gathered->bytes + i * sizeof(one), sizeof(one));
		tally_add(&sums[i % count], &one);
	}
	admin_show_stat(ctx, q, sums, out);
	free(sums);
}

void admin_conclude(const struct admin_context *ctx, const struct admin_question *q,
		    const struct text *gathered, struct text *out)
{
	const char *lines = gathered->bytes != NULL ? gathered->bytes : "";

	if (gathered->failed)
		out->failed = true;
	else if (q->verdict == ADMIN_ASK_TALLIES)
		conclude_stat(ctx, q, gathered, out);
	else if (q->json)
		admin_json_of_sessions(lines, out);
	else
		text_add(out, lines, gathered->len);
}
