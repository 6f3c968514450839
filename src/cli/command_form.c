/* SPDX-License-Identifier: MIT
 *
 * command_form.c - how far words on a command line match the form of a command of the admin protocol.
 *
 * Follows all ways through a form at once, as a set of places. Main thread.
 */
#include "command_form.h"

#include <ctype.h>
#include <string.h>

#include "weir/base/check.h"

static size_t count_of(const char *text, size_t len, char c)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == c;
	return count;
}

/* Brackets that are open, as the words that they are in front of. */
struct open_brackets {
	size_t words[COMMAND_FORM_WORDS_MAX];
	size_t count;
};

/* Removes the brackets that enclose the last word, alone or with others; those of "BACKEND[/SERVER]" are part
 * of it. */
static void unwrap(struct command_form *form, struct open_brackets *open)
{
	struct form_word *word = &form->words[form->count - 1];

	for (; word->len > 0 && word->text[0] == '['; word->text++, word->len--) {
		check(open->count < COMMAND_FORM_WORDS_MAX);
		open->words[open->count++] = form->count - 1;
	}
	while (word->len > 0 && word->text[word->len - 1] == ']' &&
	       count_of(word->text, word->len, ']') > count_of(word->text, word->len, '[')) {
		check(open->count > 0);
		form->words[open->words[--open->count]].skip_to = form->count;
		word->len--;
	}
}

static void add_words(struct command_form *form, const char *text)
{
	static const char dots[] = "...";
	struct open_brackets open = {.count = 0};

	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		struct form_word *word = &form->words[form->count];

		check(form->count < COMMAND_FORM_WORDS_MAX);
		*word = (struct form_word){.text = text, .len = strcspn(text, " ")};
		text += word->len;
		form->count++;
		unwrap(form, &open);
		word->repeats = word->len > strlen(dots) &&
				memcmp(word->text + word->len - strlen(dots), dots, strlen(dots)) == 0;
	}
	check(open.count == 0);
}

void command_form_read(struct command_form *form, const struct admin_form *text)
{
	form->count = 0;
	add_words(form, text->words);
	add_words(form, text->more);
}

/* The places that can be reached at `place` without a word. The bit after the last word is the end. */
static uint32_t reach(const struct command_form *form, size_t place)
{
	uint32_t places = UINT32_C(1) << place;

	while (place < form->count && form->words[place].skip_to != 0) {
		place = form->words[place].skip_to;
		places |= UINT32_C(1) << place;
	}
	return places;
}

uint32_t command_form_begin(const struct command_form *form)
{
	return reach(form, 0);
}

bool command_form_choice(const struct form_word *word, size_t *at, struct form_choice *choice)
{
	if (*at >= word->len)
		return false;
	choice->text = word->text + *at;
	for (choice->len = 0; *at + choice->len < word->len && choice->text[choice->len] != '|';)
		choice->len++;
	for (choice->literal = 0; choice->literal < choice->len; choice->literal++)
		if (isupper((unsigned char)choice->text[choice->literal]))
			break;
	*at += choice->len + 1;
	return true;
}

static bool is_match(const struct form_word *form_word, const char *word)
{
	struct form_choice choice;

	for (size_t at = 0; command_form_choice(form_word, &at, &choice);) {
		const bool any = choice.literal < choice.len;

		if (strncmp(word, choice.text, choice.literal) == 0 && (any || word[choice.len] == '\0'))
			return true;
	}
	return false;
}

uint32_t command_form_step(const struct command_form *form, uint32_t places, const char *word)
{
	uint32_t next = 0;

	for (size_t i = 0; i < form->count; i++) {
		if ((places & UINT32_C(1) << i) == 0 || !is_match(&form->words[i], word))
			continue;
		next |= reach(form, i + 1);
		if (form->words[i].repeats)
			next |= UINT32_C(1) << i;
	}
	return next;
}
