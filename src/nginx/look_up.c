/* SPDX-License-Identifier: MIT
 *
 * look_up.c - what a map has for a text that is known.
 *
 * Main thread.
 */
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "map.h"
#include "weir/base/check.h"

#define PATTERN_MAX 64 /* bytes */

enum nginx_fit nginx_fits(const char *key, const char *text)
{
	const bool any_case = key[1] == '*';
	const char *pattern = key + 1 + any_case;
	bool found;
	regex_t r;

	if (strlen(key) > PATTERN_MAX || strchr(pattern, '{') != NULL)
		return FIT_UNKNOWN;
	for (const char *c = strchr(pattern, '\\'); c != NULL; c = strchr(c + 1, '\\'))
		if (c[1] != '.')
			return FIT_UNKNOWN;
	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0)) != 0)
		return FIT_UNKNOWN;
	found = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return found ? FITS : FITS_NOT;
}

/* ---- all lines of a map ---- */

bool nginx_is_of_today(const char *key)
{
	if (key[0] == '~')
		return nginx_fits(key, "TLSv1.2") == FITS || nginx_fits(key, "TLSv1.3") == FITS;
	return strcasecmp(key, "TLSv1.2") == 0 || strcasecmp(key, "TLSv1.3") == 0;
}

static bool may_be_newest(const char *key)
{
	return key[0] == '~' ? nginx_fits(key, "TLSv1.3") != FITS_NOT : strcasecmp(key, "TLSv1.3") == 0;
}

static void survey_versions(struct nginx_map *m)
{
	bool none = false, newest = false;

	for (size_t i = 0; i < m->block->inside.count; i++) {
		const struct old_line *line = m->block->inside.list[i];

		none = none || line->words[0][0] == '\0';
		newest = newest || may_be_newest(line->words[0]);
		if (m->today == NULL && nginx_is_of_today(line->words[0]))
			m->today = old_word(line, 1);
	}
	m->old_versions = none && !newest && m->rest != NULL;
	if (m->today == NULL)
		m->today = m->rest != NULL ? m->rest : "";
}

void nginx_map_survey(struct nginx_map *m)
{
	const struct old_line *otherwise = nginx_find(&m->block->inside, NULL, "default");

	m->rest = otherwise != NULL ? old_word(otherwise, 1) : NULL;
	for (size_t i = 0; i < m->block->inside.count && m->rest != NULL; i++) {
		const struct old_line *line = m->block->inside.list[i];

		if (line->words[0][0] == '~' && strcmp(old_word(line, 1), m->rest) != 0)
			m->last_other = line;
	}
	if (m->subject == BY_PROTOCOL)
		survey_versions(m);
}

/* ---- one text ---- */

const char *nginx_map_look_up(struct nginx *n, struct old_line *block, const char *text,
			      struct old_line **at)
{
	const bool hostnames = nginx_find(&block->inside, NULL, "hostnames") != NULL;
	struct old_line *found = NULL, *fitting = NULL;
	bool doubtful = false;

	for (size_t i = 0; i < block->inside.count && found == NULL; i++) {
		struct old_line *line = block->inside.list[i];
		const char *key = line->words[0];

		if (nginx_map_is_parameter(line) || line->count != 2 || strcmp(key, "default") == 0)
			continue;
		/* nginx tries no pattern on an empty text. */
		if (text[0] != '\0' && key[0] != '~')
			doubtful = doubtful || (hostnames && (key[0] == '.' || strchr(key, '*') != NULL));
		else if (text[0] != '\0' && fitting == NULL && nginx_fits(key, text) != FITS_NOT) {
			fitting = line;
			doubtful = doubtful || nginx_fits(key, text) == FIT_UNKNOWN;
		}
		if (strcasecmp(key[0] == '\\' ? key + 1 : key, text) == 0)
			found = line;
	}
	if (found == NULL && doubtful) {
		old_set(n->arena, block, OLD_LOST, "weir does not know which pattern fits '%s'", text);
		return NULL;
	}
	if (found == NULL)
		found = fitting != NULL ? fitting : nginx_find(&block->inside, NULL, "default");
	if (found == NULL)
		return "";
	old_set(n->arena, found, OLD_CARRIED, NULL);
	*at = found;
	return old_word(found, 1);
}
