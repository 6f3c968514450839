/* SPDX-License-Identifier: MIT
 *
 * confirmed.c - the text that was confirmed last, and which texts were not: in memory.
 *
 * The file is in confirmed_file.c. One thread at a time.
 */
#include "weir/reload/confirmed.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/base/wall_time.h"

void confirmed_set_text(struct confirmed *c, struct config_text *t)
{
	struct config_text *before = c->text;

	c->text = config_text_hold(t);
	config_text_drop(before);
}

const struct confirmed_mark *confirmed_find(const struct confirmed *c, struct config_text_hash text)
{
	for (unsigned i = 0; i < c->mark_count; i++)
		if (config_text_hash_same(c->marks[i].text, text))
			return &c->marks[i];
	return NULL;
}

bool confirmed_unmark(struct confirmed *c, struct config_text_hash text)
{
	const struct confirmed_mark *mark = confirmed_find(c, text);
	size_t at;

	if (mark == NULL)
		return false;
	at = (size_t)(mark - c->marks);
	c->mark_count--;
	memmove(&c->marks[at], &c->marks[at + 1], (c->mark_count - at) * sizeof(c->marks[0]));
	return true;
}

void confirmed_add_mark(struct confirmed *c, const struct confirmed_mark *mark)
{
	check(mark->reason < CONFIRMED_REASONS);
	(void)confirmed_unmark(c, mark->text); /* it may have had none */
	if (c->mark_count == CONFIRMED_MARKS_MAX)
		(void)confirmed_unmark(c, c->marks[0].text); /* it has one */
	check(c->mark_count < CONFIRMED_MARKS_MAX);
	c->marks[c->mark_count++] = *mark;
}

void confirmed_copy(struct confirmed *copy, const struct confirmed *c)
{
	*copy = *c;
	(void)config_text_hold(copy->text);
}

void confirmed_free(struct confirmed *c)
{
	config_text_drop(c->text);
	*c = (struct confirmed){0};
}

void confirmed_describe(const struct confirmed_mark *mark, struct text *out)
{
	static const char *const words[CONFIRMED_REASONS] = {
		[CONFIRMED_ON_TRIAL] = "was never confirmed",
		[CONFIRMED_EXPIRED] = "was not confirmed in time",
		[CONFIRMED_ROLLED_BACK] = "was rolled back",
	};
	char date[WALL_TIME_MAX];

	text_printf(out, "%s (generation %llu, %s)", words[mark->reason],
		    (unsigned long long)mark->generation, wall_time_format(mark->wall_ns, date));
}
