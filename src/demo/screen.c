/* SPDX-License-Identifier: MIT
 *
 * screen.c - where the demo is seen: a table that is drawn again in place, and events below it.
 *
 * Uses few codes, those of every terminal: up, erase to the end of the line or of the screen, cursor
 * off and on. Main thread. Floor 6.
 */
#include "weir/demo/screen.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "weir/base/check.h"

static const char *const styles[SCREEN_STYLES] = {
    [STYLE_PLAIN] = "\033[0m", [STYLE_BOLD] = "\033[1m",  [STYLE_DIM] = "\033[2m",
    [STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m", [STYLE_BAD] = "\033[31m",
};

static bool is_terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return term != NULL && strcmp(term, "dumb") != 0 && isatty(fileno(out)) == 1;
}

/* Rows of a terminal that has room for the table, else 0. */
static size_t usable_rows(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col >= SCREEN_COLUMNS && size.ws_row >= SCREEN_ROWS ? size.ws_row : 0;
}

void screen_begin(struct screen *s, FILE *out)
{
	const char *no = getenv("NO_COLOR");

	memset(s, 0, sizeof(*s));
	s->out = out;
	if (out == NULL || !is_terminal(out))
		return;
	s->colour = no == NULL || no[0] == '\0';
	s->live = usable_rows(out) > 0;
}

const char *screen_style(const struct screen *s, enum screen_style style)
{
	check(style < SCREEN_STYLES);
	return s->colour ? styles[style] : "";
}

void screen_line(struct screen *s, const char *fmt, ...)
{
	va_list args;

	if (s->out == NULL)
		return;
	check(s->drawn == 0);
	va_start(args, fmt);
	(void)vfprintf(s->out, fmt, args); /* main() looks at stdout when all is done */
	va_end(args);
	fputc('\n', s->out);
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
	int room = SCREEN_COLUMNS - 12;

	if (s->out == NULL)
		return;
	/* A line that wraps would be counted as one; without a table it may be as long as it likes. */
	(void)snprintf(line, sizeof(line), " %s%5.1f s%s   %s%.*s%s", screen_style(s, STYLE_DIM), seconds,
		       screen_style(s, STYLE_PLAIN), style == STYLE_PLAIN ? "" : screen_style(s, style),
		       s->live ? room : (int)sizeof(line) - 40, text, screen_style(s, STYLE_PLAIN));
	if (s->live)
		remember(s, line);
	else
		screen_line(s, "%s", line);
}

/* A terminal that has become too small: what is drawn stays, events go on as lines. */
static void give_up_table(struct screen *s)
{
	screen_end(s);
	s->live = false;
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
	fprintf(s->out, "%.*s\033[K\n", (int)len, line);
	s->drawn++;
}

void screen_frame(struct screen *s, const char *table)
{
	size_t rows = s->live ? usable_rows(s->out) : 0;
	size_t first = 0, room;

	if (!s->live)
		return;
	if (rows == 0) {
		give_up_table(s);
		return;
	}
	begin_frame(s);
	while (*table != '\0') {
		size_t len = strcspn(table, "\n");

		put_line(s, table, len);
		table += len + (table[len] == '\n');
	}
	put_line(s, "", 0);
	/* One row stays free, below the last newline. */
	room = rows - 1 > s->drawn ? rows - 1 - s->drawn : 0;
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
