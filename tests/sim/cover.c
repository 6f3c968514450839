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
		const bool met = cover_counts[i] > 0;

		if (!(rows[i].drivers & drivers))
			continue;
		printf("%12" PRIu64 "  %s%s\n", cover_counts[i], rows[i].words,
		       met ? "" : "   <-- NEVER MET");
		missing += !met;
	}
	return missing;
}
