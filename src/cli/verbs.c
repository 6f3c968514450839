/* SPDX-License-Identifier: MIT
 *
 * verbs.c - the words of the command line that are verbs.
 *
 * Knows only the words; cli.c runs the verbs. Main thread.
 */
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"

static const struct verb {
	const char *word;
	unsigned bit; /* enum cli_verb */
	const char *help;
} verbs[] = {
#define VERB(word, bit, run, help) {word, bit, help},
#include "verbs.tbl.h"
#undef VERB
};

unsigned cli_verb_named(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i].word, word) == 0)
			return verbs[i].bit;
	}
	return 0;
}

void cli_suggest_verbs(struct suggest *near)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		suggest_offer(near, verbs[i].word, NULL);
}

const char *cli_verb_at(size_t i, const char **help)
{
	if (i >= ARRAY_LEN(verbs))
		return NULL;
	*help = verbs[i].help;
	return verbs[i].word;
}
