/* SPDX-License-Identifier: MIT
 *
 * candidates.c - the words that may come next on a command line, as a shell's completion reads them.
 *
 * Collects them in one text; sorts pointers into it when it prints them. Main thread.
 */
#include "candidates.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

void candidates_init(struct candidates *c, const char *begin)
{
	*c = (struct candidates){.begin = begin};
	text_init(&c->lines);
}

void candidates_free(struct candidates *c)
{
	text_free(&c->lines);
	c->count = 0;
}

void candidates_add(struct candidates *c, const char *before, const char *word, size_t len, const char *help)
{
	const size_t from = c->lines.len;

	text_printf(&c->lines, "%s%.*s", before, (int)len, word);
	if (c->lines.failed)
		return;
	if (strncmp(c->lines.bytes + from, c->begin, strlen(c->begin)) != 0) {
		text_cut(&c->lines, from);
		return;
	}
	text_printf(&c->lines, "\t%s", help != NULL ? help : "");
	text_add(&c->lines, "", 1); /* the NUL */
	c->count++;
}

void candidates_add_each(struct candidates *c, const char *before, const char *words, const char *help)
{
	while (*words != '\0') {
		const size_t len = strcspn(words, "|");

		candidates_add(c, before, words, len, help);
		words += len + (words[len] == '|');
	}
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool is_same_word(const char *a, const char *b)
{
	const size_t len = strcspn(a, "\t");

	return strcspn(b, "\t") == len && memcmp(a, b, len) == 0;
}

/* A word that means several things has no help: the shell shows one line for it. */
static void print_sorted(const char *const *lines, size_t count, FILE *out)
{
	for (size_t i = 0, next; i < count; i = next) {
		const char *help = lines[i] + strcspn(lines[i], "\t");
		bool alike = help[1] != '\0';

		for (next = i + 1; next < count && is_same_word(lines[i], lines[next]); next++)
			alike = alike && strcmp(lines[i], lines[next]) == 0;
		fprintf(out, "%.*s\n", alike ? (int)strlen(lines[i]) : (int)(help - lines[i]), lines[i]);
	}
}

bool candidates_print(const struct candidates *c, FILE *out)
{
	const char **lines = calloc(c->count + 1, sizeof(*lines));
	const char *line = c->lines.bytes;

	if (lines == NULL || c->lines.failed) {
		free(lines);
		return false;
	}
	for (size_t i = 0; i < c->count; i++) {
		lines[i] = line;
		line += strlen(line) + 1;
	}
	check(c->count == 0 || line == c->lines.bytes + c->lines.len);
	qsort(lines, c->count, sizeof(*lines), compare_lines);
	print_sorted(lines, c->count, out);
	if (c->files)
		fputs(":files\n", out);
	free(lines);
	return true;
}
