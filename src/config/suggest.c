/* SPDX-License-Identifier: MIT
 *
 * suggest.c - finds the closest word, and our equivalents of HAProxy and nginx words.
 *
 * Any thread.
 */
#include "weir/config/suggest.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/foreign.h"

/* Longer words are not compared: they are not misspelt keys of ours. */
#define SUGGEST_WORD_MAX 48

static char fold(char c)
{
	if (c == '_' || c == ' ' || c == '\t')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

size_t suggest_distance(const char *a, const char *b)
{
	size_t rows[3][SUGGEST_WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > SUGGEST_WORD_MAX || b_len > SUGGEST_WORD_MAX)
		return SUGGEST_WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			bool same = fold(a[i - 1]) == fold(b[j - 1]);
			size_t best = above[j - 1] + (same ? 0 : 1);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]) && rows[(i - 2) % 3][j - 2] + 1 < best)
				best = rows[(i - 2) % 3][j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_len % 3][b_len];
}

void suggest_init(struct suggest *s, const char *wanted)
{
	size_t len = strlen(wanted);

	s->wanted = wanted;
	s->best = NULL;
	s->thing = NULL;
	/* One error in a short word, one per three letters in a longer one; never the whole word. */
	s->distance = len < 2 ? 1 : len < 4 ? 2 : len / 3 + 1;
}

void suggest_offer(struct suggest *s, const char *word, const void *thing)
{
	size_t distance = suggest_distance(s->wanted, word);

	if (distance >= s->distance)
		return;
	s->distance = distance;
	s->best = word;
	s->thing = thing;
}

/* The length of `word` at the beginning of `text`; 0 = not there. A blank in `word` matches any run of blanks
 * in `text`, and a '*' at its end the rest of a word. */
static size_t match_words(const char *text, const char *word)
{
	size_t i = 0;

	for (; *word != '\0' && *word != '*'; word++) {
		if (text[i] == '\0' || fold(text[i]) != fold(*word))
			return 0;
		i += text[i] == ' ' || text[i] == '\t' ? strspn(text + i, " \t") : 1;
	}
	if (*word == '*')
		return i + strcspn(text + i, " \t");
	return text[i] == '\0' || text[i] == ' ' || text[i] == '\t' ? i : 0;
}

size_t suggest_starts_with(const char *text, const char *key)
{
	return match_words(text, key);
}

static enum foreign_place place_of(enum foreign_area area)
{
	if (area == FOREIGN_SECTION)
		return FOREIGN_SECTION_OR_BLOCK;
	return foreign_is_in_line(area) ? FOREIGN_IN_LINE : FOREIGN_LINE;
}

const char *suggest_foreign(enum foreign_place place, const char *text, size_t *len)
{
	const char *hint = NULL;
	size_t longest = 0, count;
	const struct foreign *rows;

	*len = 0;
	rows = foreign_rows(&count);
	for (size_t i = 0; i < count; i++) {
		const struct foreign *f = &rows[i];
		size_t n = f->hint != NULL && place_of(f->area) == place ? match_words(text, f->word) : 0;

		/* If two match, the more specific one: "option httpchk" before "option". */
		if (n == 0 || strlen(f->word) <= longest)
			continue;
		longest = strlen(f->word);
		*len = n;
		hint = f->hint;
	}
	return hint;
}

const char *suggest_translate(const char *text)
{
	size_t len;

	return suggest_foreign(FOREIGN_LINE, text, &len);
}
