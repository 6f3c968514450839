/* SPDX-License-Identifier: MIT
 *
 * cover.h - counts of interesting states; see cover.tbl.h.
 *
 * Owns one array for the whole run. One thread. Tests only.
 */
#ifndef SIM_COVER_H
#define SIM_COVER_H

#include <stdint.h>

enum cover_state {
#define COVER(name, drivers, words) COVER_##name,
#include "cover.tbl.h"
#undef COVER
	COVER_COUNT
};

#define COVER_EPOLL 1
#define COVER_FAKE 2
#define COVER_RING 4
#define COVER_CROWD 3 /* bits to shift them by, for a world with several workers */

extern uint64_t cover_counts[COVER_COUNT];

static inline void cover(enum cover_state s)
{
	cover_counts[s]++;
}

/* Prints all; returns how many of those that `drivers` must meet were never met. */
int cover_report(int drivers);

#endif
