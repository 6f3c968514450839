/* SPDX-License-Identifier: MIT
 *
 * terminal.h - what a terminal can do, and taking it over for a while.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_TERMINAL_H
#define WEIR_CLI_TERMINAL_H

#include <stdbool.h>

struct terminal_size {
	unsigned columns;
	unsigned rows;
};

/* What a screen is for `top`: keys and signals come as events. */
enum terminal_event {
	TERMINAL_TIME, /* the wait is over */
	TERMINAL_QUIT, /* a key or a signal that ends it */
	TERMINAL_DRAW, /* the size has changed, or a key wants a new picture */
	TERMINAL_SORT, /* 's', and what else moves a list */
	TERMINAL_UP,
	TERMINAL_DOWN,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
	TERMINAL_END,
};

/* Colour is for people: on a terminal, and not when they said no (no-color.org). */
bool terminal_wants_colour(int fd);
/* Can `fd` be drawn on? A terminal that knows how to move its cursor. */
bool terminal_can_draw(int fd);
/* 80 x 24 when nobody knows. */
struct terminal_size terminal_size(int fd);

/* Takes stdin and stdout over: no echo, the second screen, no cursor. 0 or -errno; at most once. From
 * then on signals that end, stop or resize are read by terminal_wait(). */
int terminal_open(void);
/* Waits up to `wait_ms`. */
enum terminal_event terminal_wait(int wait_ms);
/* Gives it back. A signal that ended terminal_wait() is sent again, so that the exit says so; called
 * without terminal_open() it does nothing. */
void terminal_close(void);

#endif
