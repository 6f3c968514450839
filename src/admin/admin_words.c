/* SPDX-License-Identifier: MIT
 *
 * admin_words.c - the words of one command, in HAProxy's grammar.
 *
 * Main thread.
 */
#include "admin_words.h"

#include <string.h>

#include "weir/base/check.h"

static const char blanks[] = " \t\r\n";

char *admin_words_cut(char **rest)
{
	char *const command = *rest;
	char *at = command;

	for (; *at != '\0' && *at != ';'; at++)
		if (*at == '\\' && at[1] != '\0')
			at++;
	*rest = *at == ';' ? at + 1 : NULL;
	*at = '\0';
	return command;
}

/* Copies the word at `*in` to `out` without its backslashes; the end of the copy. */
static char *copy_word(const char **in, char *out)
{
	const char *at = *in;

	for (; *at != '\0' && strchr(blanks, *at) == NULL; at++) {
		if (*at == '\\' && *++at == '\0')
			break;
		*out++ = *at;
	}
	*out++ = '\0';
	*in = at;
	return out;
}

bool admin_words_split(struct admin_words *w, const char *command)
{
	char *out = w->text;

	w->count = 0;
	w->more = false;
	w->text[0] = '\0';
	/* A copied word is no longer than it was, and its NUL takes the place of what ended it. */
	if (strlen(command) >= sizeof(w->text))
		return false;
	for (;;) {
		command += strspn(command, blanks);
		if (*command == '\0')
			return true;
		if (w->count == ARRAY_LEN(w->words)) {
			w->more = true;
			return true;
		}
		w->words[w->count++] = out;
		out = copy_word(&command, out);
	}
}

size_t admin_words_match(const struct admin_words *w, const char *words)
{
	size_t n = 0;

	while (*words != '\0') {
		const size_t len = strcspn(words, " ");

		if (n == w->count || strlen(w->words[n]) != len || memcmp(w->words[n], words, len) != 0)
			return 0;
		n++;
		words += len;
		words += *words == ' ';
	}
	return n;
}

const char *admin_words_join(const struct admin_words *w, size_t count, char *buf, size_t room)
{
	size_t used = 0;

	check(room > 1);
	for (size_t i = 0; i < count && i < w->count; i++) {
		if (i > 0 && used < room - 1)
			buf[used++] = ' ';
		for (const char *at = w->words[i]; *at != '\0' && used < room - 1; at++)
			buf[used++] = *at;
	}
	buf[used] = '\0';
	return buf;
}
