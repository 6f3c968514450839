/* SPDX-License-Identifier: MIT
 *
 * terminal.h - what a terminal can do, and taking it over temporarily.
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

/* The events of a screen for `top`, from keys and signals. */
enum terminal_event {
	TERMINAL_TIME, /* the timeout has expired */
	TERMINAL_QUIT, /* a key or a signal that ends it */
	TERMINAL_DRAW, /* the size has changed, or a key wants a redraw */
	TERMINAL_SORT, /* 's' */
	TERMINAL_PAGE, /* 'v' or Tab: the next page */
	TERMINAL_FILTER, /* '/' */
	TERMINAL_CHARACTER, /* while text is typed: terminal_character() */
	TERMINAL_ERASE,	    /* the same: the last character */
	TERMINAL_ENTER,	    /* Enter, also while no text is typed */
	TERMINAL_ESCAPE,    /* Esc, also while no text is typed */
	TERMINAL_NEXT,	    /* 'n' */
	TERMINAL_PREVIOUS,  /* 'p' */
	TERMINAL_UP, /* this and the rest move the list */
	TERMINAL_DOWN,
	TERMINAL_PAGE_UP,
	TERMINAL_PAGE_DOWN,
	TERMINAL_HOME,
	TERMINAL_END,
};

/* Colour is for people: only on a terminal, and unless they have turned it off (no-color.org). */
bool terminal_wants_colour(int fd);
/* Can `fd` be drawn on? True for a terminal that can move its cursor. */
bool terminal_can_draw(int fd);
/* 80 x 24 if unknown. */
struct terminal_size terminal_size(int fd);

/* Takes over stdin and stdout: no echo, alternate screen, no cursor. 0 or -errno; call at most once. From
 * then on terminal_wait() reads signals that end, stop or resize. */
int terminal_open(void);
/* Waits for at most `wait_ms`. */
enum terminal_event terminal_wait(int wait_ms);
/* Takes keys as text from now on, or as commands again. */
void terminal_type(bool on);
/* The character of TERMINAL_CHARACTER: printable ASCII. */
char terminal_character(void);
/* Restores the terminal. Sends a signal that ended terminal_wait() again, so that the exit status shows it.
 * Without terminal_open() it does nothing. */
void terminal_close(void);

#endif
