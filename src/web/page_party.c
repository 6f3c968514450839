/* SPDX-License-Identifier: MIT
 *
 * page_party.c - the ends of sessions that one party is to blame for.
 *
 * Any thread.
 */
#include "page_party.h"

bool page_party_is_fault(enum blame blame)
{
	return blame != BLAME_NOBODY && blame != BLAME_OPERATOR;
}

struct page_party page_party_of(const struct page_ends *ends, enum blame blame)
{
	struct page_party p = {0};

	for (int i = 0; i < CLOSE_REASONS; i++) {
		if (blame_of((enum close_reason)i) != blame)
			continue;
		p.total += ends->total[i];
		p.minute += ends->minute[i];
	}
	return p;
}

struct page_party page_party_of_all(const struct page_ends *ends)
{
	struct page_party all = {0};

	for (int i = 0; i < BLAMES; i++) {
		const struct page_party p = page_party_of(ends, (enum blame)i);

		all.total += p.total;
		all.minute += p.minute;
	}
	return all;
}

unsigned page_party_percent(uint64_t part, uint64_t all)
{
	const unsigned rounded = all > 0 ? (unsigned)(100 * (double)part / (double)all + 0.5) : 0;

	return rounded == 100 && part < all ? 99 : rounded;
}

int page_party_reason(const uint64_t *counts, enum blame blame, int after)
{
	int best = -1;

	for (int i = 0; i < CLOSE_REASONS; i++) {
		if (counts[i] == 0 || blame_of((enum close_reason)i) != blame)
			continue;
		if (after >= 0 && (counts[i] > counts[after] || (counts[i] == counts[after] && i <= after)))
			continue;
		if (best < 0 || counts[i] > counts[best])
			best = i;
	}
	return best;
}
