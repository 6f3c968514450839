/* SPDX-License-Identifier: MIT
 *
 * page_card.c - one number in large type, in a list of class "cards".
 *
 * Any thread.
 */
#include "page_card.h"

#include <stddef.h>

void page_card_begin(struct text *out, const char *name, const char *live, const char *classes)
{
	text_printf(out, "<div><dt>%s</dt><dd data-live=\"%s\"", name, live);
	if (classes != NULL)
		text_printf(out, " class=\"%s\"", classes);
}

void page_card_end(struct text *out)
{
	html_raw(out, "</dd></div>\n");
}

void page_card_put(struct text *out, const char *name, const char *live, enum html_form form, uint64_t value)
{
	page_card_begin(out, name, live, NULL);
	text_printf(out, " data-v=\"%llu\"><span>", (unsigned long long)value);
	html_number(out, form, value);
	html_raw(out, "</span>");
	page_card_end(out);
}
