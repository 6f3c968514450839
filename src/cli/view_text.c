/* SPDX-License-Identifier: MIT
 *
 * view_text.c - numbers, names and lines as the pages of `status` and `top` show them.
 *
 * Main thread.
 */
#include "view_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "weir/admin/stat_words.h"
#include "weir/balance/server.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/config/values.h"

/* "1234", "12.3k", "4.5M": at most five characters. */
static const char *short_number(uint64_t n, unsigned base, char buf[static VIEW_NUMBER_MAX])
{
	static const char units[] = "kMGTPE";
	double value = (double)n;
	size_t unit = 0;

	if (n < 100000 && (base == 1000 || n < 1024)) {
		(void)snprintf(buf, VIEW_NUMBER_MAX, "%llu", (unsigned long long)n); /* five digits */
		return buf;
	}
	value /= base;
	for (; value >= 999.5 && unit + 2 < sizeof(units); unit++)
		value /= base;
	(void)snprintf(buf, VIEW_NUMBER_MAX, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return buf;
}

const char *view_count(uint64_t n, char buf[static VIEW_NUMBER_MAX])
{
	return short_number(n, 1000, buf);
}

const char *view_bytes(uint64_t n, char buf[static VIEW_NUMBER_MAX])
{
	return short_number(n, 1024, buf);
}

uint64_t view_per_s(uint64_t now, uint64_t before, int64_t ns)
{
	if (ns <= 0 || now < before)
		return 0;
	return (uint64_t)((double)(now - before) * (double)NS_PER_SEC / (double)ns + 0.5);
}

const char *view_time(uint64_t s, char buf[static VIEW_NUMBER_MAX])
{
	if (s >= 86400)
		(void)snprintf(buf, VIEW_NUMBER_MAX, "%llud%02uh",
			       (unsigned long long)(s / 86400 % 100000), (unsigned)(s / 3600 % 24));
	else if (s >= 3600)
		(void)snprintf(buf, VIEW_NUMBER_MAX, "%uh%02um", (unsigned)(s / 3600),
			       (unsigned)(s / 60 % 60));
	else
		(void)snprintf(buf, VIEW_NUMBER_MAX, "%um%02us", (unsigned)(s / 60), (unsigned)(s % 60));
	return buf;
}

uint64_t view_number(const char *text)
{
	uint64_t n = 0;

	return value_number(text, &n) == 0 ? n : 0;
}

size_t view_count_lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

uint64_t view_moved(const struct view_row *row)
{
	return row->bytes_in + row->bytes_out;
}

const char *view_fit(const char *text, unsigned wide, char buf[static VIEW_FIT_MAX])
{
	const size_t len = strlen(text);

	if (len <= wide)
		return text;
	if (wide <= 2)
		return "";
	(void)snprintf(buf, VIEW_FIT_MAX, "..%s", text + len - (wide - 2)); /* as wide as the column */
	return buf;
}

void view_line(const struct view_style *style, const char *colour, const char *line, struct text *out)
{
	size_t len = strlen(line);

	while (len > 0 && line[len - 1] == ' ')
		len--;
	if (style->columns != 0 && len > style->columns)
		len = style->columns;
	if (style->colour && colour[0] != '\0')
		text_printf(out, "%s%.*s" VIEW_NONE "\n", colour, (int)len, line);
	else
		text_printf(out, "%.*s\n", (int)len, line);
}

bool view_is_up(const struct view_row *row)
{
	return strcmp(row->state, server_state_word(SERVER_UP)) == 0 ||
	       strcasecmp(row->state, STAT_STATUS_OPEN) == 0;
}

bool view_is_taken_out(const struct view_row *row)
{
	return strcmp(row->state, server_state_word(SERVER_DRAIN)) == 0 ||
	       strcmp(row->state, server_state_word(SERVER_NOLB)) == 0 ||
	       strcmp(row->state, server_state_word(SERVER_MAINT)) == 0 ||
	       strcasecmp(row->state, STAT_STATUS_PAUSED) == 0;
}

bool view_blocks(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *locale = getenv(names[i]);

		if (locale != NULL && locale[0] != '\0')
			return strcasestr(locale, "utf-8") != NULL || strcasestr(locale, "utf8") != NULL;
	}
	return false;
}
