/* SPDX-License-Identifier: MIT
 *
 * page_show.h - the page of a running daemon: what page.h renders, read from the engine.
 *
 * Only reads, and allocates nothing but the text. Main thread.
 */
#ifndef WEIR_WEB_PAGE_SHOW_H
#define WEIR_WEB_PAGE_SHOW_H

#include <stdbool.h>

#include "weir/base/text.h"
#include "objects.h"
#include "page_wish.h"

/* Appends the page. False: the wish names a server that does not exist, and the page says so. If memory runs
 * out, out->failed is set. */
bool page_show(const struct objects *all, const struct page_wish *wish, struct text *out);

#endif
