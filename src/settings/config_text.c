/* SPDX-License-Identifier: MIT
 *
 * config_text.c - what one reading of the configuration found on disk, kept so that it can be read again.
 *
 * A text is one run of items (text_items.h), which is also its written form. Any thread.
 */
#include "weir/settings/config_text.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"
#include "text_items.h"

struct config_text {
	atomic_uint references;
	struct config_text_hash hash;
	char *bytes; /* owns: the items */
	size_t len;
};

struct config_text *config_text_hold(struct config_text *t)
{
	if (t != NULL)
		check(atomic_fetch_add_explicit(&t->references, 1, memory_order_relaxed) > 0);
	return t;
}

void config_text_drop(struct config_text *t)
{
	unsigned before;

	if (t == NULL)
		return;
	/* Whoever frees it sees all that others read from it as done. */
	before = atomic_fetch_sub_explicit(&t->references, 1, memory_order_acq_rel);
	check(before > 0);
	if (before > 1)
		return;
	free(t->bytes);
	free(t);
}

struct config_text_hash config_text_hash(const struct config_text *t)
{
	return t->hash;
}

struct text_items config_text_items(const struct config_text *t)
{
	return (struct text_items){t->bytes, t->len};
}

void config_text_write(const struct config_text *t, struct text *out)
{
	text_add(out, t->bytes, t->len);
}

struct config_text *config_text_make(struct text *taken)
{
	struct config_text *t;
	char *bytes;

	check(!taken->failed);
	check(taken->len > 0);
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	/* It has grown by doubling, and is kept for long. */
	bytes = realloc(taken->bytes, taken->len);
	if (bytes == NULL) {
		free(t);
		return NULL;
	}
	t->bytes = bytes;
	t->len = taken->len;
	t->hash = (struct config_text_hash){hash_bytes(t->bytes, t->len, 0), t->len};
	atomic_init(&t->references, 1);
	text_init(taken);
	return t;
}

int config_text_parse(const char *bytes, size_t len, struct config_text **out)
{
	const struct text_items items = {bytes, len};
	struct text_item item;
	struct text copy;
	size_t at = 0;

	*out = NULL;
	if (len == 0 || len > CONFIG_TEXT_BYTES_MAX)
		return -EBADMSG;
	while (text_item_next(items, &at, &item))
		continue;
	if (at != len)
		return -EBADMSG;
	text_init(&copy);
	text_add(&copy, bytes, len);
	if (!copy.failed)
		*out = config_text_make(&copy);
	if (*out != NULL)
		return 0;
	text_free(&copy);
	return -ENOMEM;
}
