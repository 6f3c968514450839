/* SPDX-License-Identifier: MIT
 *
 * page_bar.c - a bar that is filled in part. Any thread.
 */
#include "page_bar.h"

#include "page_row.h"

/* Something that is not zero can be seen. */
#define WIDTH_LEAST 2u

void page_bar_put(struct text *out, enum page_tone tone, unsigned percent)
{
	const unsigned width = percent > 0 && percent < WIDTH_LEAST ? WIDTH_LEAST : percent;

	text_printf(out,
		    "<svg class=\"bar %s\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
		    "aria-hidden=\"true\"><rect width=\"%u\" height=\"8\"></rect></svg>",
		    page_tone_word(tone), width < 100 ? width : 100);
}
