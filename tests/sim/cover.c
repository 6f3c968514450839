/* SPDX-License-Identifier: MIT
 *
 * cover.c - counts of interesting states and their report.
 *
 * Owns the counts; refuses nothing. One thread. Tests only.
 */
#include "cover.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

uint64_t cover_counts[COVER_COUNT];

static const struct {
	const char *words;
	int drivers;
} rows[COVER_COUNT] = {
#define COVER(name, drivers, words) {words, drivers},
#include "cover.tbl.h"
#undef COVER
};

int cover_report(int drivers)
{
	int missing = 0;

	for (int i = 0; i < COVER_COUNT; i++) {
		const bool wanted = (rows[i].drivers & drivers) != 0;
		const bool met = cover_counts[i] > 0;

		if (!wanted && rows[i].drivers != 0)
			continue;
		printf("%12" PRIu64 "  %s%s\n", cover_counts[i], rows[i].words,
		       met ? "" : wanted ? "   <-- NEVER MET" : "   (need not be met)");
		missing += wanted && !met;
	}
	return missing;
}
