/* SPDX-License-Identifier: MIT
 *
 * look_up.c - what a map has for a text that is known.
 *
 * Main thread.
 */
#include <ctype.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "map.h"
#include "network.h"
#include "weir/base/check.h"
#include "weir/base/text.h"

#define PATTERN_MAX 64 /* bytes */

/* The end of "(?:", "(?<name>" or "(?P<name>", which all are '(' here; NULL: it is another mark. */
static const char *behind_open(const char *mark)
{
	if (mark[2] == ':')
		return mark + 3;
	mark += mark[2] == 'P' ? 3 : 2;
	mark = *mark == '<' && mark[1] != '=' && mark[1] != '!' ? strchr(mark, '>') : NULL;
	return mark != NULL ? mark + 1 : NULL;
}

/* The bytes of \d or \w, for between brackets; NULL: it is another one. */
static const char *class_bytes(char letter)
{
	if (letter == 'd')
		return "0-9";
	return letter == 'w' ? "a-zA-Z0-9_" : NULL;
}

/* What is behind the backslash at `at`; NULL: POSIX has no words for it. */
static const char *write_escape(struct text *out, const char *at)
{
	const char *bytes = class_bytes(at[1]);

	if (bytes != NULL)
		text_printf(out, "[%s]", bytes);
	else if (at[1] != '\0' && strchr(".[]()*+?{}|^$\\", at[1]) != NULL)
		text_printf(out, "\\%c", at[1]);
	else if (at[1] != '\0' && strchr("-/:_,@", at[1]) != NULL)
		text_printf(out, "%c", at[1]);
	else
		return NULL;
	return at + 2;
}

/* A class in brackets, where a backslash of POSIX is one itself. NULL as above. */
static const char *write_class(struct text *out, const char *at)
{
	text_printf(out, at[1] == '^' ? "[^" : "[");
	at += 1 + (at[1] == '^');
	if (*at == ']')
		return NULL;
	for (; *at != ']'; at++) {
		const char *bytes = *at == '\\' ? class_bytes(at[1]) : NULL;

		if (*at == '\0' || *at == '[')
			return NULL;
		if (*at != '\\')
			text_printf(out, "%c", *at);
		else if (bytes != NULL)
			text_printf(out, "%s", bytes);
		else if (at[1] == '.' || at[1] == '_' || (at[1] == '-' && at[2] == ']'))
			text_printf(out, "%c", at[1]);
		else
			return NULL;
		at += *at == '\\';
	}
	text_printf(out, "]");
	return at + 1;
}

/* Writes a pattern of PCRE as one of POSIX. False: the two may differ. */
static bool write_posix(struct text *out, const char *at)
{
	while (at != NULL && *at != '\0') {
		if (*at == '[') {
			at = write_class(out, at);
		} else if (*at == '\\') {
			at = write_escape(out, at);
		} else if (*at == '{') {
			at = NULL;
		} else if (strncmp(at, "(?", 2) == 0) {
			text_printf(out, "(");
			at = behind_open(at);
		} else {
			text_printf(out, "%c", *at++);
		}
	}
	return at != NULL;
}

static enum nginx_fit fits(const char *pattern, bool any_case, const char *text)
{
	bool found;
	regex_t r;

	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0)) != 0)
		return FIT_UNKNOWN;
	found = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return found ? FITS : FITS_NOT;
}

enum nginx_fit nginx_fits(const char *key, const char *text)
{
	const bool any_case = key[1] == '*';
	enum nginx_fit fit = FIT_UNKNOWN;
	struct text pattern;

	if (strlen(key) > PATTERN_MAX)
		return FIT_UNKNOWN;
	text_init(&pattern);
	if (write_posix(&pattern, key + 1 + any_case) && !pattern.failed && pattern.len > 0)
		fit = fits(pattern.bytes, any_case, text);
	text_free(&pattern);
	return fit;
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

/* The line of a geo for an address; a text that is none is 255.255.255.255 for nginx. NULL: none has it. */
static struct old_line *find_network(struct nginx *n, const struct old_line *block, const char *text)
{
	const bool ranges = nginx_find(&block->inside, NULL, "ranges") != NULL;
	struct old_line *found = NULL;
	struct nginx_net client;
	int bits = -1;

	if (strchr(text, '/') != NULL || !nginx_net_read(n->arena, text, &client))
		(void)nginx_net_read(n->arena, "255.255.255.255", &client); /* it is an address */
	for (size_t i = 0; i < block->inside.count; i++) {
		struct old_line *line = block->inside.list[i];
		const char *list = ranges ? nginx_range(n->arena, line->words[0]) : line->words[0];
		struct work_list networks = {.count = 0};
		struct nginx_net net;

		if (!ranges && strcmp(line->words[0], "default") == 0 && bits == 0)
			found = NULL;
		work_list_split(n->arena, &networks, list != NULL ? list : "");
		for (size_t k = 0; k < networks.count; k++) {
			const char *one = nginx_network(n->arena, networks.items[k]);

			if (!nginx_net_read(n->arena, one, &net) || !nginx_net_covers(&net, &client) ||
			    (!ranges && (int)net.bits < bits))
				continue;
			found = line;
			bits = (int)net.bits;
		}
	}
	return found;
}

static const char *value_at(struct nginx *n, struct old_line *block, struct old_line *found,
			    struct old_line **at)
{
	if (found == NULL)
		found = nginx_find(&block->inside, NULL, "default");
	if (found == NULL)
		return "";
	old_set(n->arena, found, OLD_CARRIED, NULL);
	*at = found;
	return old_word(found, 1);
}

static const char *look_up_address(struct nginx *n, struct old_line *block, const char *text,
				   struct old_line **at)
{
	if (nginx_find(&block->inside, NULL, "delete") == NULL)
		return value_at(n, block, find_network(n, block, text), at);
	old_set(n->arena, block, OLD_LOST, "leave out what its 'delete' lines delete, and these lines");
	return NULL;
}

const char *nginx_map_look_up(struct nginx *n, struct old_line *block, const char *text,
			      struct old_line **at)
{
	const bool hostnames = nginx_find(&block->inside, NULL, "hostnames") != NULL;
	struct old_line *found = NULL, *fitting = NULL;
	bool doubtful = false;

	if (strcmp(block->words[0], "geo") == 0)
		return look_up_address(n, block, text, at);
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
	return value_at(n, block, found != NULL ? found : fitting, at);
}
