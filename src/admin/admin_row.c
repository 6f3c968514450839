/* SPDX-License-Identifier: MIT
 *
 * admin_row.c - the rows of commands.tbl.h, and texts made of them: lists, and what is similar.
 *
 * HAProxy's tools recognize its sentences; the lists below them are of our commands. Main thread.
 */
#include "admin_row.h"

#include <stdio.h>
#include <string.h>

#include "weir/admin/admin_form.h"
#include "weir/base/check.h"
#include "weir/base/log.h"
#include "weir/config/suggest.h"

#define LEFT_MAX 160  /* a command and its arguments in a list */
#define NEAR_MAX 40u  /* anything longer was not meant to be a command */
#define SHOWN_MAX 320 /* of an unknown command */

static const struct admin_row rows[] = {
#define COMMAND(words, more, help, whose, verdict, level, run, json, min, max)                               \
	{words, more, help, ADMIN_OF_##whose, ADMIN_##verdict, CONFIG_ADMIN_##level,                         \
	 run, ADMIN_JSON_##json, min, max},
#include "commands.tbl.h"
#undef COMMAND
};

static const char *const level_words[] = {
#define ADMIN_LEVEL(name, word, may) [CONFIG_ADMIN_##name] = word,
#include "weir/config/admin_levels.tbl.h"
#undef ADMIN_LEVEL
};

const struct admin_row *admin_row(size_t i)
{
	return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

bool admin_form_at(size_t i, struct admin_form *form)
{
	const struct admin_row *row = admin_row(i);

	if (row == NULL)
		return false;
	*form = (struct admin_form){.words = row->words, .more = row->more, .help = row->help};
	return true;
}

/* ---- lists ---- */

/* Do the words of the row begin with `begin`, in whole words? */
static bool row_begins(const struct admin_row *row, const char *begin)
{
	const size_t len = strlen(begin);

	return strncmp(row->words, begin, len) == 0 &&
	       (len == 0 || row->words[len] == '\0' || row->words[len] == ' ');
}

/* May this peer use the command, and does it begin with `begin`? */
static bool is_listed(const struct admin_call *c, const struct admin_row *row, const char *begin)
{
	return row->level <= c->peer->level && row_begins(row, begin);
}

static bool is_any_listed(const struct admin_call *c, const char *begin)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_listed(c, &rows[i], begin))
			return true;
	return false;
}

/* HAProxy ends each list with these. */
static bool is_always_listed(const struct admin_row *row)
{
	return strcmp(row->words, "help") == 0 || strcmp(row->words, "prompt") == 0 ||
	       strcmp(row->words, "quit") == 0;
}

static void list_row(const struct admin_call *c, const struct admin_row *row)
{
	char left[LEFT_MAX];

	(void)snprintf(left, sizeof(left), "%s%s%s", row->words, row->more[0] != '\0' ? " " : "",
		       row->more); /* short */
	text_printf(c->out, c->ours ? "%-51s %s\n" : "  %-40s: %s\n", left, row->help);
}

static void list_rows(const struct admin_call *c, const char *begin)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (is_listed(c, &rows[i], begin) && (c->ours || !is_always_listed(&rows[i])))
			list_row(c, &rows[i]);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!c->ours && is_always_listed(&rows[i]))
			list_row(c, &rows[i]);
}

/* Lists what this peer may do, so that nobody tries the rest. */
void admin_show_help(const struct admin_call *c)
{
	char begin[NEAR_MAX + 1] = "";
	struct text words;

	text_over(&words, begin, sizeof(begin));
	for (unsigned i = 0; i < c->arg_count; i++)
		text_printf(&words, "%s%s", i > 0 ? " " : "", c->args[i]);
	if (words.failed || !is_any_listed(c, begin))
		begin[0] = '\0';
	if (!c->ours)
		admin_say(c, ADMIN_SAYS_INFO, "The following commands are valid at this level:");
	list_rows(c, begin);
	if (c->ours && begin[0] == '\0')
		text_printf(c->out, "%-51s %s\n", "A; B",
			    "several commands on one line, answered in order");
}

/* ---- refusals ---- */

static size_t count_words(const char *words)
{
	size_t count = 1;

	for (; *words != '\0'; words++)
		count += *words == ' ';
	return count;
}

/* The command that the words were probably meant to begin with; NULL if none is similar. */
static const char *nearest_command(const struct admin_words *w)
{
	const char *best = NULL;
	size_t best_distance = 0;
	char begin[SHOWN_MAX];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct suggest near;

		(void)admin_words_join(w, count_words(rows[i].words), begin, sizeof(begin));
		if (strlen(begin) > NEAR_MAX)
			continue;
		suggest_init(&near, begin);
		suggest_offer(&near, rows[i].words, NULL);
		if (near.best == NULL || (best != NULL && near.distance >= best_distance))
			continue;
		best = near.best;
		best_distance = near.distance;
	}
	return best;
}

static void refuse_in_ours(const struct admin_call *c, const struct admin_words *w)
{
	char words[SHOWN_MAX], escaped[4 * SHOWN_MAX];
	const char *near = nearest_command(w);

	(void)admin_words_join(w, w->count, words, sizeof(words));
	log_escape(words, strlen(words), escaped, sizeof(escaped));
	if (near != NULL)
		admin_refuse(c, NULL, "unknown command '%s'; did you mean '%s'?", escaped, near);
	else
		admin_refuse(c, NULL, "unknown command '%s'; try help", escaped);
}

/* What the commands to be listed begin with: the most words that some do, or a similar command. NULL =
 * all. */
static const char *similar_commands(const struct admin_call *c, const struct admin_words *w,
				    char begin[static SHOWN_MAX])
{
	for (size_t count = w->count; count > 0; count--)
		if (is_any_listed(c, admin_words_join(w, count, begin, SHOWN_MAX)))
			return begin;
	return w->count > 0 ? nearest_command(w) : NULL;
}

static void refuse_in_haproxys(const struct admin_call *c, const struct admin_words *w)
{
	char buf[SHOWN_MAX];
	const char *begin = similar_commands(c, w, buf);

	admin_say(c, ADMIN_SAYS_INFO, "%s",
		  begin != NULL
			  ? "Unknown command, but maybe one of the following ones is a better match:"
			  : "Unknown command. Please enter one of the following commands only:");
	list_rows(c, begin != NULL ? begin : "");
}

void admin_refuse_unknown(const struct admin_call *c, const struct admin_words *w)
{
	if (c->ours)
		refuse_in_ours(c, w);
	else
		refuse_in_haproxys(c, w);
}

void admin_refuse_form(const struct admin_call *c, const struct admin_row *row)
{
	char forms[1024];
	struct text all;
	const char *sign = "'";

	text_over(&all, forms, sizeof(forms));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].words, row->words) != 0)
			continue;
		text_printf(&all, "%s%s%s%s'", sign, row->words, rows[i].more[0] != '\0' ? " " : "",
			    rows[i].more);
		sign = " or '";
	}
	admin_refuse(c, NULL, "usage: %s", forms);
}

void admin_refuse_level(const struct admin_call *c, const struct admin_row *row)
{
	admin_refuse(c, "Permission denied",
		     "uid %u may not use '%s' on this socket (level '%s'); write level=%s on the "
		     "'admin-socket' line in [global], or connect as root",
		     (unsigned)c->peer->uid, row->words, level_words[c->peer->level],
		     level_words[row->level]);
}
