/* SPDX-License-Identifier: MIT
 *
 * page_party.h - the ends of sessions that one party is to blame for (account/blame.h).
 *
 * Any thread.
 */
#ifndef WEIR_WEB_PAGE_PARTY_H
#define WEIR_WEB_PAGE_PARTY_H

#include "weir/account/blame.h"
#include "page.h"

/* How many there were. */
struct page_party {
	uint64_t total;
	uint64_t minute;
};

/* Did something go wrong? Not at a normal end, and not if an operator ended the session. */
bool page_party_is_fault(enum blame blame);
struct page_party page_party_of(const struct page_ends *ends, enum blame blame);
/* Of all parties together. */
struct page_party page_party_of_all(const struct page_ends *ends);
/* The party's most frequent reason by `counts` (of struct page_ends) that comes after the reason `after` (-1
 * = the first); -1 if there is none. */
int page_party_reason(const uint64_t *counts, enum blame blame, int after);
/* Rounded, but 100 only if it is all. */
unsigned page_party_percent(uint64_t part, uint64_t all);

#endif
