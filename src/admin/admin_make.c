/* SPDX-License-Identifier: MIT
 *
 * admin_make.c - the answer to one line of a client, generated in pieces.
 *
 * Owns the order of a line's commands, and what separates and follows their answers. Main thread.
 */
#include "admin_make.h"

#include <errno.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/admin/voice.h"
#include "weir/balance/run_time.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "admin_accept.h"
#include "admin_client.h"
#include "admin_places.h"
#include "admin_reload.h"
#include "admin_wish.h"
#include "admin_words.h"

_Static_assert(sizeof(struct client) + ADMIN_REQUEST_MAX + 2 * ADMIN_WRITE_BYTES < ADMIN_CLIENT_BYTES,
	       "a text grows by doubling, and has a line more than ADMIN_WRITE_BYTES");

static const char blanks[] = " \t\r";

/* The words behind `word`, if `text` begins with that; else NULL. */
static char *behind_word(char *text, const char *word)
{
	const size_t len = strlen(word);

	text += strspn(text, blanks);
	if (strncmp(text, word, len) != 0 || (text[len] != '\0' && strchr(blanks, text[len]) == NULL))
		return NULL;
	return text + len;
}

/* HAProxy's master process takes commands for its worker with this prefix. There is only one process here. */
static char *skip_worker(char *text)
{
	char *behind = behind_word(text, "@1");

	return behind != NULL ? behind : text;
}

/* The word for our texts is about the whole line, not only about its first command. Returns what follows. */
static char *read_voice(struct client *c)
{
	char *text = skip_worker(c->request.bytes);
	char *behind = behind_word(text, VOICE_OURS);

	c->peer.ours = behind != NULL;
	return behind != NULL ? behind : text;
}

void admin_make_begin(struct client *c)
{
	c->rest = read_voice(c);
}

void admin_make_refusal(struct client *c, const char *why)
{
	c->request.bytes[c->request.len] = '\0';
	(void)read_voice(c);
	text_printf(&c->answer, "error: %s; try help\n%s", why, c->peer.ours ? "" : "\n");
}

/* A prompt may stay indefinitely, so some places are kept for clients that ask and leave. */
static void toggle_prompt(struct client *c)
{
	struct client *victim;

	if (c->prompt) {
		c->prompt = false;
		return;
	}
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
		admin_listing_begin(&c->listing, &c->asked, &c->question);
		break;
	case ADMIN_RELOAD:
	case ADMIN_PLAN:
	case ADMIN_ROLLBACK:
	case ADMIN_CONFIRM:
		admin_reload_ask(c);
		break;
	case ADMIN_WAIT:
		admin_wait_begin(c);
		break;
	case ADMIN_PROMPT:
		toggle_prompt(c);
		break;
	case ADMIN_TIMEOUT:
		c->wait_s = (double)c->question.timeout_ns / (double)NS_PER_SEC;
		break;
	case ADMIN_SEVERITY:
		c->peer.severity = c->question.severity;
		break;
	case ADMIN_QUIT:
		c->prompt = false;
		c->quit = true;
		c->due = false;
		c->rest = NULL;
		break;
	}
}

/* ---- changes of one line, which take effect together ---- */

static void begin_changes(struct client *c)
{
	if (c->changing || c->admin->ctx->updates == NULL)
		return;
	c->changing = true;
	run_time_begin(c->admin->ctx->updates);
}

static void end_changes(struct client *c)
{
	if (!c->changing)
		return;
	c->changing = false;
	if (run_time_end(c->admin->ctx->updates) != 0)
		text_printf(&c->answer, "error: changed, but not in effect yet: %s\n", strerror(ENOMEM));
}

/* ---- the commands of one line ---- */

static void run_next_command(struct client *c)
{
	const char *command = skip_worker(admin_words_cut(&c->rest));

	/* To HAProxy, an empty command is one that it does not know. */
	if (c->peer.ours && command[strspn(command, blanks)] == '\0')
		return;
	if (c->answered++ > 0 && c->peer.ours)
		text_add(&c->answer, "\n", 1);
	c->due = !c->peer.ours;
	if (admin_command_changes(command))
		begin_changes(c);
	else
		end_changes(c);
	if (c->answered <= ADMIN_COMMANDS_MAX) {
		run_command(c, command);
		return;
	}
	text_printf(&c->answer, "error: too many commands on one line: at most %d\n", ADMIN_COMMANDS_MAX);
	c->rest = NULL;
}

/* Adds what follows the answer to a command for HAProxy's tools: an empty line, and the prompt. */
static void end_command(struct client *c)
{
	if (!c->due)
		return;
	c->due = false;
	text_printf(&c->answer, "\n%s", c->prompt ? "> " : "");
}

/* Adds what follows the last answer of a line for our own verbs. */
static void conclude_in_ours(struct client *c)
{
	if (c->answered == 0 && !c->prompt && c->answer.len == 0)
		text_printf(&c->answer, "error: empty request; try help\n");
	if (c->prompt)
		text_printf(&c->answer, "\n> ");
	else if (c->answer.len == 0 && !c->said && !c->quit)
		text_add(&c->answer, "\n", 1); /* done without output; not to be mistaken for a hang-up */
}

static void conclude(struct client *c)
{
	check(!c->due);
	if (c->peer.ours)
		conclude_in_ours(c);
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
	if (a.kind == ANSWER_TALLIES && c->question.sums == SUMS_SHOWN)
		admin_show_stat(c->admin->ctx, &c->question, a.tallies, &c->answer);
	else if (a.kind == ANSWER_TALLIES)
		admin_clear_counters(c->admin->ctx, c->question.sums == SUMS_CLEAR_ALL, a.tallies);
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
	else if (admin_is_wish(c->question.verdict))
		more = c->asker != NULL;
	else if (c->question.verdict == ADMIN_WAIT)
		more = admin_wait_go_on(c);
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
	admin_wait_forget(c);
	c->question.verdict = ADMIN_ANSWERED;
	c->rest = NULL;
	end_command(c);
	conclude(c);
}

/* Health checks and names may have changed servers in this turn, which workers hear of at its end. */
static void put_in_force(const struct client *c)
{
	if (c->admin->ctx->updates != NULL)
		server_updates_publish(c->admin->ctx->updates);
}

bool admin_make(struct client *c)
{
	put_in_force(c); /* before anybody is told */
	while (!c->whole && c->answer.len < ADMIN_WRITE_BYTES && !c->answer.failed) {
		if (go_on_with_question(c))
			break;
		if (c->rest == NULL)
			end_changes(c); /* if that fails, it is part of the last answer */
		end_command(c);
		if (c->rest != NULL)
			run_next_command(c);
		else
			conclude(c);
	}
	end_changes(c);
	if (c->answer.failed)
		abandon_answer(c);
	return !c->whole && c->answer.len == 0;
}
