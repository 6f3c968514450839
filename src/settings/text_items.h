/* SPDX-License-Identifier: MIT
 *
 * text_items.h - the items of a text (config_text.h): files, and what directories and patterns stood for.
 *
 * An item is a line "file 12 345", a name of 12 bytes, a newline, 345 bytes, and a newline. The bytes of a
 * directory ("folder") and of an include pattern ("pattern") are the names that it stood for, in the order of
 * reading, each with a NUL. Any thread.
 */
#ifndef WEIR_SRC_SETTINGS_TEXT_ITEMS_H
#define WEIR_SRC_SETTINGS_TEXT_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/base/text.h"
#include "weir/settings/config_text.h"

enum text_item_kind {
	TEXT_FILE,
	TEXT_FOLDER,
	TEXT_PATTERN,
	TEXT_ITEM_KINDS
};

struct text_item {
	enum text_item_kind kind;
	const char *name; /* borrows, as does `bytes`; without a NUL */
	size_t name_len;
	const char *bytes;
	size_t len;
};

/* Bytes of items, complete or still growing. */
struct text_items {
	const char *bytes; /* borrows; may be NULL if `len` is 0 */
	size_t len;
};

/* The item at `*at`, and `*at` behind it. False, and neither is changed, at the end or if there is none. */
bool text_item_next(struct text_items items, size_t *at, struct text_item *item);
/* The first item of that kind and name; false = there is none. */
bool text_item_find(struct text_items items, enum text_item_kind kind, const char *name,
		    struct text_item *item);
/* Appends an item. `item->name` must not contain a NUL. */
void text_item_add(struct text *out, const struct text_item *item);

/* The items of a text, for its lifetime. */
struct text_items config_text_items(const struct config_text *t);
/* Makes a text of what `taken` holds, and leaves that empty; the text has one reference. NULL, and nothing
 * is changed, if memory runs out. */
struct config_text *config_text_make(struct text *taken);

#endif
