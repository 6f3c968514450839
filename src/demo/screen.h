/* SPDX-License-Identifier: MIT
 *
 * screen.h - where the demo is seen: a table that is drawn again in place, and events below it.
 *
 * Without a terminal, or on one that is too small, there is no table and no code: one line per event.
 * No line wraps: each is cut at the right edge. When the size of the terminal changes, everything is drawn
 * again from its top. A cursor that was hidden is shown again by screen_end(). Main thread.
 */
#ifndef WEIR_DEMO_SCREEN_H
#define WEIR_DEMO_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SCREEN_COLUMNS	  80 /* smaller terminals get no table */
#define SCREEN_ROWS	  20
#define SCREEN_HEAD_MAX	  8
#define SCREEN_EVENTS_MAX 16
#define SCREEN_LINE_MAX	  192

enum screen_style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD,
	SCREEN_STYLES,
};

struct screen {
	FILE *out; /* borrows; NULL = silent */
	bool live; /* draws a table */
	bool colour;
	bool hidden;  /* the cursor is */
	size_t drawn; /* lines of the last frame */
	unsigned columns; /* of the terminal when it was last looked at; 0 = no table */
	unsigned rows;
	size_t head_count; /* lines above the table */
	char head[SCREEN_HEAD_MAX][SCREEN_LINE_MAX];
	size_t event_count;
	char events[SCREEN_EVENTS_MAX][SCREEN_LINE_MAX];
};

/* `out` NULL = nothing is shown at all. */
void screen_begin(struct screen *s, FILE *out);
/* What to print to get that style; "" when there is no colour. Static. */
const char *screen_style(const struct screen *s, enum screen_style style);
/* A line that stays, above the table or below it: only while no frame is on the screen. */
void screen_line(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Something happened at `seconds` of the show. */
void screen_event(struct screen *s, double seconds, enum screen_style style, const char *text);
/* Draws `table` (whole lines) in place of the last one, and the events below it. */
void screen_frame(struct screen *s, const char *table);
/* What was drawn stays, what follows comes below it. May be called twice. */
void screen_end(struct screen *s);

#endif
