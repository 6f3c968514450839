/* SPDX-License-Identifier: MIT
 *
 * figure.h - named numbers that one part of the daemon publishes and others report.
 *
 * A publisher defines a row for each of its figures and a function that reads them; control hands these to
 * the reporters, so that publisher and reporter do not know each other. Names are an interface: they are keys
 * of `show info`. Control thread.
 */
#ifndef WEIR_BASE_FIGURE_H
#define WEIR_BASE_FIGURE_H

#include <stdint.h>

enum figure_kind { FIGURE_TOTAL, FIGURE_GAUGE };

struct figure {
	const char *name;
	enum figure_kind kind;
	const char *help;
};

/* Receives one figure; `row` is static. */
typedef void figure_report(void *to, const struct figure *row, uint64_t value);

struct figure_source {
	/* Reports every figure known now, always in the same order. */
	void (*publish)(void *from, figure_report *report, void *to);
	void *from; /* borrows */
};

#endif
