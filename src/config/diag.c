/* SPDX-License-Identifier: MIT
 *
 * diag.c - errors and warnings about a configuration: collected, sorted, printed with a caret.
 *
 * Main thread.
 */
#include "weir/config/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"

/* If a source line is longer, only a window around the caret is shown. */
#define DIAG_WINDOW	   160
#define DIAG_WINDOW_BEFORE 60

static const char *const code_words[DIAG_CODES] = {
#define DIAG_CODE(name, word) [DIAG_##name] = word,
#include "weir/config/diag_codes.tbl.h"
#undef DIAG_CODE
};

const char *diag_code_word(enum diag_code code)
{
	check(code < DIAG_CODES);
	return code_words[code];
}

const char *diag_level_word(enum diag_level level)
{
	return level == DIAG_LEVEL_ERROR ? "error" : "warning";
}

static struct diag_item *add_item(struct diag *d, enum diag_level level, struct at at, const char *text)
{
	struct diag_item *item;

	check(at.source != NULL);
	check(at.line <= at.source->line_count);
	d->items = arena_grow(d->arena, d->items, d->count, sizeof(*d->items));
	item = &d->items[d->count];
	item->level = level;
	item->at = at;
	item->text = text;
	item->order = d->count++;
	if (level == DIAG_LEVEL_ERROR)
		d->errors++;
	else
		d->warnings++;
	return item;
}

void diag_error(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_item(d, DIAG_LEVEL_ERROR, at, arena_vprintf(d->arena, fmt, ap))->code = code;
	va_end(ap);
}

void diag_warning(struct diag *d, enum diag_code code, struct at at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_item(d, DIAG_LEVEL_WARNING, at, arena_vprintf(d->arena, fmt, ap))->code = code;
	va_end(ap);
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	va_list ap;

	check(d->count > 0);
	va_start(ap, fmt);
	d->items[d->count - 1].hint = arena_vprintf(d->arena, fmt, ap);
	va_end(ap);
}

const char *diag_where(struct diag *d, struct at here, struct at there)
{
	if (here.source == there.source)
		return arena_printf(d->arena, "line %u", there.line);
	return arena_printf(d->arena, "line %u of %s", there.line, there.source->name);
}

static int compare_items(const void *left, const void *right)
{
	const struct diag_item *a = left, *b = right;

	if (a->at.source->index != b->at.source->index)
		return a->at.source->index < b->at.source->index ? -1 : 1;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	if (a->at.col != b->at.col)
		return a->at.col < b->at.col ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Messages quote the input, whose control bytes must not reach a terminal. */
static void put_clean(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			c = '?';
		(void)fputc(c, out); /* diagnostics: there is nowhere to report a failed stderr */
	}
}

/* Prints blanks as wide as the text above: tabs stay tabs, a multi-byte character is one column. */
static void put_blank(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c & 0xc0) != 0x80)
			(void)fputc(c == '\t' ? '\t' : ' ', out);
	}
}

static void put_carets(FILE *out, const char *text, size_t len)
{
	size_t shown = 0;

	for (size_t i = 0; i < len; i++) {
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue;
		(void)fputc('^', out);
		shown++;
	}
	if (shown == 0)
		(void)fputc('^', out);
}

static void print_source_line(const struct diag_item *item, FILE *out, bool colour)
{
	const struct source_line *line = &item->at.source->lines[item->at.line - 1];
	size_t col = item->at.col > 0 ? item->at.col - 1 : 0;
	size_t start = 0, shown, marked;
	int width;

	if (col > line->len)
		col = line->len;
	if (line->len > DIAG_WINDOW && col > DIAG_WINDOW - DIAG_WINDOW_BEFORE)
		start = col - DIAG_WINDOW_BEFORE;
	shown = line->len - start < DIAG_WINDOW ? line->len - start : DIAG_WINDOW;
	marked = item->at.len;
	if (marked > start + shown - col)
		marked = start + shown - col;

	width = fprintf(out, "%3u", item->at.line);
	fputs(start > 0 ? " | ..." : " | ", out);
	put_clean(out, line->text + start, shown);
	fprintf(out, "%s\n%*s | %s", start + shown < line->len ? "..." : "", width, "",
		start > 0 ? "   " : "");
	put_blank(out, line->text + start, col - start);
	fputs(colour ? "\033[1;32m" : "", out);
	put_carets(out, line->text + col, marked);
	if (item->hint != NULL) {
		fputc(' ', out);
		put_clean(out, item->hint, strlen(item->hint));
	}
	fputs(colour ? "\033[0m\n" : "\n", out);
}

static void print_item(const struct diag_item *item, FILE *out, bool colour)
{
	const char *word = diag_level_word(item->level);
	const char *paint = item->level == DIAG_LEVEL_ERROR ? "\033[1;31m" : "\033[1;35m";

	put_clean(out, item->at.source->name, strlen(item->at.source->name));
	if (item->at.line > 0)
		fprintf(out, ":%u:%u", item->at.line, item->at.col);
	fprintf(out, ": %s%s:%s ", colour ? paint : "", word, colour ? "\033[0m" : "");
	put_clean(out, item->text, strlen(item->text));
	if (item->at.line == 0 && item->hint != NULL) {
		fputs(": ", out);
		put_clean(out, item->hint, strlen(item->hint));
	}
	fputc('\n', out);
	if (item->at.line > 0)
		print_source_line(item, out, colour);
}

void diag_sort(struct diag *d)
{
	if (d->count > 0)
		qsort(d->items, d->count, sizeof(*d->items), compare_items);
}

static void print_rest(unsigned count, const char *word, FILE *out)
{
	unsigned rest = count > DIAG_SHOWN_MAX ? count - DIAG_SHOWN_MAX : 0;

	if (rest > 0)
		fprintf(out, "... and %u more %s%s; 'weir check --json' shows all of them\n", rest, word,
			rest == 1 ? "" : "s");
}

void diag_print(struct diag *d, FILE *out, bool colour)
{
	unsigned shown[2] = {0, 0};

	diag_sort(d);
	for (size_t i = 0; i < d->count; i++) {
		if (shown[d->items[i].level]++ < DIAG_SHOWN_MAX)
			print_item(&d->items[i], out, colour);
	}
	print_rest(shown[DIAG_LEVEL_ERROR], diag_level_word(DIAG_LEVEL_ERROR), out);
	print_rest(shown[DIAG_LEVEL_WARNING], diag_level_word(DIAG_LEVEL_WARNING), out);
}
