/* SPDX-License-Identifier: MIT
 *
 * verbs.c - the words of the command line that are verbs.
 *
 * Knows only the words; cli.c runs the verbs. Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"

static const struct verb {
	const char *word;
	unsigned bit; /* enum cli_verb; 0 = not in this version */
} verbs[] = {
#define VERB(word, bit, run) {word, bit},
#include "verbs.tbl.h"
#undef VERB
};

static const struct verb *find_verb(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].word, word) == 0)
			return &verbs[i];
	}
	return NULL;
}

unsigned cli_verb_named(const char *word)
{
	const struct verb *v = find_verb(word);

	return v != NULL ? v->bit : 0;
}

bool cli_verb_is_later(const char *word)
{
	const struct verb *v = find_verb(word);

	if (v == NULL || v->bit != 0)
		return false;
	fprintf(stderr, "weir: '%s' is not in this version: restart to use a changed file\n", word);
	return true;
}

void cli_suggest_verbs(struct suggest *near)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].bit != 0)
			suggest_offer(near, verbs[i].word, NULL);
}
