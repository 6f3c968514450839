/* SPDX-License-Identifier: MIT
 *
 * index.c - a hash table with open addressing, at most half full.
 *
 * The seed is the same each time: whoever writes a file of colliding names waits for them. Main thread.
 */
#include "weir/draft/index.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/hash.h"

/* The entry of this text, or the free one where it belongs. */
static struct index_entry *place(const struct index *x, const char *text)
{
	size_t i = hash_bytes(text, strlen(text), 0) & (x->room - 1);

	while (x->entries[i].text != NULL && strcmp(x->entries[i].text, text) != 0)
		i = (i + 1) & (x->room - 1);
	return &x->entries[i];
}

void *index_find(const struct index *x, const char *text)
{
	return x->room > 0 ? place(x, text)->thing : NULL;
}

static void grow(struct arena *a, struct index *x)
{
	const struct index old = *x;

	x->room = old.room > 0 ? 2 * old.room : 16;
	x->entries = arena_alloc(a, x->room * sizeof(*x->entries));
	for (size_t i = 0; i < old.room; i++)
		if (old.entries[i].text != NULL)
			*place(x, old.entries[i].text) = old.entries[i];
}

void index_put(struct arena *a, struct index *x, const char *text, void *thing)
{
	struct index_entry *e;

	check(thing != NULL);
	if (2 * (x->count + 1) > x->room)
		grow(a, x);
	e = place(x, text);
	x->count += e->text == NULL;
	*e = (struct index_entry){text, thing};
}
