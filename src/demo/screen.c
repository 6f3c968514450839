/* SPDX-License-Identifier: MIT
 *
 * screen.c - the display of the demo: a table that is redrawn in place, and events below it.
 *
 * Uses only a few codes that every terminal has: up, erase to the end of the line or of the screen, cursor
 * off and on. Main thread.
 */
#include "screen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weir/base/check.h"

static const char *const styles[SCREEN_STYLES] = {
    [SCREEN_PLAIN] = "\033[0m", [SCREEN_BOLD] = "\033[1m",  [SCREEN_DIM] = "\033[2m",
    [SCREEN_GOOD] = "\033[32m", [SCREEN_WARN] = "\033[33m", [SCREEN_BAD] = "\033[31m",
};

static bool is_terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return term != NULL && strcmp(term, "dumb") != 0 && isatty(fileno(out)) == 1;
}

/* Reads the size of the terminal; false if it has no room for the table. */
static bool look_at_size(struct screen *s)
{
	struct winsize size;

	s->columns = 0;
	s->rows = 0;
	if (ioctl(fileno(s->out), TIOCGWINSZ, &size) != 0 || size.ws_col < SCREEN_COLUMNS ||
	    size.ws_row < SCREEN_ROWS)
		return false;
	s->columns = size.ws_col;
	s->rows = size.ws_row;
	return true;
}

void screen_begin(struct screen *s, FILE *out)
{
	const char *no = getenv("NO_COLOR");

	memset(s, 0, sizeof(*s));
	s->out = out;
	if (out == NULL || !is_terminal(out))
		return;
	s->colour = no == NULL || no[0] == '\0';
	s->live = look_at_size(s);
}

const char *screen_style(const struct screen *s, enum screen_style style)
{
	check(style < SCREEN_STYLES);
	return s->colour ? styles[style] : "";
}

/* Writes a line up to the width of the terminal; colour codes do not count. */
static void put_cut(const struct screen *s, const char *line, size_t len)
{
	unsigned column = 0;
	bool code = false;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == '\033')
			code = true;
		if (code || s->columns == 0 || column < s->columns)
			fputc(line[i], s->out);
		column += !code;
		if (code && line[i] == 'm')
			code = false;
	}
}

void screen_line(struct screen *s, const char *fmt, ...)
{
	char line[SCREEN_LINE_MAX];
	va_list args;

	if (s->out == NULL)
		return;
	check(s->drawn == 0);
	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args); /* may be truncated */
	va_end(args);
	if (s->live && s->head_count < SCREEN_HEAD_MAX)
		memcpy(s->head[s->head_count++], line, sizeof(line));
	fprintf(s->out, "%s\n", line); /* main() checks stdout at the end */
	(void)fflush(s->out);
}

static void remember(struct screen *s, const char *line)
{
	if (s->event_count == SCREEN_EVENTS_MAX) {
		memmove(s->events, s->events + 1, sizeof(s->events) - sizeof(s->events[0]));
		s->event_count--;
	}
	(void)snprintf(s->events[s->event_count++], SCREEN_LINE_MAX, "%s", line); /* cut above already */
}

void screen_event(struct screen *s, double seconds, enum screen_style style, const char *text)
{
	char line[SCREEN_LINE_MAX];

	if (s->out == NULL)
		return;
	(void)snprintf(line, sizeof(line), " %s%5.1f s%s   %s%.*s%s", screen_style(s, SCREEN_DIM), seconds,
		       screen_style(s, SCREEN_PLAIN), style == SCREEN_PLAIN ? "" : screen_style(s, style),
		       (int)sizeof(line) - 40, text, screen_style(s, SCREEN_PLAIN));
	if (s->live)
		remember(s, line);
	else
		screen_line(s, "%s", line);
}

/* The terminal has become too small: what is drawn stays, and events continue as lines. */
static void give_up_table(struct screen *s)
{
	screen_end(s);
	s->live = false;
}

/* The terminal was resized, and everything on it has moved: redraws the head on an empty screen. */
static void start_again(struct screen *s)
{
	fputs("\033[H\033[2J", s->out);
	for (size_t i = 0; i < s->head_count; i++) {
		put_cut(s, s->head[i], strlen(s->head[i]));
		fputc('\n', s->out);
	}
	s->drawn = 0;
}

static void begin_frame(struct screen *s)
{
	if (!s->hidden)
		fputs("\033[?25l", s->out);
	s->hidden = true;
	if (s->drawn > 0)
		fprintf(s->out, "\033[%zuA", s->drawn);
	fputc('\r', s->out);
	s->drawn = 0;
}

static void put_line(struct screen *s, const char *line, size_t len)
{
	put_cut(s, line, len);
	fputs("\033[K\n", s->out);
	s->drawn++;
}

/* How many events fit while the head stays in sight. One row stays free, below the last newline. */
static size_t event_room(const struct screen *s)
{
	const size_t taken = s->head_count + s->drawn + 1;

	return s->rows > taken ? s->rows - taken : 0;
}

void screen_frame(struct screen *s, const char *table)
{
	const unsigned columns = s->columns, rows = s->rows;
	size_t first = 0, room;

	if (!s->live)
		return;
	if (!look_at_size(s)) {
		give_up_table(s);
		return;
	}
	if (s->columns != columns || s->rows != rows)
		start_again(s);
	begin_frame(s);
	while (*table != '\0') {
		size_t len = strcspn(table, "\n");

		put_line(s, table, len);
		table += len + (table[len] == '\n');
	}
	put_line(s, "", 0);
	room = event_room(s);
	if (s->event_count > room)
		first = s->event_count - room;
	for (size_t i = first; i < s->event_count; i++)
		put_line(s, s->events[i], strlen(s->events[i]));
	fputs("\033[J", s->out);
	(void)fflush(s->out);
}

void screen_end(struct screen *s)
{
	if (s->hidden) {
		fputs("\033[?25h", s->out);
		(void)fflush(s->out);
	}
	s->hidden = false;
	s->drawn = 0;
}
