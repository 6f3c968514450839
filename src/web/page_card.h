/* SPDX-License-Identifier: MIT
 *
 * page_card.h - one number in large type, in a list of class "cards".
 *
 * The script draws a line of its history below it; data-live names what it is. Any thread.
 */
#ifndef WEIR_WEB_PAGE_CARD_H
#define WEIR_WEB_PAGE_CARD_H

#include <stdint.h>

#include "html.h"

/* Writes a card up to the attributes of its value, for more of them and the value in an element <span>.
 * `classes`: NULL = none. All text is markup. */
void page_card_begin(struct text *out, const char *name, const char *live, const char *classes);
void page_card_end(struct text *out);
/* Writes a whole card. */
void page_card_put(struct text *out, const char *name, const char *live, enum html_form form, uint64_t value);

#endif
