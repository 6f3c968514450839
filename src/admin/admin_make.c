/* SPDX-License-Identifier: MIT
 *
 * admin_make.c - the answer to one line of a client, generated in pieces.
 *
 * Owns the order of a line's commands, and what separates and follows their answers. Main thread.
 */
#include "admin_make.h"

#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/admin/voice.h"
#include "weir/base/check.h"
#include "admin_accept.h"
#include "admin_client.h"
#include "admin_places.h"
#include "admin_reload.h"

_Static_assert(sizeof(struct client) + 2 * ADMIN_WRITE_BYTES <= ADMIN_CLIENT_BYTES,
	       "a text grows by doubling, and has a line more than ADMIN_WRITE_BYTES");

static const char blanks[] = " \t\r";

/* The words after `word`, if `line` begins with that; else NULL. */
static char *behind_word(char *line, const char *word)
{
	const size_t len = strlen(word);

	line += strspn(line, blanks);
	if (strncmp(line, word, len) != 0 || (line[len] != '\0' && strchr(blanks, line[len]) == NULL))
		return NULL;
	return line + len;
}

/* The word for our texts is about the whole line, not about its first command. */
void admin_make_begin(struct client *c)
{
	char *rest = behind_word(c->request, VOICE_OURS);

	c->peer.ours = rest != NULL;
	c->rest = rest != NULL ? rest : c->request;
}

/* A prompt may stay indefinitely, so some places are kept for clients that ask and leave. */
static void begin_prompt(struct client *c)
{
	struct client *victim;

	if (!admin_places_prompt(c, &victim)) {
		text_printf(&c->answer, "error: too many prompts are open: at most %d, and %d of one user\n",
			    ADMIN_PROMPTS_MAX, ADMIN_ONE_PROMPTS_MAX);
		return;
	}
	if (victim != NULL)
		admin_accept_evict(victim, &c->peer);
	c->prompt = true;
}

static void run_command(struct client *c, const char *command)
{
	switch (admin_command(c->admin->ctx, &c->peer, command, &c->answer, &c->question)) {
	case ADMIN_ANSWERED:
	case ADMIN_ASK_TALLIES:
		break;
	case ADMIN_ASK_SESSIONS:
		admin_listing_begin(&c->listing, &c->asked, c->question.json);
		break;
	case ADMIN_RELOAD:
		admin_reload_ask(c, c->question.wait);
		break;
	case ADMIN_PROMPT:
		begin_prompt(c);
		break;
	case ADMIN_TIMEOUT:
		c->wait_s = c->question.seconds;
		break;
	case ADMIN_QUIT:
		c->prompt = false;
		c->quit = true;
		c->rest = NULL;
		break;
	}
}

static void run_next_command(struct client *c)
{
	const char *command = strsep(&c->rest, ";");

	if (command[strspn(command, blanks)] == '\0')
		return;
	if (c->answered++ > 0)
		text_add(&c->answer, "\n", 1);
	if (c->answered <= ADMIN_COMMANDS_MAX) {
		run_command(c, command);
		return;
	}
	text_printf(&c->answer, "error: too many commands on one line: at most %d\n", ADMIN_COMMANDS_MAX);
	c->rest = NULL;
}

/* Adds what follows the last answer. */
static void conclude(struct client *c)
{
	if (c->answered == 0 && !c->prompt && c->answer.len == 0)
		text_printf(&c->answer, "error: empty request; try help\n");
	if (c->prompt)
		text_printf(&c->answer, "\n> ");
	else if (c->answer.len == 0 && !c->said && !c->quit)
		text_add(&c->answer, "\n", 1); /* done without output; not to be mistaken for a hang-up */
	c->whole = true;
}

/* ---- questions to the workers ---- */

static bool list(struct client *c)
{
	return admin_listing_go_on(&c->listing, &c->answer, ADMIN_WRITE_BYTES) != LISTING_OVER;
}

static bool sum_up(struct client *c)
{
	struct answer a;

	if (c->answer.len > 0)
		return true;
	if (!question_is_open(&c->asked))
		(void)question_ask(&c->asked, QUESTION_TALLIES); /* one at a time: needs no token */
	a = question_answer(&c->asked);
	if (a.kind == ANSWER_PENDING)
		return true;
	if (a.kind == ANSWER_TALLIES)
		admin_show_stat(c->admin->ctx, &c->question, a.tallies, &c->answer);
	else
		text_printf(&c->answer, "error: incomplete: %u worker did not answer\n", a.silent);
	return false;
}

/* True if there is more to come: it waits for a worker, a reload, or for its output to be written. */
static bool go_on_with_question(struct client *c)
{
	bool more = false;

	if (c->question.verdict == ADMIN_ASK_SESSIONS)
		more = list(c);
	else if (c->question.verdict == ADMIN_ASK_TALLIES)
		more = sum_up(c);
	else if (c->question.verdict == ADMIN_RELOAD)
		more = c->asker != NULL;
	if (!more)
		c->question.verdict = ADMIN_ANSWERED;
	return more;
}

/* ---- the whole answer ---- */

/* Discards what has not been written yet and everything after it. */
static void abandon_answer(struct client *c)
{
	text_free(&c->answer);
	text_printf(&c->answer, "error: no memory for the answer\n");
	question_withdraw(&c->asked);
	admin_reload_forget(c);
	c->question.verdict = ADMIN_ANSWERED;
	c->rest = NULL;
	conclude(c);
}

bool admin_make(struct client *c)
{
	while (!c->whole && c->answer.len < ADMIN_WRITE_BYTES && !c->answer.failed) {
		if (go_on_with_question(c))
			break;
		if (c->rest != NULL)
			run_next_command(c);
		else
			conclude(c);
	}
	if (c->answer.failed)
		abandon_answer(c);
	return !c->whole && c->answer.len == 0;
}
