/* SPDX-License-Identifier: MIT
 *
 * command.c - a command that changes the demo's daemon: sends it, and keeps what the answer says.
 *
 * Main thread of the parent.
 */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "weir/admin/voice.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define ERROR_MARK " error: "
#define RELOADED   "reloaded: "

static void copy_line(char out[static COMMAND_LINE_MAX], const char *line)
{
	(void)snprintf(out, COMMAND_LINE_MAX, "%.*s", (int)strcspn(line, "\n"), line); /* may be cut */
}

void command_take(struct command *c, const char *text)
{
	const char *error = strstr(text, ERROR_MARK);

	c->error[0] = '\0';
	c->last[0] = '\0';
	if (error != NULL)
		copy_line(c->error, error + sizeof(ERROR_MARK) - 1);
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		if (len > 0) /* an empty line separates the answers of two commands */
			copy_line(c->last, text);
		text += text[len] == '\n' ? len + 1 : len;
	}
	c->answered = true;
}

void command_give_up(struct command *c, const char *why)
{
	asker_stop(&c->asker);
	c->error[0] = '\0';
	copy_line(c->last, why);
	c->answered = true;
}

static void on_answer(void *arg, const char *text)
{
	command_take(arg, text);
}

bool command_is_busy(const struct command *c)
{
	return c->began_ns != 0;
}

/* The buffer has room for what the story sends. */
static void set_question(struct command *c, const char *words)
{
	const int len = snprintf(c->question, sizeof(c->question), VOICE_OURS " %s\n", words);

	check(len > 0 && (size_t)len < sizeof(c->question));
}

bool command_go_on(struct command *c, const char *words)
{
	const int64_t now_ns = clock_mono_ns();

	if (c->began_ns == 0) {
		set_question(c, words);
		c->began_ns = now_ns;
		c->sent = false;
		c->answered = false;
	}
	if (!c->sent)
		c->sent = asker_ask(&c->asker);
	else if (!c->answered && !asker_is_busy(&c->asker))
		command_give_up(c, "weir closed the connection without an answer");
	if (!c->answered && now_ns - c->began_ns > COMMAND_PATIENCE_S * NS_PER_SEC)
		command_give_up(c, "weir did not answer");
	if (c->answered)
		c->began_ns = 0;
	return c->answered;
}

static bool begins_with(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

bool command_is_refused(const struct command *c)
{
	return begins_with(c->last, "not reloaded: ");
}

const char *command_change(const struct command *c, const char *change)
{
	if (!begins_with(c->last, RELOADED) || strstr(c->last, change) == NULL)
		return NULL;
	return c->last + sizeof(RELOADED) - 1;
}

void command_init(struct command *c, struct ev_loop *loop, const char *admin)
{
	memset(c, 0, sizeof(*c));
	asker_init(&c->asker, loop, admin, c->question);
	c->asker.on_answer = on_answer;
	c->asker.arg = c;
}

void command_stop(struct command *c)
{
	asker_stop(&c->asker);
}
