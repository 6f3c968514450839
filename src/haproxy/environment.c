/* SPDX-License-Identifier: MIT
 *
 * environment.c - the variables that a HAProxy file sets by itself: setenv and presetenv.
 *
 * Their values are written where the lines below use them, because weir has the variables of its environment
 * only. Of presetenv, which yields to the environment, an address keeps the name. A password is written
 * nowhere. Main thread.
 */
#include "environment.h"

#include <ctype.h>
#include <string.h>

#include "weir/base/check.h"

#define VARIABLES_MAX 256

/* The last one counts. */
static struct variable *find(struct environment *e, const char *name, size_t len)
{
	for (size_t i = e->count; i > 0; i--)
		if (strlen(e->list[i - 1].name) == len && strncmp(e->list[i - 1].name, name, len) == 0)
			return &e->list[i - 1];
	return NULL;
}

/* May the value stand behind the ":-" of a variable in our file, as a part of one word? */
static bool is_plain(const char *value)
{
	for (const char *c = value; *c != '\0'; c++)
		if (isalnum((unsigned char)*c) == 0 && strchr("_.:/@+-", *c) == NULL)
			return false;
	return value[0] != '\0';
}

/* Is word number `i` of the line an address that weir reads with variables? */
static bool is_address(const char *const *words, size_t i)
{
	return (i == 1 && strcmp(words[0], "bind") == 0) || (i == 2 && strcmp(words[0], "server") == 0);
}

static const char *replaced(struct environment *e, const char *word, bool address)
{
	const char *out = "";

	for (const char *at; (at = strstr(word, "${")) != NULL && strchr(at, '}') != NULL;) {
		const size_t name_len = strcspn(at + 2, ":}");
		const char *end = strchr(at, '}') + 1;
		struct variable *v = find(e, at + 2, name_len);

		out = arena_printf(e->arena, "%s%.*s", out, (int)(at - word), word);
		word = end;
		if (v == NULL) {
			out = arena_printf(e->arena, "%s%.*s", out, (int)(end - at), at);
		} else if (v->preset && address && is_plain(v->value)) {
			out = arena_printf(e->arena, "%s${%s:-%s}", out, v->name, v->value);
			v->in_address = true;
		} else {
			out = arena_printf(e->arena, "%s%s", out, v->value);
			v->in_text = true;
		}
		if (strlen(out) > ENVIRONMENT_WORD_MAX)
			return NULL;
	}
	return arena_printf(e->arena, "%s%s", out, word);
}

bool environment_replace(struct environment *e, const char **words, size_t count)
{
	for (size_t i = 0; e->count > 0 && i < count; i++) {
		if (strstr(words[i], "${") == NULL)
			continue;
		words[i] = replaced(e, words[i], is_address(words, i));
		if (words[i] == NULL)
			return false;
	}
	return true;
}

void environment_set(struct environment *e, struct old_line *line)
{
	const bool preset = strcmp(line->words[0], "presetenv") == 0;
	struct variable *known;

	if (line->count != 3 || (!preset && strcmp(line->words[0], "setenv") != 0))
		return; /* the table says what it is */
	if (old_is_secret_name(line->words[1])) {
		old_set(e->arena, line, OLD_DIFFERENT,
			"a password is not repeated: set %s in the environment of weir, with "
			"EnvironmentFile= in the unit",
			line->words[1]);
		return;
	}
	known = find(e, line->words[1], strlen(line->words[1]));
	if (known != NULL && preset) {
		old_set(e->arena, line, OLD_NO_EFFECT, "'%s' is set by a line before it", line->words[1]);
		return;
	}
	if (e->count == VARIABLES_MAX) {
		old_set(e->arena, line, OLD_LOST, "more than %d variables", VARIABLES_MAX);
		return;
	}
	e->list = arena_grow(e->arena, e->list, e->count, sizeof(*e->list));
	e->list[e->count++] = (struct variable){line, line->words[1], line->words[2], preset, false, false};
}

char *const *environment_all(struct environment *e, char *const *outside)
{
	size_t count = 0, len = 0;
	char **all;

	while (outside != NULL && outside[count] != NULL)
		count++;
	if (e->count == 0)
		return outside;
	all = arena_alloc(e->arena, (count + e->count + 1) * sizeof(*all));
	for (size_t i = e->count; i > 0; i--)
		if (!e->list[i - 1].preset)
			all[len++] = arena_printf(e->arena, "%s=%s", e->list[i - 1].name,
						  e->list[i - 1].value);
	for (size_t i = 0; i < count; i++)
		all[len++] = outside[i];
	for (size_t i = 0; i < e->count; i++)
		if (e->list[i].preset)
			all[len++] = arena_printf(e->arena, "%s=%s", e->list[i].name, e->list[i].value);
	all[len] = NULL;
	return all;
}

void environment_account(struct environment *e)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct variable *v = &e->list[i];

		if (v->preset && v->in_text)
			old_set(e->arena, v->line, OLD_DIFFERENT,
				"its value is written where it is used: another '%s' in the environment "
				"does not replace it there",
				v->name);
		else if (v->in_text || v->in_address)
			old_set(e->arena, v->line, OLD_CARRIED, NULL);
		else
			old_set(e->arena, v->line, OLD_NO_EFFECT, "no line below uses '%s'", v->name);
	}
}
