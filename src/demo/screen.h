/* SPDX-License-Identifier: MIT
 *
 * screen.h - the display of the demo: a table that is redrawn in place, and events below it.
 *
 * Without a terminal, or on one that is too small, there is neither a table nor terminal codes: one line per
 * event. Lines never wrap; each is truncated at the right edge. When the terminal is resized, everything is
 * redrawn from the top. screen_end() shows a hidden cursor again. Main thread.
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
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_GOOD,
	SCREEN_WARN,
	SCREEN_BAD,
	SCREEN_STYLES,
};

struct screen {
	FILE *out; /* borrows; NULL = show nothing */
	bool live; /* draws a table */
	bool colour;
	bool hidden;  /* the cursor is hidden */
	size_t drawn; /* number of lines of the last frame */
	unsigned columns; /* width of the terminal at the last look; 0 = no table */
	unsigned rows;
	size_t head_count; /* number of lines above the table */
	char head[SCREEN_HEAD_MAX][SCREEN_LINE_MAX];
	size_t event_count;
	char events[SCREEN_EVENTS_MAX][SCREEN_LINE_MAX];
};

/* `out` NULL = show nothing at all. */
void screen_begin(struct screen *s, FILE *out);
/* The code to print for that style; "" without colour. Static. */
const char *screen_style(const struct screen *s, enum screen_style style);
/* Prints a permanent line, above the table or below it. Allowed only while no frame is on the screen. */
void screen_line(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds an event that happened `seconds` into the show. */
void screen_event(struct screen *s, double seconds, enum screen_style style, const char *text);
/* Draws `table` (whole lines) in place of the previous one, and the events below it. */
void screen_frame(struct screen *s, const char *table);
/* Leaves what was drawn; further output goes below it. May be called twice. */
void screen_end(struct screen *s);

#endif
