/* SPDX-License-Identifier: MIT
 *
 * text_items.c - the items of a text (config_text.h): files, and what directories and patterns stood for.
 *
 * Owns nothing. Trusts no length that it reads. Any thread.
 */
#include "text_items.h"

#include <string.h>

#include "weir/base/check.h"

/* A number of more digits is longer than any text. */
#define DIGITS_MAX 10

static const char *const words[TEXT_ITEM_KINDS] = {
	[TEXT_FILE] = "file ",
	[TEXT_FOLDER] = "folder ",
	[TEXT_PATTERN] = "pattern ",
};

/* Takes `len` bytes at `*at`; NULL = there are fewer. */
static const char *take(struct text_items items, size_t *at, size_t len)
{
	const char *bytes = items.bytes + *at;

	if (len > items.len - *at)
		return NULL;
	*at += len;
	return bytes;
}

static bool take_word(struct text_items items, size_t *at, const char *word)
{
	const size_t len = strlen(word);

	if (len > items.len - *at || memcmp(items.bytes + *at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

/* A number as text_item_add() writes it, so that there is one form of each text, and the byte behind it. */
static bool take_number(struct text_items items, size_t *at, char end, size_t *number)
{
	const size_t from = *at;
	size_t sum = 0;

	while (*at < items.len && *at - from < DIGITS_MAX && items.bytes[*at] >= '0' &&
	       items.bytes[*at] <= '9')
		sum = sum * 10 + (size_t)(items.bytes[(*at)++] - '0');
	if (*at == from || (items.bytes[from] == '0' && *at - from > 1))
		return false;
	*number = sum;
	return take_word(items, at, (char[]){end, '\0'});
}

static bool take_kind(struct text_items items, size_t *at, enum text_item_kind *kind)
{
	for (unsigned k = 0; k < TEXT_ITEM_KINDS; k++) {
		if (!take_word(items, at, words[k]))
			continue;
		*kind = (enum text_item_kind)k;
		return true;
	}
	return false;
}

/* A name is not empty and has no NUL; a list of names ends with one. */
static bool is_sound(const struct text_item *i)
{
	if (i->name_len == 0 || memchr(i->name, '\0', i->name_len) != NULL)
		return false;
	return i->kind == TEXT_FILE || i->len == 0 || i->bytes[i->len - 1] == '\0';
}

bool text_item_next(struct text_items items, size_t *at, struct text_item *item)
{
	struct text_item i;
	size_t to = *at;

	check(to <= items.len);
	if (to == items.len)
		return false;
	if (!take_kind(items, &to, &i.kind) || !take_number(items, &to, ' ', &i.name_len) ||
	    !take_number(items, &to, '\n', &i.len))
		return false;
	i.name = take(items, &to, i.name_len);
	if (i.name == NULL || !take_word(items, &to, "\n"))
		return false;
	i.bytes = take(items, &to, i.len);
	if (i.bytes == NULL || !take_word(items, &to, "\n") || !is_sound(&i))
		return false;
	*item = i;
	*at = to;
	return true;
}

bool text_item_find(struct text_items items, enum text_item_kind kind, const char *name,
		    struct text_item *item)
{
	const size_t len = strlen(name);
	size_t at = 0;

	while (text_item_next(items, &at, item))
		if (item->kind == kind && item->name_len == len && memcmp(item->name, name, len) == 0)
			return true;
	return false;
}

void text_item_add(struct text *out, const struct text_item *item)
{
	text_printf(out, "%s%zu %zu\n", words[item->kind], item->name_len, item->len);
	text_add(out, item->name, item->name_len);
	text_add(out, "\n", 1);
	text_add(out, item->bytes, item->len);
	text_add(out, "\n", 1);
}
