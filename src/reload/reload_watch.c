/* SPDX-License-Identifier: MIT
 *
 * reload_watch.c - wishes that wait until nothing of the earlier configuration is left.
 *
 * Owns none of them; reload.c says when to look. Main thread.
 */
#include "reload_parts.h"

/* Answers the wish if it need not wait any longer. */
static void look_at(struct reload *r, struct reload_wish *wish, int64_t now_ns)
{
	char bytes[RELOAD_TEXT_MAX], line[RELOAD_LINE_MAX];
	struct text left, out;

	text_over(&left, bytes, sizeof(bytes));
	text_over(&out, line, sizeof(line));
	if (r->steps->is_retired(r->steps_arg, wish->generation, &left))
		text_printf(&out, "retired: nothing of the earlier configuration is left\n");
	else if (now_ns >= wish->until_ns)
		text_printf(&out, "retired: not yet%s%s\n", left.len > 0 ? ": " : "", left.bytes);
	else
		return;
	list_remove(&wish->link);
	wish->answer(wish, line, true);
}

/* An answer may make the caller forget other wishes, so none is remembered meanwhile. */
void reload_watch(struct reload *r, int64_t now_ns)
{
	struct list asked;
	struct reload_wish *wish;

	list_init(&asked);
	while ((wish = reload_take_first(&r->watching)) != NULL) {
		list_push_back(&asked, &wish->link);
		look_at(r, wish, now_ns);
	}
	while ((wish = reload_take_first(&asked)) != NULL)
		list_push_back(&r->watching, &wish->link);
}
