/* SPDX-License-Identifier: MIT
 *
 * page_bar.h - a bar that is filled in part. Any thread.
 */
#ifndef WEIR_WEB_PAGE_BAR_H
#define WEIR_WEB_PAGE_BAR_H

#include "html.h"
#include "page.h"

/* Writes a bar for `percent`, which the text next to it repeats. */
void page_bar_put(struct text *out, enum page_tone tone, unsigned percent);

#endif
