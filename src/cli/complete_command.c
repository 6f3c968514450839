/* SPDX-License-Identifier: MIT
 *
 * complete_command.c - what may come next in a command of the admin protocol.
 *
 * The words are those of the forms that the daemon has; names come from a running one, which is asked once
 * and only if a name may come next. Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "ask.h"
#include "command_form.h"
#include "complete.h"
#include "view.h"

/* As long as a person at a prompt waits for a machine under load; an answer takes milliseconds. */
#define COMPLETE_WAIT_MS 2000
#define NAME_MAX_BYTES	 (256 + 2 * CONFIG_NAME_MAX)

enum {
	NAMES_FRONTENDS = 1 << 0,
	NAMES_BACKENDS = 1 << 1,
	NAMES_SERVERS = 1 << 2,
	NAMES_FILES = 1 << 3,
};

/* What the capitals of a form stand for; anything else has no list. */
static const struct {
	const char *word;
	unsigned names;
} placeholders[] = {
	{"BACKEND/SERVER", NAMES_SERVERS},
	{"BACKEND[/SERVER]", NAMES_BACKENDS | NAMES_SERVERS},
	{"BACKEND", NAMES_BACKENDS},
	{"FRONTEND", NAMES_FRONTENDS},
	{"PROXY", NAMES_FRONTENDS | NAMES_BACKENDS},
	{"FILE", NAMES_FILES},
};

/* The running weir, which is asked when the first name is needed. */
struct live {
	const struct cli_args *args; /* borrows; NULL = it is not asked */
	bool asked;
	struct view view; /* empty until it has answered */
};

static unsigned names_for(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(placeholders); i++)
		if (strlen(placeholders[i].word) == len && memcmp(placeholders[i].word, text, len) == 0)
			return placeholders[i].names;
	return 0;
}

/* Fails without a message that anybody sees: a shell shows only what is on stdout. */
static void ask_names(struct live *live)
{
	struct addr_spec spec = {.kind = ADDR_NONE};

	if (live->asked || live->args == NULL)
		return;
	live->asked = true;
	if (ask_find(live->args, &spec) == EXIT_FINE &&
	    view_take(&live->view, &spec, COMPLETE_WAIT_MS) != EXIT_FINE)
		view_free(&live->view);
}

/* Adds the names of rows after `len` bytes of `before`. */
static void add_rows(struct candidates *out, const char *before, size_t len, const struct view_row *rows,
		     size_t count, bool servers)
{
	char text[NAME_MAX_BYTES];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(text, sizeof(text), "%.*s%s%s%s", (int)len, before, rows[i].proxy,
			       servers ? "/" : "", servers ? rows[i].name : ""); /* fits */
		candidates_add(out, "", text, strlen(text), rows[i].state);
	}
}

static void add_names(struct candidates *out, const char *before, size_t len, unsigned names,
		      struct live *live)
{
	const struct view *v = &live->view;

	if ((names & NAMES_FILES) != 0)
		out->files = true;
	if ((names & ~(unsigned)NAMES_FILES) == 0)
		return;
	ask_names(live);
	if ((names & NAMES_FRONTENDS) != 0)
		add_rows(out, before, len, v->frontends, v->frontend_count, false);
	if ((names & NAMES_BACKENDS) != 0)
		add_rows(out, before, len, v->backends, v->backend_count, false);
	if ((names & NAMES_SERVERS) != 0)
		add_rows(out, before, len, v->servers, v->server_count, true);
}

/* Adds the literal words, "b=" of "b=NAME" until it is there, and then the names for NAME. */
static void add_choice(struct candidates *out, const struct form_choice *choice, const char *help,
		       struct live *live)
{
	const size_t literal = choice->literal, typed = strlen(out->begin);

	if (literal == choice->len || (literal > typed && choice->text[literal - 1] == '='))
		candidates_add(out, "", choice->text, literal, help);
	else if (typed >= literal && memcmp(out->begin, choice->text, literal) == 0)
		add_names(out, choice->text, literal,
			  names_for(choice->text + literal, choice->len - literal), live);
}

/* Adds what may be in one of `places`. */
static void add_places(struct candidates *out, const struct command_form *form, uint32_t places,
		       const char *help, struct live *live)
{
	for (size_t i = 0; i < form->count; i++) {
		struct form_choice choice;

		for (size_t at = 0; (places & UINT32_C(1) << i) != 0 &&
				    command_form_choice(&form->words[i], &at, &choice);)
			add_choice(out, &choice, help, live);
	}
}

static void add_forms(struct candidates *out, const char *const *words, size_t count, struct live *live)
{
	struct admin_form text;

	for (size_t i = 0; admin_form_at(i, &text); i++) {
		struct command_form form;
		uint32_t places;

		command_form_read(&form, &text);
		places = command_form_begin(&form);
		for (size_t j = 0; j < count && places != 0; j++)
			places = command_form_step(&form, places, words[j]);
		add_places(out, &form, places, text.help, live);
	}
}

void complete_command(const struct cli_args *a, const char *const *words, size_t count,
		      struct candidates *out)
{
	/* What follows `help` is a command again. */
	const bool help = count > 0 && strcmp(words[0], "help") == 0;
	struct live live = {.args = help ? NULL : a};

	view_init(&live.view);
	add_forms(out, words + help, count - help, &live);
	view_free(&live.view);
}
