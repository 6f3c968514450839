/* SPDX-License-Identifier: MIT
 *
 * page_wish.h - what a request for the page asks for: the arguments of its query.
 *
 * A plain value, empty when it is zero. Any thread.
 */
#ifndef WEIR_WEB_PAGE_WISH_H
#define WEIR_WEB_PAGE_WISH_H

#include <stdbool.h>

#include "weir/config/config.h"

struct page_wish {
	bool is_update; /* `update`: asked by the script of the page, which has style and script */
	/* `backend` and `server`: the details of this server; "" = all servers. */
	char backend[CONFIG_NAME_MAX];
	char server[CONFIG_NAME_MAX];
};

/* Takes one argument of the query, decoded; `value` may be NULL. Ignores one that the page does not know. */
void page_wish_argument(struct page_wish *w, const char *key, const char *value);
/* Is it for one server? */
static inline bool page_wish_is_for_server(const struct page_wish *w)
{
	return w->backend[0] != '\0' && w->server[0] != '\0';
}
/* Do both get the same page? */
bool page_wish_equal(const struct page_wish *a, const struct page_wish *b);

#endif
