/* SPDX-License-Identifier: MIT
 *
 * page_blame.h - how sessions ended, by whose doing, in the last minute and in total.
 *
 * Any thread.
 */
#ifndef WEIR_WEB_PAGE_BLAME_H
#define WEIR_WEB_PAGE_BLAME_H

#include "html.h"
#include "page.h"

/* Writes the verdict on the last minute, and a row per party (account/blame.h). They add up to all ends. */
void page_blame_put(const struct page_ends *ends, struct text *out);

#endif
