/* SPDX-License-Identifier: MIT
 *
 * page_server.h - the details of one server: its state over time, its last changes, and all its numbers.
 *
 * Any thread, as long as control changes neither its history nor its tally meanwhile.
 */
#ifndef WEIR_WEB_PAGE_SERVER_H
#define WEIR_WEB_PAGE_SERVER_H

#include <stdint.h>

#include "weir/base/text.h"
#include "page.h"

/* `now_ns`: since 1970. */
void page_server_put(const struct page_server *s, int64_t now_ns, struct text *out);
/* The tone in which the page shows this state of a server (enum server_state). */
enum page_tone page_server_tone(unsigned state);

#endif
